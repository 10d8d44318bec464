"""Speed, measured as ratios in one run: what is timed, how, and the page that reports it.

The process that runs the suite imports nothing heavy: every measurement is a process of its own (`child`), whose peak memory
would otherwise begin at that of its parent.
"""
