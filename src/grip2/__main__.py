"""`python -m grip2`: the command line."""

from grip2.cli import main

main()
