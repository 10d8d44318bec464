"""Reports that people read: figures and a self-contained HTML page."""

from grip2.report.html import selection_page

__all__ = ["selection_page"]
