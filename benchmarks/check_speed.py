"""How long a learner waits for a check, from the call to what is displayed, for every exercise.

    python benchmarks/check_speed.py [--json]

Each exercise is answered by its solution and by each of its known mistakes, in an IPython shell as
in a notebook, so that display and HTML are part of it. The slowest answer of an exercise counts;
the target is 50 ms. The time of `import byhand` is that of a new process, the median of 5, beside
that of `import numpy` alone; the target is 0.3 s.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from contextlib import suppress

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from byhand import CheckFailed, check
from byhand_course.lessons import Exercise, FreeAnswer, load_lessons, mistaken_function

REPEATS = 7


def answers(task):
    """The right answer to an exercise, and its known wrong ones."""
    if isinstance(task, Exercise):
        return [task.solution, *(mistaken_function(task.solution, m) for m in task.mistakes)]
    return [task.answer, *(slip.answer for slip in task.slips)]


def checked_ms(task, answer):
    """Median milliseconds of one check, display included."""
    times = []
    for _ in range(REPEATS):
        with capture_output():
            start = time.perf_counter()
            with suppress(CheckFailed):
                check(**{task.variable: answer})
            times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)


def import_s(module):
    """Median seconds to import a module in a new process, the start of Python not counted."""
    code = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
    run = [sys.executable, "-c", code]
    return statistics.median(
        float(subprocess.run(run, check=True, capture_output=True, text=True).stdout)
        for _ in range(5)
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true", help="print JSON for a script to read")
    as_json = parser.parse_args().json
    InteractiveShell.instance()
    rows = {
        task.name: max(checked_ms(task, answer) for answer in answers(task))
        for lesson in load_lessons()
        for task in lesson.exercises
        if not isinstance(task, FreeAnswer)
    }
    imports = {module: import_s(module) for module in ("numpy", "byhand")}
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    if as_json:
        print(json.dumps({"machine": machine, "check_ms": rows, "import_s": imports}, indent=1))
        return
    print(f"{machine}; slowest answer of each exercise, median of {REPEATS}")
    for name, milliseconds in sorted(rows.items(), key=lambda row: -row[1]):
        print(f"  {name:<28}{milliseconds:8.1f} ms")
    print(f"  import byhand {imports['byhand']:.2f} s (numpy alone {imports['numpy']:.2f} s)")
    slow = [name for name, milliseconds in rows.items() if milliseconds > 50]
    sys.exit(f"over 50 ms: {', '.join(slow)}" if slow else 0)


if __name__ == "__main__":
    main()
