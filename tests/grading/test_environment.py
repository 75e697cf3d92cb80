"""What is shown inside the sandbox: enough for notebooks, and nothing beside it."""

import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from byhand_course.grading import environment as shown_to_learners
from byhand_course.grading.cgroup import PREFIX, make_group
from byhand_course.grading.elf import NotElf, read_elf
from byhand_course.grading.environment import LIBRARIES, PACKAGES, environment, library_paths
from byhand_course.grading.errors import EngineError

PYTHON = Path(sys.executable).resolve()


def test_everything_shown_is_there_and_nothing_is_shown_twice() -> None:
    """Each place has one source, which exists; no place lies inside another."""
    places = sorted(environment().shown)
    assert all(Path(source).exists() for source in environment().shown.values())
    for place, following in pairwise(places):
        assert not following.startswith(f"{place}/"), (place, following)


def test_packages_are_shown_one_by_one() -> None:
    """Neither site-packages nor the course folder, and of the course maker's three files."""
    sources = list(environment().shown.values())
    assert not [source for source in sources if source.endswith(("site-packages", "dist-packages"))]
    maker = [Path(source).name for source in sources if "byhand_course" in Path(source).parts]
    assert sorted(maker) == ["inside.py", "outputs.py", "walls.py", "wire.py"]
    names = {Path(place).name for place in environment().shown if place.startswith(str(PACKAGES))}
    assert {"byhand", "numpy", "numpy.libs", "IPython", "matplotlib", "traitlets"} <= names
    assert not names & {"nbgrader", "nbformat", "notebook", "sqlalchemy", "typer", "jupytext"}


def test_libraries_are_those_that_the_loader_would_take() -> None:
    """For Python itself: the same files as ldd names, which asks the loader."""
    listed = subprocess.run(["ldd", str(PYTHON)], capture_output=True, text=True, check=True).stdout
    wanted = {
        name: str(Path(path).resolve()) for name, path in re.findall(r"(\S+) => (/\S+)", listed)
    }
    found = library_paths([PYTHON])
    ours = {Path(place).name: source for place, source in found.items()}
    assert wanted and all(ours[name] == path for name, path in wanted.items())
    assert any(not place.startswith(str(LIBRARIES)) for place in found)  # the loader, in its place


def test_what_is_no_elf_file_is_told_so(tmp_path: Path) -> None:
    """Text, nothing, and a file cut short: refused, never a traceback of another kind."""
    cut = PYTHON.read_bytes()[:200]
    for data in (b"#!/bin/sh\n", b"", b"\x7fELF\x02\x01", cut):
        file = tmp_path / "file"
        file.write_bytes(data)
        with pytest.raises(NotElf):
            read_elf(file)


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence, before anything is started."""
    monkeypatch.setattr(shown_to_learners, "WANTED", ("numpy", "no-such-package"))
    environment.cache_clear()
    try:
        with pytest.raises(EngineError, match="no-such-package is not installed"):
            environment()
    finally:
        environment.cache_clear()


def test_a_control_group_has_its_limits_or_is_none() -> None:
    """Where the host allows one, its numbers stand in it, and it can be removed; else none is."""
    group = make_group(1 << 30, 64)
    if group is None:  # an ordinary user on most machines: nothing may be left behind
        assert not list(Path("/sys/fs/cgroup").glob(f"**/{PREFIX}{os.getpid()}-*"))
        return
    texts = [
        file.read_text().strip()
        for folder in group.folders
        for file in folder.iterdir()
        if file.name in ("memory.max", "memory.limit_in_bytes", "pids.max")
    ]
    assert sorted(texts) == sorted([str(1 << 30), "64"])
    group.remove()
    assert not any(folder.exists() for folder in group.folders)
