"""Each wall around learners' code, tried from inside, and taken away to see what it held back."""

import contextlib
import errno
import os
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from byhand_course.grading import processes, walls
from byhand_course.grading.engine import Engine, Limits, Notebook
from byhand_course.grading.errors import EngineError
from byhand_course.grading.sandbox import ORDINARY_ID, Sandbox

QUICK = Limits(cell_timeout_s=3.0, question_timeout_s=1.0, notebook_timeout_s=30.0)
GOOD = ["import numpy as np", "def double(x):\n    return 2 * x"]


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with Engine(QUICK) as engine:
        yield engine


@pytest.fixture(scope="module", params=[Sandbox.BUBBLEWRAP, Sandbox.LANDLOCK])
def any_engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """Both tiers, for what both must keep in."""
    with Engine(QUICK, request.param) as engine:
        yield engine


def is_still_graded(engine: Engine) -> bool:
    """Whether the next learner's notebook is run and answers."""
    with engine.open(GOOD) as notebook:
        return bool(notebook.ask("double", (np.ones(2),)).value.tolist() == [2.0, 2.0])


def printed(notebook: Notebook, place: int = 0) -> str:
    return "".join(output.get("text", "") for output in notebook.outcomes[place].outputs)


def value_of(engine: Engine, cell: str, name: str = "found") -> object:
    """What a notebook of one cell has under a name, after it ran well."""
    with engine.open([cell]) as notebook:
        assert notebook.outcomes[0].ok, notebook.outcomes[0]
        return notebook.read(name).value


def error_of(engine: Engine, cell: str) -> str:
    """The name and words of what a cell raises."""
    with engine.open([cell]) as notebook:
        assert notebook.outcomes[0].failure is None
        assert not notebook.outcomes[0].ok, f"nothing stopped {cell}"
        error = notebook.outcomes[0].outputs[-1]
        return f"{error['ename']}: {error['evalue']}"


def below(pid: int) -> set[int]:
    """All processes that descend from one, as the host sees them."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = status.read_text().rpartition(")")[2].split()
            parents[int(status.parent.name)] = (int(fields[1]), fields[0])
    found, fresh = set(), {pid}
    while fresh:
        found |= fresh
        fresh = {
            child for child, (parent, state) in parents.items() if parent in fresh and state != "Z"
        }
    return found


def is_alive(pid: int) -> bool:
    """Whether a process runs; a zombie waits only for whoever adopted it to notice."""
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def warm_pid(engine: Engine) -> int:
    """The host's id of the process that the engine started."""
    assert engine._parent is not None and engine._parent._popen is not None
    return engine._parent._popen.pid


def wait_until(condition, seconds: float = 3.0) -> bool:
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        if condition():
            return True
        time.sleep(0.01)
    return False


# Who a notebook is


def test_a_notebook_is_alone_and_has_no_rights(engine: Engine) -> None:
    """Process 1 of its own, an ordinary id, no capability, none to gain, calls filtered."""
    cell = (
        "import ctypes, os\n"
        "prctl = ctypes.CDLL(None).prctl\n"
        "bounding = sum(prctl(23, n, 0, 0, 0) == 1 for n in range(64))\n"
        "words = (ctypes.c_uint32 * 6)()\n"
        "ctypes.CDLL(None).capget((ctypes.c_uint32 * 2)(0x20080522, 0), words)\n"
        "found = [os.getpid(), os.getppid(), os.getuid(), os.getgid(), bounding, sum(words),\n"
        "         prctl(39, 0, 0, 0, 0), prctl(21, 0, 0, 0, 0)]"
    )
    assert value_of(engine, cell) == [1, 0, 1000, 1000, 0, 0, 1, 2]


def test_a_notebook_shares_no_namespace(engine: Engine) -> None:
    """Two notebooks, their warm parent and the host: nothing of the five kinds in common."""
    with engine.open(GOOD), engine.open(GOOD):
        family = sorted(below(warm_pid(engine)) - {warm_pid(engine)})
        assert len(family) == 3
        for kind in ("user", "mnt", "pid", "net", "ipc"):
            theirs = [os.readlink(f"/proc/{pid}/ns/{kind}") for pid in family]
            assert len({*theirs, os.readlink(f"/proc/self/ns/{kind}")}) == 4, kind
        assert os.readlink(f"/proc/{family[0]}/ns/uts") != os.readlink("/proc/self/ns/uts")


def test_on_the_host_it_is_never_root(engine: Engine) -> None:
    """Started by root, everything runs as an id that no account has; else as whoever grades."""
    wanted = ORDINARY_ID if os.geteuid() == 0 else os.geteuid()
    with engine.open(GOOD):
        ids = [
            Path(f"/proc/{pid}/status").read_text().partition("Uid:")[2].split()[:4]
            for pid in below(warm_pid(engine))
        ]
    assert len(ids) >= 3  # bubblewrap, the warm parent, the notebook
    assert {word for words in ids for word in words} == {str(wanted)}


def test_limits_of_each_process(engine: Engine) -> None:
    """Address space, processor time, processes, file length, open files, no core file."""
    cell = (
        "import resource as r\n"
        "kinds = r.RLIMIT_AS, r.RLIMIT_CPU, r.RLIMIT_NPROC, r.RLIMIT_FSIZE, r.RLIMIT_NOFILE, "
        "r.RLIMIT_CORE, r.RLIMIT_MEMLOCK\n"
        "found = [list(r.getrlimit(kind)) for kind in kinds]"
    )
    wanted = [2 << 30, 31, 64, 16 << 20, 256, 0, 0]
    assert value_of(engine, cell) == [[amount, amount] for amount in wanted]


def test_random_numbers_differ_between_notebooks_and_questions(engine: Engine) -> None:
    """Forks do not share what the warm parent could have drawn."""
    cells = ["import random, numpy as np", "def f():\n    return random.random(), np.random.rand()"]
    drawn = set()
    for _ in range(3):
        with engine.open([*cells, "found = f()"]) as notebook:
            drawn |= set(np.ravel(notebook.read("found").value).tolist())
    assert len(drawn) == 6


# What it sees


def test_the_whole_tree_that_a_notebook_sees(engine: Engine) -> None:
    """Empty folders, a few devices, and below /opt what it was given: nothing else of the host."""
    cell = (
        "import os\n"
        "found = {place: sorted(os.listdir(place)) for place in\n"
        "         ['/', '/dev', '/proc', '/tmp', '/work', '/home', '/dev/shm', '/opt',\n"
        "          '/opt/byhand', '/opt/packages', '/opt/python/lib']}\n"
        "site = [name for name in os.listdir(os.path.dirname(os.__file__)) if 'packages' in name]\n"
        "inside = [os.listdir(os.path.join(os.path.dirname(os.__file__), name)) for name in site]"
    )
    with engine.open([cell]) as notebook:
        found = notebook.read("found").value
        assert notebook.read("inside").value in ([], [[]])
    assert isinstance(found, dict)
    assert set(found["/"]) <= {"dev", "home", "lib", "lib64", "opt", "proc", "tmp", "work"}
    assert found["/dev"] == ["full", "null", "random", "shm", "urandom", "zero"]
    for empty in ("/proc", "/tmp", "/work", "/home", "/dev/shm"):
        assert found[empty] == [], empty
    assert found["/opt"] == ["byhand", "libraries", "packages", "python"]
    assert found["/opt/byhand"] == ["inside.py", "outputs.py", "walls.py", "wire.py"]
    packages = set(found["/opt/packages"])
    assert {"byhand", "numpy", "IPython", "matplotlib"} <= packages
    foreign = {"byhand_course", "nbgrader", "nbformat", "jupytext", "notebook", "pytest", "pip"}
    assert not packages & foreign


def test_nothing_of_the_course_maker_can_be_read(engine: Engine) -> None:
    """No file that a notebook can reach holds a line of the reference or of the hidden seeds."""
    cell = (
        "import os\n"
        "found = []\n"
        "for folder, _, files in os.walk('/'):\n"
        "    for name in files:\n"
        "        path = os.path.join(folder, name)\n"
        "        if not name.endswith(('.py', '.json', '.db', '.ipynb', '.toml')): continue\n"
        "        if not os.path.exists(path): continue  # a link to what is not shown\n"
        "        text = open(path, 'rb').read()\n"
        "        if b'inverse_std = 1 /' in text or b'hidden_seed' in text: found.append(path)"
    )
    assert value_of(engine, cell) == []


def test_its_environment_is_fixed(engine: Engine) -> None:
    """Nothing of the grader's own environment, and no path of the host in it or in sys.path."""
    cell = (
        "import os, sys\nfound = dict(os.environ)\npath = list(sys.path)\npython = sys.executable"
    )
    os.environ["SECRET_OF_THE_GRADER"] = "42"
    try:
        with Engine(QUICK) as other, other.open([cell]) as notebook:
            found, path = notebook.read("found").value, notebook.read("path").value
    finally:
        del os.environ["SECRET_OF_THE_GRADER"]
    assert isinstance(found, dict) and isinstance(path, list)
    assert set(found) == {
        "HOME", "TMPDIR", "IPYTHONDIR", "MPLCONFIGDIR", "MPLBACKEND", "LANG", "LD_LIBRARY_PATH",
        "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "PWD",
    }  # fmt: skip
    assert all(entry.startswith(("/opt/python/", "/opt/packages")) for entry in path)
    assert "byhand_course" not in str(found)


def test_the_command_lines_on_the_host_name_no_path_of_the_course(engine: Engine) -> None:
    """Everybody can read the list of processes: what is shown inside does not stand there."""
    engine.start()
    lines = [Path(f"/proc/{pid}/cmdline").read_text() for pid in below(warm_pid(engine))]
    assert lines and not any("site-packages" in line for line in lines)


# Where it writes


def test_only_its_own_folders_can_be_written_to(engine: Engine) -> None:
    """/tmp, /work, home and /dev/shm; everything else is read-only."""
    for folder in ("/tmp", "/work", "/home", "/dev/shm"):
        assert value_of(engine, f"found = open('{folder}/x', 'w').write('abc')") == 3
    for place in ("/x", "/opt/x", "/opt/packages/x.py", "/opt/packages/numpy/x.py", "/proc/x"):
        assert "Read-only file system" in error_of(engine, f"open('{place}', 'w')")
    assert "denied" in error_of(engine, "open('/opt/packages/byhand/__init__.py', 'a')")


def test_notebooks_never_see_each_others_files(engine: Engine) -> None:
    """Two at once, and one after the other: each finds its folders empty."""
    write = "for f in ('/tmp', '/work', '/home', '/dev/shm'): open(f + '/mine', 'w').write('x')"
    look = "import os\nfound = [os.listdir(f) for f in ('/tmp', '/work', '/home', '/dev/shm')]"
    with engine.open([write]) as first:
        assert first.outcomes[0].ok
        assert value_of(engine, look) == [[], [], [], []]
    assert value_of(engine, look) == [[], [], [], []]


def test_a_folder_and_a_file_have_a_size(engine: Engine) -> None:
    """A file ends at 16 MiB, /tmp at 64, and the number of files is bounded."""
    one = "f = open('/tmp/x', 'wb')\nfor _ in range(17): f.write(bytes(1 << 20))\nf.flush()"
    many = "for i in range(5):\n    with open('/tmp/%d' % i, 'wb') as f: f.write(bytes(16777215))"
    names = "for i in range(10_000): open('/tmp/%d' % i, 'w').close()"
    assert "File too large" in error_of(engine, one)
    assert "No space left" in error_of(engine, many)
    assert "No space left" in error_of(engine, names)
    assert is_still_graded(engine)


# What it may ask of the kernel


REFUSED = {
    "inet": "import socket; socket.socket(socket.AF_INET)",
    "inet6": "import socket; socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)",
    "unix": "import socket; socket.socket(socket.AF_UNIX)",
    "netlink": "import socket; socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
    "alg": "import socket; socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET)",
    "packet": "import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
    "vsock": "import socket; socket.socket(40, socket.SOCK_STREAM)",
    "socketpair": "import socket; socket.socketpair()",
    "asyncio": "import asyncio; asyncio.new_event_loop()",
}
CALL = (
    "import ctypes, os\n"
    "libc = ctypes.CDLL(None, use_errno=True)\n"
    "if libc.syscall({number}, {arguments}) < 0: raise OSError(ctypes.get_errno(), 'refused')"
)
CALLS = {
    "ptrace": "0, 0, 0, 0", "keyctl": "0, -3, 0", "add_key": "0, 0, 0, 0, 0", "bpf": "0, 0, 0",
    "io_uring_setup": "8, 0", "mount": "0, 0, 0, 0, 0", "umount2": "b'/tmp', 2", "setns": "0, 0",
    "unshare": "0x10000000", "pivot_root": "0, 0", "chroot": "b'/tmp'", "memfd_create": "b'x', 0",
    "perf_event_open": "0, 0, 0, 0, 0", "userfaultfd": "0", "process_vm_readv": "1, 0, 0, 0, 0, 0",
    "shmget": "0, 1 << 24, 0o1600", "personality": "0x40000", "open_by_handle_at": "0, 0, 0",
    "mq_open": "b'x', 0, 0, 0", "seccomp": "0, 0, 0", "fsopen": "b'tmpfs', 0",
    "splice": "0, 0, 0, 0, 0, 0",
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_no_socket_of_any_family(any_engine: Engine, name: str) -> None:
    """There is the one that it inherited, and no other."""
    assert "not permitted" in error_of(any_engine, REFUSED[name])


def test_calls_that_no_notebook_needs_are_refused(any_engine: Engine) -> None:
    """Each by the filter: EPERM, before the kernel looks at its arguments."""
    calls = walls.machine().calls
    cells = [CALL.format(number=calls[name], arguments=CALLS[name]) for name in CALLS]
    with any_engine.open(cells) as notebook:
        for name, outcome in zip(CALLS, notebook.outcomes, strict=True):
            assert outcome.failure is None and not outcome.ok, name
            assert outcome.outputs[-1]["evalue"] == f"[Errno {errno.EPERM}] refused", name


def test_without_the_filter_some_of_them_would_work() -> None:
    """So the test above holds the filter, not the kernel's own refusal."""
    cells = [
        CALL.format(number=walls.machine().calls[name], arguments=CALLS[name])
        for name in ("memfd_create", "shmget", "personality")
    ]
    with Engine(QUICK, Sandbox.NONE) as bare, bare.open(cells) as notebook:
        assert [outcome.ok for outcome in notebook.outcomes] == [True] * 3


def test_new_namespaces_are_refused_however_they_are_asked_for(any_engine: Engine) -> None:
    """clone with a namespace: refused; clone3, whose flags a filter cannot see: not there."""
    calls = walls.machine().calls
    clone = CALL.format(number=calls["clone"], arguments="0x10000000 | 17, 0, 0, 0, 0")
    clone3 = CALL.format(number=calls["clone3"], arguments="0, 0")
    assert f"[Errno {errno.EPERM}]" in error_of(any_engine, clone)
    assert f"[Errno {errno.ENOSYS}]" in error_of(any_engine, clone3)


def test_ordinary_work_is_not_refused(any_engine: Engine) -> None:
    """Files, threads, child processes, arrays, plots, clocks and random numbers."""
    cell = (
        "import os, threading, tempfile, time, random, subprocess, sqlite3, json\n"
        "import numpy as np, matplotlib.pyplot as plt\n"
        "found = []\n"
        "thread = threading.Thread(target=found.append, args=(1,)); thread.start(); thread.join()\n"
        "with tempfile.TemporaryFile() as file: file.write(b'x')\n"
        "pid = os.fork()\n"
        "if pid == 0: os._exit(7)\n"
        "found.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
        "found.append(float(np.linalg.inv(np.eye(3) * 2)[0, 0]))\n"
        "time.sleep(0.001); random.random(); np.random.default_rng().normal()\n"
        "plt.plot([1, 2]); plt.show()"
    )
    assert value_of(any_engine, cell) == [1, 7, 0.5]


def test_a_notebook_finds_what_it_finds_at_home(any_engine: Engine) -> None:
    """`help`, UTF-8 without being asked for, IPython's magics, plots, `byhand`."""
    cells = [
        "help(len)",
        "found = open('é.txt', 'w').write('é') and open('é.txt').read()",
        "%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot([1, 2]);",
        "from byhand import check, mine",
        "%timeit -n 1 -r 1 1",
    ]
    with any_engine.open(cells) as notebook:
        assert [outcome.ok for outcome in notebook.outcomes] == [True] * len(cells)
        assert "Return the number of items" in printed(notebook)
        assert notebook.read("found").value == "é"


# The filter itself, on both kinds of machine


def run_filter(program: bytes, audit: int, number: int, first: int = 0) -> int:
    """What a filter answers to one call: a small machine for its own little programs."""
    instructions = list(struct.iter_unpack("<HBBI", program))
    data = struct.pack("<iIQQQQQQQ", number, audit, 0, first, 0, 0, 0, 0, 0)
    place, value = 0, 0
    while True:
        code, if_true, if_false, k = instructions[place]
        place += 1
        if code == walls.LOAD:
            (value,) = struct.unpack_from("<I", data, k)
        elif code == walls.RETURN:
            return k
        else:
            holds = {walls.IS: value == k, walls.IS_AT_LEAST: value >= k}.get(code)
            holds = bool(value & k) if code == walls.HAS_BITS else holds
            assert holds is not None, f"an instruction that no filter of ours has: {code:#x}"
            place += if_true if holds else if_false


REFUSE = walls.FAIL | errno.EPERM
ABSENT = walls.FAIL | errno.ENOSYS
RECORDED = {
    name: numbers
    for name, *numbers in (
        line.split() for line in Path(__file__).with_name("system_calls.txt").open()
    )
}
NEEDED = (
    "read", "write", "openat", "close", "fstat", "lseek", "mmap", "mprotect", "munmap", "brk",
    "rt_sigaction", "rt_sigprocmask", "ioctl", "sched_yield", "madvise", "nanosleep", "getpid",
    "sendto", "recvfrom", "sendmsg", "recvmsg", "exit", "exit_group", "wait4", "futex", "fcntl",
    "getcwd", "mkdirat", "unlinkat", "getrandom", "clock_gettime", "set_robust_list", "pipe2",
    "dup", "prctl", "getuid", "set_tid_address", "rseq", "execve", "getdents64", "statx", "tgkill",
)  # fmt: skip


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("alone", [True, False])
def test_the_filter_answers_each_call_as_it_should(place: int, alone: bool) -> None:
    """Run on paper for both machines, so that aarch64 is tested on any."""
    machine = list(walls.MACHINES.values())[place]
    program = walls.call_filter(machine, alone)
    assert len(program) // 8 <= 4096  # all that the kernel takes

    def answer(name: str, first: int = 0) -> int:
        return run_filter(program, machine.audit, int(RECORDED[name][place]), first)

    for name in NEEDED:
        assert answer(name) == walls.ALLOW, name
    denied = set(walls.AARCH64 if place else walls.X86_64) - set(walls.JUDGED_APART)
    assert len(denied) > 70
    for name in denied:
        assert answer(name) == REFUSE, name
    for name in set(walls.NOT_ALONE) & set(machine.calls):
        assert answer(name) == (walls.ALLOW if alone else REFUSE), name
    assert answer("clone", signal.SIGCHLD) == walls.ALLOW
    for flag in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000):
        assert answer("clone", flag | signal.SIGCHLD) == REFUSE
    assert answer("clone3") == ABSENT
    assert answer("prlimit64", 0) == walls.ALLOW
    assert answer("prlimit64", 1234) == (walls.ALLOW if alone else REFUSE)
    assert run_filter(program, machine.audit, walls.FIRST_UNKNOWN) == ABSENT
    assert run_filter(program, machine.audit, 9999) == ABSENT


def test_other_kinds_of_programs_are_killed() -> None:
    """32-bit programs, x32 programs, and those of the other machine."""
    x86, arm = (walls.call_filter(machine, True) for machine in walls.MACHINES.values())
    i386, arm32 = 0x40000003, 0x40000028
    for audit in (i386, arm32, walls.MACHINES["aarch64"].audit):
        assert run_filter(x86, audit, 1) == walls.KILL_PROCESS
    for audit in (i386, arm32, walls.MACHINES["x86_64"].audit):
        assert run_filter(arm, audit, 1) == walls.KILL_PROCESS
    for number in (0x40000000, 0x40000000 + 39, 0x7FFFFFFF):
        assert run_filter(x86, walls.MACHINES["x86_64"].audit, number) == walls.KILL_PROCESS


@pytest.mark.parametrize("place", [0, 1])
def test_numbers_of_calls_are_those_of_the_kernels_headers(place: int) -> None:
    """Every one in our tables, against what record_system_calls.py found."""
    for name, number in list(walls.MACHINES.values())[place].calls.items():
        assert RECORDED[name][place] == str(number), name


def test_an_unknown_machine_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """No walls are better than wrong ones: it says which machines there are walls for."""
    monkeypatch.setattr(walls.platform, "machine", lambda: "riscv64")
    walls.machine.cache_clear()
    with pytest.raises(walls.WallError, match="x86_64 and aarch64, none for riscv64"):
        walls.machine()


# Harm


FORKS = (
    "import os, time\n"
    "n = 0\n"
    "try:\n"
    "    while n < 5000:\n"
    "        if os.fork() == 0: time.sleep(60)\n"
    "        n += 1\n"
    "except OSError as error: print(n, error)"
)


def test_a_fork_bomb_is_small_and_ends_with_its_notebook(engine: Engine) -> None:
    """It gets 63 processes, all of which are gone when the notebook is closed."""
    engine.start()
    with engine.open([FORKS, "1"]) as notebook:
        assert printed(notebook).startswith("63 ")
        assert len(below(warm_pid(engine))) > 63
    assert len(below(warm_pid(engine))) < 5
    assert is_still_graded(engine)


def test_daemons_and_stopped_processes_end_with_their_notebook(engine: Engine) -> None:
    """A session, a double fork, ignored signals, a stopped process: none outlives it."""
    daemon = (
        "import os, signal, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    for n in range(1, 65):\n"
        "        try: signal.signal(n, signal.SIG_IGN)\n"
        "        except (OSError, ValueError): pass\n"
        "    if os.fork() == 0:\n"
        "        while True: time.sleep(1)\n"
        "    os.kill(os.getpid(), signal.SIGSTOP)\n"
        "time.sleep(0.2)"
    )
    before = len(below(warm_pid(engine)))
    with engine.open([daemon]) as notebook:
        assert notebook.outcomes[0].ok
        assert len(below(warm_pid(engine))) == before + 3
    assert len(below(warm_pid(engine))) == before


def test_no_other_process_can_be_named(any_engine: Engine) -> None:
    """The grader, its own parent, or everybody: signals reach no process outside."""
    grader = os.getpid()
    for pid in (grader, -1) if any_engine.sandbox == Sandbox.LANDLOCK else (grader,):
        cell = f"import os, signal\nos.kill({pid}, signal.SIGKILL)"
        assert "ProcessLookupError" in error_of(any_engine, cell) or "not permitted" in error_of(
            any_engine, cell
        )
    assert is_still_graded(any_engine)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that the sandbox's user owns and could reach, were there no walls."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        if os.geteuid() == 0:
            os.chown(name, ORDINARY_ID, ORDINARY_ID)
        yield Path(name)


def test_files_of_the_grader_stay_unread_and_unchanged(
    any_engine: Engine, open_folder: Path
) -> None:
    """By its path, in both tiers: neither read, written, renamed, removed, cut nor closed."""
    secret = open_folder / "gradebook.db"
    secret.write_text("the grades")
    os.chown(secret, *[ORDINARY_ID if os.geteuid() == 0 else -1] * 2)
    path = str(secret)
    tries = [
        f"open({path!r})", f"open({path!r}, 'a')", f"import os; os.remove({path!r})",
        f"import os; os.rename({path!r}, {path!r} + '2')", f"import os; os.truncate({path!r}, 0)",
        f"import os; os.chmod({path!r}, 0)", f"import os; os.utime({path!r}, (0, 0))",
        f"import os; os.link({path!r}, 'x')", f"import os; os.listdir({str(open_folder)!r})",
        f"open({str(open_folder)!r} + '/new', 'w')",
        f"import os; os.setxattr({path!r}, 'user.x', b'1')",
    ]  # fmt: skip
    before = secret.stat()
    with any_engine.open(tries) as notebook:
        for cell, outcome in zip(tries, notebook.outcomes, strict=True):
            assert outcome.failure is None and not outcome.ok, cell
    assert secret.read_text() == "the grades"
    assert (secret.stat().st_mode, secret.stat().st_mtime) == (before.st_mode, before.st_mtime)
    assert sorted(path.name for path in open_folder.iterdir()) == ["gradebook.db"]


def test_a_memory_bomb_of_many_processes_costs_only_itself(engine: Engine) -> None:
    """Each process has its limit, and where there is a control group all have one together."""
    bomb = (
        "import os, time\nimport numpy as np\n"
        "for _ in range(8):\n"
        "    if os.fork() == 0:\n"
        "        x = np.ones(1 << 27); time.sleep(30)\n"
        "time.sleep(2)"
    )
    with engine.open([*GOOD, bomb, "done = 1"]) as notebook:
        assert notebook.outcomes[0].ok and notebook.outcomes[1].ok
        assert notebook.outcomes[2].failure in (None, "died", "timeout")
        assert notebook.ask("double", (3,)).value == 6
    assert is_still_graded(engine)


# Ends


def test_all_ends_with_a_grader_that_is_killed(tmp_path: Path) -> None:
    """SIGKILL for the grader: a second later there is no process of its sandbox."""
    program = (
        "import os, sys, time\n"
        "from byhand_course.grading.engine import Engine\n"
        "engine = Engine()\n"
        "cell = 'import os, time\\nif os.fork() == 0:\\n    os.setsid()\\n    time.sleep(99)'\n"
        "notebook = engine.open([cell])\n"
        "print(engine._parent._popen.pid, flush=True)\n"
        "time.sleep(60)"
    )
    grader = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert grader.stdout is not None
    family = below(int(grader.stdout.readline()))
    assert len(family) >= 4
    grader.kill()
    grader.wait()
    grader.stdout.close()
    assert wait_until(lambda: not any(map(is_alive, family)))


@pytest.mark.parametrize("in_a_thread", [False, True])
def test_a_hung_warm_parent_is_replaced(monkeypatch: pytest.MonkeyPatch, in_a_thread: bool) -> None:
    """Stopped, it answers nothing: it is killed with all below it, and the next is graded."""
    monkeypatch.setattr(processes.WarmParent, "REPLY_TIMEOUT_S", 0.5)
    with Engine(QUICK) as engine:
        if in_a_thread:  # where nothing dies with its parent
            thread = threading.Thread(target=engine.start)
            thread.start()
            thread.join()
        assert is_still_graded(engine)
        family = below(warm_pid(engine))
        for pid in family:
            os.kill(pid, signal.SIGSTOP)
        assert is_still_graded(engine)
        assert warm_pid(engine) not in family
        assert wait_until(lambda: not any(map(is_alive, family)))


def test_a_sandbox_outlives_the_thread_that_started_it() -> None:
    """Workers start it in any thread; it ends with the engine, not with that thread."""
    with Engine(QUICK) as engine:
        thread = threading.Thread(target=engine.start)
        thread.start()
        thread.join()
        pid = warm_pid(engine)
        time.sleep(0.2)
        assert is_still_graded(engine)
        assert warm_pid(engine) == pid


def test_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After close: no process, no descriptor, no file, no control group."""
    monkeypatch.setattr(processes.tempfile, "tempdir", str(tmp_path))
    descriptors = sorted(os.listdir("/proc/self/fd"))
    with Engine(QUICK) as engine:
        notebook = engine.open(["import os, time\nif os.fork() == 0: time.sleep(60)"])
        assert notebook.ask("nothing", ()).failure == "missing"
        family = below(warm_pid(engine))
        group = engine._parent._group if engine._parent else None
    assert not any(Path(f"/proc/{pid}").exists() for pid in family)
    assert sorted(os.listdir("/proc/self/fd")) == descriptors
    assert list(tmp_path.iterdir()) == []
    assert group is None or not any(folder.exists() for folder in group.folders)


# No sandbox, no grading


def test_without_bubblewrap_there_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says what is missing and how to get it, and nothing is tried in its place."""
    monkeypatch.setenv("PATH", "/nowhere")
    with Engine(QUICK) as engine, pytest.raises(EngineError, match="sudo apt install bubblewrap"):
        engine.open(GOOD)


def test_a_bubblewrap_that_fails_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own words, and who says what to do."""
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n")
    for path in (fake, tmp_path, *tmp_path.parents[:2]):
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with Engine(QUICK) as engine, pytest.raises(EngineError) as refused:
        engine.open(GOOD)
    assert "uid map: Permission denied" in str(refused.value)
    assert "byhand-course doctor" in str(refused.value)
    assert "Traceback" not in str(refused.value)
