"""`python -m grip2` and the command `grip2`: handlers of signals are installed before the command line is loaded."""

from grip2 import stopping


def main() -> None:
    stopping.install()
    from grip2.cli import main as run_command_line

    run_command_line()


if __name__ == "__main__":
    main()
