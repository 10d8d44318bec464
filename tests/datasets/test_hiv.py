"""HIV: the published sizes, the parsing of positions, both rules for equal columns, and files that must be refused."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import numpy as np
import pytest

from grip2.datasets import hiv, load_hiv
from grip2.datasets.files import DataFileError
from grip2.datasets.hiv import DRUGS, position_of

PUBLISHED = {  # Barber & Candes (2015)
    "APV": (767, 201), "ATV": (328, 147), "IDV": (825, 206), "LPV": (515, 184), "NFV": (842, 207), "RTV": (793, 205),
    "SQV": (824, 206),
}  # fmt: skip
KEEPING_ONE = {"IDV": 207, "NFV": 208, "RTV": 206, "SQV": 207}


@pytest.mark.parametrize("drug", PUBLISHED)
def test_published_sizes(data_home, drug):
    vignette = load_hiv(drug, data_home=data_home, rules="vignette")
    assert vignette.X.shape == PUBLISHED[drug]
    paper = load_hiv(drug, data_home=data_home)
    assert paper.X.shape == (PUBLISHED[drug][0], KEEPING_ONE.get(drug, PUBLISHED[drug][1]))
    assert len(paper.true_positions) == 34
    assert set(paper.true_positions) <= set(paper.positions)
    assert set(np.unique(paper.X)) == {0.0, 1.0}
    assert abs(paper.y.mean()) < 1e-12
    assert abs(paper.y.std() - 1) < 1e-6
    assert np.linalg.matrix_rank(paper.X) == paper.X.shape[1]
    assert np.array_equal(np.isin(paper.positions, paper.true_positions).nonzero()[0], paper.support)


def test_truncated_file_is_refused(data_home, tmp_path):
    (tmp_path / "hiv").mkdir()
    whole = (data_home / "hiv" / "PI_DATA.txt").read_bytes()
    (tmp_path / "hiv" / "PI_DATA.txt").write_bytes(whole[:-1])
    with pytest.raises(DataFileError, match=r"PI_DATA\.txt: changed or truncated \(212773 bytes"):
        load_hiv("APV", data_home=tmp_path)


def test_damaged_file_is_refused(tmp_path):
    (tmp_path / "hiv").mkdir()
    (tmp_path / "hiv" / "PI_DATA.txt").write_text("IsolateName\tAPV\n")
    with pytest.raises(DataFileError, match="changed or truncated"):
        load_hiv("APV", data_home=tmp_path)


def write_class(folder: Path, cells: dict[str, list[str]], fold: list[str], drug_class: str = "NRTI") -> Path:
    """Files in the published layout; positions that are not given hold the consensus."""
    rows = len(fold)
    positions = [f"P{k}" for k in range(1, hiv.POSITIONS[drug_class] + 1)]
    header = ["IsolateName", "PseudoName", "MedlineID", *DRUGS[drug_class], *positions]
    lines = ["\t".join(header)]
    for row in range(rows):
        values = [cells.get(position, ["-"] * rows)[row] for position in positions]
        drugs = [fold[row]] + ["NA"] * (len(DRUGS[drug_class]) - 1)
        lines.append("\t".join([f"CA{row}", f"P{row}", "", *drugs, *values]))
    (folder / "hiv").mkdir(exist_ok=True)
    (folder / "hiv" / f"{drug_class}_DATA.txt").write_text("\n".join(lines) + "\n")
    (folder / "hiv" / f"{drug_class}_TSM.txt").write_text("41\tL\n67\tN G\n")
    return folder


CELLS = {
    "P10": ["D", "DN", "N", "N", "D", "-", "-", "."],  # a mixture sets two indicators; D and N both three times
    "P41": ["L", "L", "L", "-", "-", "-", "-", "-"],
    "P50": ["A", "A", "A", "-", "-", "-", "-", "-"],  # the same column as P41.L
    "P67": ["i", "i", "d", "i", "d", "d", "-", "-"],  # insertion and deletion
    "P70": ["K", "K", "-", "-", "-", "-", "-", "-"],  # twice only
    "P80": ["-", "-", "-", "-", "-", "-", "Q*", "-"],  # unreadable: the row goes
}
FOLD = ["1", "2", "4", "8", "16", "32", "64", "NA"]


def test_parsing(tmp_path):
    table = load_hiv("3TC", "NRTI", data_home=write_class(tmp_path, CELLS, FOLD))
    assert table.feature_names == ("P10.D", "P10.N", "P41.L", "P67.d", "P67.i")
    assert len(table.y) == 6
    assert table.X[:, 0].tolist() == [1, 1, 0, 0, 1, 0]
    assert table.X[:, 1].tolist() == [0, 1, 1, 1, 0, 0]
    assert np.allclose(np.diff(table.y), np.diff(table.y)[0]), "powers of two are evenly spaced after the logarithm"
    assert table.true_positions.tolist() == [41, 67]
    assert table.support.tolist() == [2, 3, 4]


def test_vignette_drops_all_equal_columns(tmp_path):
    table = load_hiv("3TC", "NRTI", data_home=write_class(tmp_path, CELLS, FOLD), rules="vignette")
    assert table.feature_names == ("P10.D", "P10.N", "P67.d", "P67.i")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("\tP240", "\tQ240"), "column P240 is missing"),
        (("\t2\t", "\ttwo\t"), "fold changes must be numbers or NA"),
        (("\t2\t", "\t0\t"), "fold changes must be positive"),
    ],
)
def test_wrong_layout(tmp_path, change, message):
    path = write_class(tmp_path, CELLS, FOLD) / "hiv" / "NRTI_DATA.txt"
    path.write_text(path.read_text().replace(*change))
    with pytest.raises(DataFileError, match=message):
        load_hiv("3TC", "NRTI", data_home=tmp_path)


def test_wrong_list_of_mutations(tmp_path):
    write_class(tmp_path, CELLS, FOLD)
    (tmp_path / "hiv" / "NRTI_TSM.txt").write_text("41\tL\n<html>\n")
    with pytest.raises(DataFileError, match=r"NRTI_TSM\.txt, line 2: a line must start with a position from 1 to 240"):
        load_hiv("3TC", "NRTI", data_home=tmp_path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"drug": "XYZ"}, "drug of PI must be one of APV"),
        ({"drug": "APV", "drug_class": "XX"}, "drug_class must be one of PI"),
        ({"drug": "APV", "rules": "mine"}, "rules must be 'paper' or 'vignette'"),
        ({"drug": "APV", "data_home": "/no/such/folder"}, "there is no folder"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        load_hiv(**arguments)


def test_position_of():
    assert position_of("P82.V") == 82
    with pytest.raises(ValueError, match=r"such as 'P82\.V'"):
        position_of("82V")


@pytest.fixture
def server(monkeypatch):
    """A publisher that sends what the test puts into ``content``."""

    class Handler(BaseHTTPRequestHandler):
        content: bytes = b""
        requests = 0

        def do_GET(self):
            type(self).requests += 1
            self.send_response(200)
            self.end_headers()
            self.wfile.write(self.content)

        def log_message(self, *_):
            pass

    running = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=running.serve_forever)
    thread.start()
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(hiv, "_ADDRESS", f"http://127.0.0.1:{running.server_port}")
    yield Handler
    running.shutdown()
    running.server_close()
    thread.join()


def test_download_with_a_wrong_checksum_is_refused(server, tmp_path):
    pytest.importorskip("pooch")
    server.content = b"<html>moved</html>"
    with pytest.raises(DataFileError, match="not the published file"):
        load_hiv("APV", data_home=tmp_path)
    assert not list(tmp_path.rglob("PI_DATA.txt"))


def test_download_is_kept(server, tmp_path):
    pytest.importorskip("pooch")
    source = tmp_path / "source"
    source.mkdir()
    server.content = (write_class(source, CELLS, FOLD) / "hiv" / "NRTI_DATA.txt").read_bytes()
    home = tmp_path / "home"
    (home / "hiv").mkdir(parents=True)
    (home / "hiv" / "NRTI_TSM.txt").write_text("41\tL\n")
    with pytest.warns(UserWarning, match="No checksum of this file is published"):
        assert load_hiv("3TC", "NRTI", data_home=home).X.shape == (6, 5)
    server.content = b"gone"
    assert load_hiv("3TC", "NRTI", data_home=home).X.shape == (6, 5)
    file = home / "hiv" / "NRTI_DATA.txt"
    file.write_bytes(file.read_bytes()[:-40])
    with pytest.raises(DataFileError, match="changed or truncated"):
        load_hiv("3TC", "NRTI", data_home=home)


@pytest.mark.parametrize("content", [b"<html>moved</html>", b"", b"SeqID\tP1\n1\tA\n", b"\x00\xff\xfe"])
def test_a_download_without_a_checksum_is_checked_for_its_content(server, tmp_path, content):
    server.content = content
    with pytest.raises(DataFileError, match="not the published file"):
        load_hiv("3TC", "NRTI", data_home=tmp_path)
    assert not list(tmp_path.rglob("*DATA*"))


def test_a_failed_download_is_not_tried_again_at_once(server, tmp_path):
    server.content = b"<html>moved</html>"
    messages = []
    for _ in range(3):
        with pytest.raises(DataFileError) as error:
            load_hiv("3TC", "NRTI", data_home=tmp_path)
        messages.append(str(error.value))
    assert server.requests == 1
    assert len(set(messages)) == 1
    write_class(tmp_path, CELLS, FOLD)  # a file that somebody puts there is found at once
    assert load_hiv("3TC", "NRTI", data_home=tmp_path).X.shape == (6, 5)


def test_unreachable_publisher(monkeypatch, tmp_path):
    pytest.importorskip("pooch")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(hiv, "_ADDRESS", "http://127.0.0.1:9")
    with pytest.raises(DataFileError, match="could not be reached"):
        load_hiv("APV", data_home=tmp_path)
