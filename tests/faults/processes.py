"""The command line in a process of its own that is made to fail, and what it leaves behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self

_TAG = "GRIP2_FAULT_TAG"


class Command:
    """`grip2 words...`, started with a folder of its own for temporary files; use as a context manager.

    All its descendants carry a mark in their environment, by which those that outlive it are found.
    """

    def __init__(
        self, words: Sequence[object], temporary: Path, *, variables: Mapping[str, str | None] | None = None
    ) -> None:
        self.tag = uuid.uuid4().hex
        self.temporary = temporary
        temporary.mkdir(parents=True, exist_ok=True)
        own = {_TAG: self.tag, "TMPDIR": str(temporary), "JOBLIB_TEMP_FOLDER": str(temporary), "COLUMNS": "120"}
        merged = {**os.environ, **own, **(variables or {})}
        with _heeding_interrupts():
            self.process = subprocess.Popen(
                [sys.executable, "-m", "grip2", *(str(word) for word in words)],
                env={name: value for name, value in merged.items() if value is not None},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        self.out, self.err = "", ""
        self._changed = threading.Condition()
        self._readers = [threading.Thread(target=self._read, args=[name], daemon=True) for name in ("out", "err")]
        for reader in self._readers:
            reader.start()

    def _read(self, name: str) -> None:
        stream = self.process.stdout if name == "out" else self.process.stderr
        assert stream is not None
        for line in stream:
            with self._changed:
                setattr(self, name, getattr(self, name) + line)
                self._changed.notify_all()

    def until_it_says(self, text: str, timeout: float = 120) -> None:
        with self._changed:
            self._changed.wait_for(lambda: text in self.err + self.out or self.process.poll() is not None, timeout)
            assert text in self.err + self.out, f"waited for {text!r}, got {self.out}{self.err}"

    def send(self, number: int) -> None:
        self.process.send_signal(number)

    def wait(self, timeout: float = 120) -> int:
        """The exit code; 128 + signal for a process that a signal has ended, as a shell has it."""
        code = self.process.wait(timeout)
        for reader in self._readers:
            reader.join(timeout)
        return 128 - code if code < 0 else code

    def descendants(self) -> list[int]:
        """Processes with this command's mark that are alive, itself excepted."""
        mark = f"{_TAG}={self.tag}".encode()
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            try:
                alive = (path / "stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
                if alive and mark in (path / "environ").read_bytes().split(b"\0"):
                    found.append(int(path.name))
            except (OSError, IndexError):
                continue
        return [pid for pid in found if pid != self.process.pid]

    def temporary_files(self) -> list[Path]:
        return sorted(self.temporary.rglob("*"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        for pid in self.descendants():
            os.kill(pid, signal.SIGKILL)
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()


@contextmanager
def _heeding_interrupts() -> Iterator[None]:
    """A test run in the background of a shell has Ctrl-C ignored, and would hand that on."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        if before is signal.SIG_IGN:
            signal.signal(signal.SIGINT, before)
