"""Draw the pictures of the README from the demo's own result.

grip2 demo --out grip2-demo --force && python docs/make_images.py grip2-demo
"""

from __future__ import annotations

import sys
from pathlib import Path

from grip2.report.figures import statistics_figure
from grip2.result import SelectionResult


def main(folder: str) -> None:
    result = SelectionResult.from_json((Path(folder) / "selection.json").read_text(encoding="utf-8"))
    target = Path(__file__).parent / "images" / "demo.png"
    statistics_figure(result).savefig(target, dpi=130)
    print(target)


if __name__ == "__main__":
    main(sys.argv[1])
