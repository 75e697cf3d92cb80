"""Records the numbers of system calls from the headers of Linux, for test_walls.py to compare with.

    python tests/grading/record_system_calls.py    # needs gcc and the Debian package linux-libc-dev

One line a call: its name, its number on x86-64, its number on aarch64, or "-" where there is none.
The numbers of aarch64 are those of asm-generic, which that machine uses as they stand.
"""

import re
from pathlib import Path
from subprocess import run

HEADERS = {"x86_64": "asm/unistd_64.h", "aarch64": "asm-generic/unistd.h"}
WANTED = (  # what asm/unistd.h of aarch64 asks the generic table for
    "__BITS_PER_LONG 64", "__ARCH_WANT_RENAMEAT", "__ARCH_WANT_NEW_STAT", "__ARCH_WANT_SYS_CLONE3",
    "__ARCH_WANT_SET_GET_RLIMIT", "__ARCH_WANT_TIME32_SYSCALLS", "__ARCH_WANT_MEMFD_SECRET",
)  # fmt: skip


def numbers(header: str) -> dict[str, int]:
    """All calls that a header names, with their numbers."""
    text = "".join(f"#define {word}\n" for word in WANTED) + f"#include <{header}>\n"
    done = run(["gcc", "-E", "-dM", "-"], input=text, capture_output=True, text=True, check=True)
    words = dict(re.findall(r"#define (__NR\w+) (\S+)", done.stdout))

    def resolve(word: str) -> int:
        return int(word) if word.isdigit() else resolve(words[word])

    return {
        name.removeprefix("__NR_"): resolve(word)
        for name, word in words.items()
        if name.startswith("__NR_") and name not in ("__NR_syscalls", "__NR_arch_specific_syscall")
    }


if __name__ == "__main__":
    tables = [numbers(header) for header in HEADERS.values()]
    names = sorted(set().union(*tables))
    lines = [" ".join([name, *(str(table.get(name, "-")) for table in tables)]) for name in names]
    Path(__file__).with_name("system_calls.txt").write_text("\n".join(lines) + "\n")
