"""What learners' code may see of this machine: one Python, its libraries, and a few packages.

Everything here has a place inside the sandbox that does not depend on where it stands outside, so
neither the instructor's name nor the course's folder is in any path that a learner could print.
Packages are picked one by one, by what pip recorded of them: site-packages as a whole, where the
course maker's own package may lie, is never shown.
"""

import csv
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path, PurePosixPath

from packaging.requirements import Requirement

import byhand

from .elf import NotElf, read_elf
from .errors import EngineError

WANTED = ("numpy", "ipython", "matplotlib")
PROGRAMS = (
    "inside.py",
    "outputs.py",
    "walls.py",
    "wire.py",
)  # the only ones here that leave

PYTHON = PurePosixPath("/opt/python")  # places inside the sandbox
LIBRARIES = PurePosixPath("/opt/libraries")
PACKAGES = PurePosixPath("/opt/packages")
PROGRAM_FOLDER = PurePosixPath("/opt/byhand")
PLUGINS = "matplotlib.backend"  # `%matplotlib inline` finds its backend by what pip recorded
UNUSED_MODULES = ("_tkinter", "nis", "_curses", "_curses_panel", "_dbm", "_gdbm", "ossaudiodev")
USUAL_FOLDERS = ("/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib")


@dataclass(frozen=True)
class Environment:
    """What is shown, and where.

    Attributes:
        shown: source on this machine, by its place inside.
        hidden: places inside that lie below a shown one and are to be empty.
        python: the interpreter's place inside.
    """

    shown: dict[str, str]
    hidden: tuple[str, ...]
    python: str

    @property
    def readable(self) -> list[str]:
        """What is shown, piece by piece, for a wall that cannot hide a part of a folder."""
        found = []
        for place, source in self.shown.items():
            hidden = [PurePosixPath(path).name for path in self.hidden if path.startswith(place)]
            if hidden:
                found += [str(path) for path in Path(source).iterdir() if path.name not in hidden]
            else:
                found.append(source)
        return found


@cache
def environment() -> Environment:
    """The environment of this Python.

    Raises:
        EngineError: if something that every notebook needs is not installed.
    """
    python = Path(sys.executable).resolve()
    shown, hidden = {str(PYTHON / "bin" / python.name): str(python)}, []
    binaries = [python]
    for folder in _standard_library():
        place = PYTHON / folder.relative_to(sys.base_prefix)
        shown[str(place)] = str(folder)
        found = [name for name in ("site-packages", "dist-packages") if (folder / name).is_dir()]
        hidden += [str(place / name) for name in found]
        modules = (folder / "lib-dynload").glob("*.so")
        binaries += [path for path in modules if path.name.partition(".")[0] not in UNUSED_MODULES]
    for name, path, files in packages():
        shown[str(PACKAGES / name)] = str(path)
        binaries += files
    shown |= {str(PROGRAM_FOLDER / name): str(Path(__file__).with_name(name)) for name in PROGRAMS}
    return Environment(
        shown | library_paths(binaries), tuple(hidden), str(PYTHON / "bin" / python.name)
    )


def _standard_library() -> list[Path]:
    """The folders of the Python below this virtual environment: one, or two on some systems."""
    base = dict.fromkeys(
        ("base", "platbase", "installed_base", "installed_platbase"), sys.base_prefix
    )
    paths = [sysconfig.get_path(kind, vars=base) for kind in ("stdlib", "platstdlib")]
    return list(dict.fromkeys(map(Path, paths)))


def packages() -> Iterator[tuple[str, Path, list[Path]]]:
    """Each module and folder that notebooks may import, `byhand` first.

    Returns:
        its name, its path, and the paths of its compiled parts.

    Raises:
        EngineError: if a package is not installed.
    """
    yield "byhand", Path(byhand.__file__).parent, []
    for name, found in sorted(_distributions(WANTED).items()):
        record = found.read_text("RECORD")
        if record is None:
            raise EngineError(f"{name} was not installed by pip: what it consists of is unknown.")
        folder = Path(str(found.locate_file("")))
        compiled: dict[str, list[Path]] = {}
        listed = found.entry_points.select(group=PLUGINS)  # by files in its .dist-info
        unwanted = (".pth",) if listed else (".pth", ".dist-info")
        for file, *_ in csv.reader(record.splitlines()):
            top = file.partition("/")[0]
            if not top.endswith(unwanted) and top not in ("..", "__pycache__"):
                parts = compiled.setdefault(top, [])
                if ".so" in file:
                    parts.append(folder / file)
        for top, parts in compiled.items():
            yield top, folder / top, parts


def _distributions(wanted: tuple[str, ...]) -> dict[str, Distribution]:
    """Wanted distributions and all that they need on this machine, by name."""
    found: dict[str, Distribution] = {}
    waiting = list(wanted)
    while waiting:
        name = waiting.pop().lower().replace("_", "-")
        if name in found:
            continue
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:
            raise EngineError(
                f"{name} is not installed in {sys.prefix}: notebooks need it. `make env` makes the "
                "course's environment."
            ) from None
        for requirement in map(Requirement, found[name].requires or []):
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                waiting.append(requirement.name)
    return found


def library_paths(binaries: list[Path]) -> dict[str, str]:
    """The shared libraries of some programs and modules, and of those libraries, by place inside.

    The loader itself is shown where programs expect it, and all else in one folder, the
    LD_LIBRARY_PATH. Names that are found nowhere are left out: what needs them works nowhere.
    """
    known, shown = _loader_cache(), {}
    bundled = {path.name for path in binaries}
    waiting = list(binaries)
    seen: set[str] = set()
    while waiting:
        file = waiting.pop()
        try:
            elf = read_elf(file)
        except (NotElf, OSError):
            continue
        if elf.interpreter:
            shown[elf.interpreter] = str(Path(elf.interpreter).resolve())
        for name in elf.needed:
            if name in seen or name in bundled:
                continue
            seen.add(name)
            folders = [path.replace("$ORIGIN", str(file.parent)) for path in elf.search]
            beside = [str(Path(folder, name)) for folder in (*folders, *USUAL_FOLDERS)]
            for path in [*beside[: len(folders)], known.get(name, ""), *beside[len(folders) :]]:
                if path and Path(path).is_file():
                    shown[str(LIBRARIES / name)] = str(Path(path).resolve())
                    waiting.append(Path(path).resolve())
                    break
    return shown


def _loader_cache() -> dict[str, str]:
    """Where the loader of this machine finds libraries, by name."""
    word_size = "64" if sys.maxsize > 2**32 else "32"
    for command in ("ldconfig", "/sbin/ldconfig"):
        try:
            listed = subprocess.run([command, "-p"], capture_output=True, text=True, timeout=10)
        except OSError:
            continue
        lines = [line.strip().split(" => ") for line in listed.stdout.splitlines() if "=>" in line]
        found: dict[str, str] = {}
        for left, path in lines:
            name, _, kind = left.partition(" ")
            if word_size in kind and "hwcap" not in kind:
                found.setdefault(name, path)
        return found
    return {}
