"""What an ELF file (a program or shared library on Linux) says of the libraries that it needs."""

import mmap
import struct
from dataclasses import dataclass
from pathlib import Path

PT_LOAD, PT_DYNAMIC, PT_INTERP = 1, 2, 3
DT_NEEDED, DT_STRTAB, DT_RPATH, DT_RUNPATH = 1, 5, 15, 29


class NotElf(ValueError):
    """The file is no ELF file of this kind of machine: 64 bits, little endian."""


@dataclass(frozen=True)
class Elf:
    """One file.

    Attributes:
        needed: names of the libraries that it needs.
        search: folders where it wants them looked for first; $ORIGIN is its own folder.
        interpreter: path of the loader that a program is started by, or "".
    """

    needed: tuple[str, ...]
    search: tuple[str, ...]
    interpreter: str


def read_elf(path: Path) -> Elf:
    """Read one file, and no more pages of it than are needed.

    Raises:
        NotElf: if it is something else.
        OSError: if it cannot be read.
    """
    with path.open("rb") as file:
        if file.read(6) != b"\x7fELF\x02\x01":
            raise NotElf(f"{path} is no 64-bit little-endian ELF file")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            try:
                return _parse(data)
            except (struct.error, ValueError) as error:
                raise NotElf(f"{path} is a damaged ELF file") from error


def _parse(data: mmap.mmap) -> Elf:
    (start,) = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    segments = [struct.unpack_from("<IIQQQQ", data, start + i * size) for i in range(count)]
    interpreter = ""
    entries: list[tuple[int, ...]] = []
    for kind, _, offset, _, _, length in segments:
        if kind == PT_INTERP:
            interpreter = data[offset : offset + length].rstrip(b"\0").decode()
        elif kind == PT_DYNAMIC:
            entries = list(struct.iter_unpack("<QQ", data[offset : offset + length // 16 * 16]))
    address_of_names = next((value for tag, value in entries if tag == DT_STRTAB), 0)
    names = 0
    for kind, _, offset, address, _, length in segments:
        if kind == PT_LOAD and address <= address_of_names < address + length:
            names = address_of_names - address + offset

    def text(place: int) -> str:
        return data[names + place : data.find(b"\0", names + place)].decode()

    needed = tuple(text(value) for tag, value in entries if tag == DT_NEEDED)
    paths = [text(value) for tag, value in entries if tag in (DT_RPATH, DT_RUNPATH)]
    return Elf(needed, tuple(folder for path in paths for folder in path.split(":")), interpreter)
