"""Speed, measured as ratios in one run: what is timed (`suite`), how (`launch`, `child`), and the page that reports it.

Every measurement is a process of its own, so that neither memory nor compiled code nor threads of one contestant reach another.
This package itself imports no numerical library.
"""
