"""The guarantee, checkable by anybody: fair signs of null features and false discoveries at most at their level, cell by cell.

``python -m guarantee run`` runs the suite and goes on where it was stopped, ``python -m guarantee defects`` plants defects and
says which check sees each, ``python -m guarantee report`` writes ``results/guarantee``. Not part of the installed package.
"""
