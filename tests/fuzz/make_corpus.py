"""Writes the kept corpus: tiny files, each with something that has gone wrong in tables and plans. Run it to add to them.

python -m tests.fuzz.make_corpus
"""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import numpy as np
import pandas as pd

CORPUS = Path(__file__).parent / "corpus"


def _frame(rows: int = 24) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((rows, 3)).round(3), columns=["a", "b", "c"])
    frame["city"] = np.array(["Rome", "Oslo", "Bern"])[rng.integers(0, 3, rows)]
    frame["y"] = (frame["a"] + 0.1 * rng.standard_normal(rows)).round(3)
    return frame


def _parquet(frame: pd.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.to_parquet(buffer)
    return buffer.getvalue()


def _text_tables() -> dict[str, bytes]:
    frame = _frame()
    plain = frame.to_csv(index=False)
    lines = plain.splitlines()
    missing = frame.assign(b=frame["b"].where(frame.index % 5 > 0))
    dated = frame.assign(day=[f"2024-01-{k + 1:02d}" for k in frame.index])
    return {
        "plain.csv": plain.encode(),
        "semicolons-decimal-comma.csv": frame.to_csv(index=False, sep=";", decimal=",").encode(),
        "exponents-decimal-comma.csv": (frame[["a", "y"]] * 1e-9).to_csv(index=False, sep=";", decimal=",").encode(),
        "tabs.tsv": frame.to_csv(index=False, sep="\t").encode(),
        "utf16.csv": plain.encode("utf-16"),
        "latin.csv": plain.replace("Rome", "Malmö").encode("cp1252"),
        "byte-order-mark.csv": plain.encode("utf-8-sig"),
        "windows-lines.csv": plain.replace("\n", "\r\n").encode(),
        "old-mac-lines.csv": plain.replace("\n", "\r").encode(),
        "missing.csv": missing.to_csv(index=False, na_rep="NA").encode(),
        "dates.csv": dated.to_csv(index=False).encode(),
        "quotes.csv": plain.replace("Rome", '"Rome, ""the"" city\nof"').encode(),
        "open-quote.csv": plain.replace("Rome", '"Rome', 1).encode(),
        "ragged.csv": "\n".join([*lines[:5], lines[5] + ",7", *lines[6:]]).encode(),
        "repeated-name.csv": plain.replace("a,b", "a,a", 1).encode(),
        "no-header.csv": "\n".join(lines[1:]).encode(),
        "header-only.csv": (lines[0] + "\n").encode(),
        "one-row.csv": "\n".join(lines[:2]).encode(),
        "infinite.csv": plain.replace(lines[3].split(",")[0], "inf", 1)
        .replace(lines[4].split(",")[1], "1e999", 1)
        .encode(),
        "long-numbers.csv": ("id,y\n" + "\n".join(f"{10**30 + k},{k % 7}" for k in range(20))).encode(),
        "empty-name.csv": plain.replace("a,b", "a,", 1).encode(),
        "nul.csv": plain.encode()[:40] + b"\0" + plain.encode()[40:],
        "blank.csv": b" \n\n ",
        "constant.csv": frame.assign(a=1.0, y=2.0).to_csv(index=False).encode(),
        "spaces.csv": plain.replace(",", " , ").encode(),
        "packed.csv.gz": gzip.compress(plain.encode(), mtime=0),
        "half-packed.csv.gz": gzip.compress(plain.encode(), mtime=0)[:-30],
        "objects.jsonl": frame.to_json(orient="records", lines=True).encode(),
        "list.json": frame.to_json(orient="records").encode(),
        "nested.jsonl": b'{"a": {"b": 1}, "y": 1}\n{"a": {"b": 2}, "y": 2}\n',
        "mixed-list.json": b'[{"a": 1, "y": 2}, 3]',
    }


def _binary_tables() -> dict[str, bytes]:
    frame = _frame()
    whole = _parquet(frame)
    return {
        "plain.parquet": whole,
        "cut.parquet": whole[: len(whole) // 2],
        "no-end.parquet": whole[:-4],
        "changed.parquet": whole[:100] + bytes(50) + whole[150:],
        "types.parquet": _parquet(
            frame.assign(
                when=pd.date_range("2024-01-01", periods=len(frame), tz="Europe/Rome"),
                span=pd.to_timedelta(np.arange(len(frame)), unit="h"),
                flag=frame["a"] > 0,
                kind=frame["city"].astype("category"),
                whole=pd.array([None, *range(len(frame) - 1)], dtype="Int64"),
                lists=[[k] for k in range(len(frame))],
            )
        ),
        "no-rows.parquet": _parquet(frame[:0]),
    }


PLAN = """name = "small"
seed = 3
trials = 3
fdr = [0.1, 0.2]

[[data]]
source = "synthetic"
n = 60
p = 10
rho = [0.0, 0.5]

[[method]]
name = "lcd"
settings = { folds = 4 }

[[method]]
name = "grip2"
ensemble = [1, 2]
settings = { steps = 40, hidden = 4, depth = 1 }
only = { rho = 0.5 }
"""


def _plans() -> dict[str, bytes]:
    many = list(range(5, 3000))
    return {
        "plain.toml": PLAN.encode(),
        "path-in-name.toml": PLAN.replace('"small"', '"../../x"').encode(),
        "no-data.toml": PLAN.partition("[[data]]")[0].encode(),
        "cut.toml": PLAN[:90].encode(),
        "not-text.toml": b"\xff\xfe\x00",
        "wrong-types.toml": PLAN.replace("seed = 3", "seed = []").replace("n = 60", 'n = "many"').encode(),
        "too-many-designs.toml": PLAN.replace("n = 60", f"n = {many}").replace("p = 10", f"p = {many}").encode(),
        "too-many-trials.toml": PLAN.replace("trials = 3", "trials = 1000000000000000000").encode(),
        "unknown-class.toml": PLAN.replace('name = "lcd"', 'name = "x"\nstatistic = "nowhere:Nothing"').encode(),
        "nan.toml": PLAN.replace("rho = [0.0, 0.5]", "rho = [nan, inf]").encode(),
        "dates.toml": PLAN.replace("seed = 3", "seed = 2024-01-01").encode(),
    }  # fmt: skip


def main() -> None:
    for kind, contents in (("tables", {**_text_tables(), **_binary_tables()}), ("plans", _plans())):
        (CORPUS / kind).mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            (CORPUS / kind / name).write_bytes(content)


if __name__ == "__main__":
    main()
