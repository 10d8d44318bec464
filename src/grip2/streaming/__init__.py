"""Selection on tables that do not fit into memory: they are read in blocks of rows, as often as a selection needs.

Three passes over a table: what its columns hold (`scan`), the correlations of their normal scores (`fit`), and the sums of
products that the model of effects works on (`sums`), with knockoffs that are drawn block by block and never stored.
"""

from grip2.streaming.read import StreamedTable, read_stream

__all__ = ["StreamedTable", "read_stream"]
