"""An environment with grip2 as its users install it: from the built wheel, without the source tree."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLUGIN = Path(__file__).parent / "plugin"


@dataclass(frozen=True)
class Environment:
    """A virtual environment and a folder to work in, outside the source tree."""

    binaries: Path
    work: Path

    def run(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        """Run a program of this environment; its output is shown where it fails."""
        unwanted = ("PYTHONPATH", "PYTHONHOME", "COV_")
        variables = {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}
        command = [str(self.binaries / words[0]), *map(str, words[1:])]
        done = subprocess.run(command, cwd=self.work, env=variables, capture_output=True, text=True)
        assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
        return done

    def install(self, what: Path) -> None:
        options = ("--no-index", "--no-deps", "--no-build-isolation", "--disable-pip-version-check", "--quiet")
        self.run("python", "-m", "pip", "install", *options, what)


@pytest.fixture(scope="session")
def wheel(tmp_path_factory) -> Path:
    """The wheel that a release would upload."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)], cwd=ROOT, check=True)
    (built,) = folder.iterdir()
    return built


def make_environment(folder: Path) -> Environment:
    """A new environment that sees every library installed here except grip2, so that nothing is downloaded."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "env")], check=True)
    libraries = folder / "libraries"
    libraries.mkdir()
    for site_packages in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}:
        for entry in Path(site_packages).iterdir():
            if "grip2" not in entry.name and entry.suffix != ".pth":
                (libraries / entry.name).symlink_to(entry)
    environment = Environment(folder / "env" / "bin", folder / "work")
    environment.work.mkdir()
    query = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site_packages = Path(environment.run("python", "-c", query).stdout.strip())
    (site_packages / "libraries.pth").write_text(f"{libraries}\n")
    return environment


@pytest.fixture(scope="session")
def installed(wheel, tmp_path_factory) -> Environment:
    """grip2 from its wheel, and the example plugin from its folder."""
    environment = make_environment(tmp_path_factory.mktemp("installed"))
    environment.install(wheel)
    environment.install(PLUGIN)
    return environment
