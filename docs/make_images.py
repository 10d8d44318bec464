"""Make the pictures of README and docs from results: `make docs-images`.

grip2 demo --out grip2-demo --force && make docs && python docs/make_images.py grip2-demo docs/gallery/images
"""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image

from grip2.report.figures import statistics_figure
from grip2.result import SelectionResult

IMAGES = Path(__file__).parent / "images"
SURFACE = "plot_13_surface"
# Shown in the README, four in a row.
SHOWN = (
    "plot_01_diabetes", "plot_02_hidden_signals", "plot_03_copies", "plot_05_groups",
    "plot_07_survival", "plot_09_against_lasso", "plot_12_interactions", SURFACE,
)  # fmt: skip
THUMBNAIL_WIDTH, COLOURS = 320, 64


def demo_picture(folder: Path) -> Path:
    """W of the demo's features."""
    result = SelectionResult.from_json((folder / "selection.json").read_text(encoding="utf-8"))
    statistics_figure(result).savefig(IMAGES / "demo.png", dpi=130)
    return IMAGES / "demo.png"


def small_picture(source: Path, target: Path, width: int) -> Path:
    """A picture of so many pixels in width, with few colours: figures need no more, and the repository stays small."""
    with Image.open(source) as picture:
        height = round(picture.height * width / picture.width)
        plain = picture.convert("RGB").resize((width, height), Image.Resampling.LANCZOS)
    target.parent.mkdir(exist_ok=True)
    plain.quantize(COLOURS).save(target, optimize=True)
    return target


def main(demo: str, gallery: str) -> None:
    drawn = Path(gallery)
    print(demo_picture(Path(demo)))
    print(small_picture(drawn / f"sphx_glr_{SURFACE}_001.png", IMAGES / "surface.png", 800))
    for name in SHOWN:
        thumbnail = drawn / "thumb" / f"sphx_glr_{name}_thumb.png"
        print(small_picture(thumbnail, IMAGES / "gallery" / f"{name}.png", THUMBNAIL_WIDTH))


if __name__ == "__main__":
    main(*sys.argv[1:])
