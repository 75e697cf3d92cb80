"""Stealing: what the instructor, other learners or this machine have and the attacker has not.

The world's secret stands in every file, variable and memory that is worth it. The attacker knows
all paths, ids and addresses, but not the secret; it is stolen when it comes out in an output.
"""

import subprocess
import sys
from functools import partial

from byhand_course.grading.engine import Engine

from .attack import Attack, Room, Sight
from .peeking import HIDDEN_INPUTS
from .trying import notebook_of, words
from .world import World


def stole(sight: Sight) -> bool:
    return sight.world.secret in sight.said


def handed_on(sight: Sight) -> bool:
    return sight.later is not None and sight.world.known["mark"] in sight.later.said


steals = partial(Attack, seen="the planted secret in an output", through=stole)
conspires = partial(Attack, seen="the message in the output of a later notebook", through=handed_on)


def reads(name: str, what: str) -> Attack:
    return steals(
        name=what,
        tries=f"reads {what} by its path",
        cells=(f"print(open(KNOWN[{name!r}]).read())",),
    )


FILES = (
    reads("source", "the source notebook"),
    reads("solutions", "the solutions"),
    reads("submission", "another learner's submission"),
    reads("home", "a password file in the instructor's home"),
    steals(
        name="hidden seed",
        tries="reads the seed of the hidden questions from the gradebook",
        cells=(
            "import sqlite3\n"
            "book = sqlite3.connect(f\"file:{KNOWN['gradebook']}?mode=ro\", uri=True)\n"
            "print(book.execute('SELECT * FROM byhand_hidden_seed').fetchall())",
        ),
    ),
    steals(
        name="the reference",
        tries="reads the reference's source",
        seen="a line of it in an output",
        through=lambda sight: "Turn scores into positive weights" in sight.said,
        cells=("print(open(KNOWN['root'] + '/byhand_course/reference/softmax.py').read()[:2000])",),
    ),
    steals(
        name="search of the disk",
        tries="walks through all folders for a gradebook",
        seen="its path in an output",
        through=lambda sight: str(sight.world.gradebook) in sight.said,
        cells=(
            "import glob\n"
            "for pattern in ('/var/tmp/*/*/*.db', '/tmp/*/*/*.db', '/home/*/*/*.db', '/*/*.db'):\n"
            "    print(glob.glob(pattern))",
        ),
    ),
    steals(
        name="link to a file",
        tries="reaches the solutions through a symbolic and a hard link in its own folder",
        cells=(
            "import os\n"
            "os.symlink(KNOWN['solutions'], 'soft')\n"
            "try:\n    os.link(KNOWN['solutions'], 'hard')\nexcept OSError:\n    pass\n"
            "print(open('soft').read())",
        ),
    ),
    steals(
        name="climbing out",
        tries="climbs from its own folder to the root and down again",
        cells=("print(open('../' * 40 + KNOWN['solutions'].lstrip('/')).read())",),
    ),
    steals(
        name="another process's root",
        tries="reads through /proc/PID/root of processes outside",
        cells=(
            "for pid in (KNOWN['grader'], KNOWN['victim'], 1):\n"
            "    try:\n"
            "        print(open(f\"/proc/{pid}/root{KNOWN['solutions']}\").read())\n"
            "    except OSError as error:\n"
            "        print(error)",
        ),
    ),
    steals(
        name="open by handle",
        tries="opens a file by its handle, past all mounts",
        seen="a handle that the kernel gives",
        through=lambda sight: "HANDLE" in sight.printed,
        cells=(
            "import ctypes\n"
            "libc = ctypes.CDLL(None, use_errno=True)\n"
            "handle = (ctypes.c_char * 136)()\n"
            "ctypes.memmove(handle, (128).to_bytes(4, 'little'), 4)\n"
            "mount = ctypes.c_int()\n"
            "for path in (b'/work', b'/tmp', KNOWN['folder'].encode()):\n"
            "    if libc.name_to_handle_at(-100, path, handle, ctypes.byref(mount), 0) == 0:\n"
            "        print('HANDLE')",
        ),
    ),
)


def in_a_kernel(world: World, engine: Engine, code: str) -> Sight:
    """Run code as a Jupyter kernel is: a process that inherits the instructor's environment."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    return Sight(world, said=done.stdout + done.stderr)


OWN_ENVIRONMENT = "import os\nprint(dict(os.environ))"
READ_MEMORY = """
import os
with open(f"/proc/{KNOWN['victim']}/mem", 'rb') as memory:
    os.lseek(memory.fileno(), KNOWN['address'], 0)
    print(os.read(memory.fileno(), 40))
"""
READ_REMOTELY = """
import ctypes
class Span(ctypes.Structure):
    _fields_ = [('base', ctypes.c_void_p), ('length', ctypes.c_size_t)]
here = ctypes.create_string_buffer(40)
mine = Span(ctypes.cast(here, ctypes.c_void_p), 40)
theirs = Span(KNOWN['address'], 40)
libc = ctypes.CDLL(None, use_errno=True)
libc.process_vm_readv(KNOWN['victim'], ctypes.byref(mine), 1, ctypes.byref(theirs), 1, 0)
print(here.raw)
"""
TRACE = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.restype = ctypes.c_long
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
if libc.ptrace(16, KNOWN['victim'], None, None) == 0:
    os.waitpid(KNOWN['victim'], 0x40000000)
    words = [libc.ptrace(2, KNOWN['victim'], KNOWN['address'] + 8 * n, None) for n in range(4)]
    print(b''.join((word & (1 << 64) - 1).to_bytes(8, 'little') for word in words))
    libc.ptrace(17, KNOWN['victim'], None, None)
"""

PROCESSES = (
    steals(
        name="own environment",
        tries="prints its own environment",
        cells=(OWN_ENVIRONMENT,),
        bare="a Jupyter kernel",
        run_bare=partial(in_a_kernel, code=OWN_ENVIRONMENT),
    ),
    steals(
        name="environments of others",
        tries="reads the environment of every process",
        cells=(
            "import glob\n"
            "for path in glob.glob('/proc/[0-9]*/environ'):\n"
            "    try:\n"
            "        if b'BYHAND_ATTACKED' in (text := open(path, 'rb').read()):\n"
            "            print(text)\n"
            "    except OSError:\n        pass",
        ),
    ),
    steals(
        name="command lines",
        tries="reads the command line of every process",
        cells=(
            "import glob\n"
            "for path in glob.glob('/proc/[0-9]*/cmdline'):\n"
            "    try:\n"
            "        if b'SECRET' in (text := open(path, 'rb').read()):\n"
            "            print(text)\n"
            "    except OSError:\n        pass",
        ),
    ),
    steals(
        name="memory through /proc",
        tries="reads another process's memory through /proc/PID/mem",
        cells=(READ_MEMORY,),
    ),
    steals(
        name="memory through process_vm_readv",
        tries="reads another process's memory with a system call",
        cells=(READ_REMOTELY,),
    ),
    steals(
        name="memory through ptrace",
        tries="attaches to another process as a debugger and reads its memory",
        cells=(TRACE,),
    ),
    steals(
        name="names and paths",
        tries="prints all paths that Python knows of, in which the instructor's name could stand",
        seen="the path of the course's folder in an output",
        through=lambda sight: sight.world.known["root"] in sight.said,
        cells=(
            "import sys, os, traceback, byhand\n"
            "print(sys.argv, sys.path, sys.executable, sys.prefix, os.getcwd(), byhand.__file__,\n"
            "      [getattr(module, '__file__', '') for module in list(sys.modules.values())])\n"
            "traceback.print_stack()",
        ),
    ),
    steals(
        name="the machine's name",
        tries="asks for the host's name",
        seen="it in an output",
        through=lambda sight: sight.world.known["hostname"] in sight.said,
        cells=("import socket, os\nprint(socket.gethostname(), os.uname().nodename)",),
    ),
    steals(
        name="kernel log",
        tries="reads the kernel's log",
        seen="its length in an output",
        through=lambda sight: "LOG" in sight.printed,
        cells=(
            "import ctypes\n"
            "length = ctypes.CDLL(None).klogctl(10, None, 0)\n"
            "print('LOG' if length > 0 else 'refused', length)",
        ),
    ),
    steals(
        name="hardware",
        tries="lists network cards, disks and users",
        seen="any of them in an output",
        through=lambda sight: "FOUND" in sight.printed,
        cells=(
            "import os\n"
            "for path in ('/sys/class/net', '/sys/block', '/dev/disk', '/etc/passwd'):\n"
            "    if os.path.exists(path):\n"
            "        print('FOUND', path)",
        ),
    ),
    steals(
        name="inherited descriptors",
        tries="reads from every open descriptor that it inherited",
        seen="anything in it but the two sockets to the grader",
        through=lambda sight: "OPEN" in sight.printed,
        cells=(
            "import os, stat\n"
            "found = []\n"
            "for fd in range(3, 1024):\n"
            "    try:\n"
            "        found.append(stat.S_ISSOCK(os.fstat(fd).st_mode))\n"
            "    except OSError:\n        pass\n"
            "print('just two' if found == [True, True] else 'OPEN', len(found))",
        ),
        fails_bare="they are closed before a line of the learner's runs, walls or not",
        live=lambda sight: "just two" in sight.printed,
    ),
    steals(
        name="leftovers in memory",
        tries="searches its own memory for what an earlier notebook left",
        seen="the earlier notebook's word in an output",
        through=handed_on,
        cells=("attackers_word = [KNOWN['mark'][::-1] * 100] * 3",),
        later=(
            "import gc\n"
            "gc.unfreeze()\n"
            "for thing in gc.get_objects():\n"
            "    if type(thing) is dict and type(thing.get('attackers_word')) is list:\n"
            "        print(thing['attackers_word'][0][::-1][:40])",
        ),
        bare="one kernel for two learners",
        run_bare=lambda world, engine: _one_process(world, engine),
    ),
)


def _one_process(world: World, engine: Engine) -> Sight:
    """Run the cells of both learners in one process, as a grader that reuses a kernel does."""
    attack = next(one for one in PROCESSES if one.name == "leftovers in memory")
    cells, _ = notebook_of(world, (*attack.cells, *attack.later))
    with engine.open(cells) as notebook:
        return Sight(world, later=Sight(world, said=words(notebook.outcomes)))


SHARED_MEMORY = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
block = libc.shmget(0xB41A4D, 4096, 0o1666)
place = libc.shmat(block, None, 0)
"""
QUEUE = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
queue = libc.mq_open(b'/byhand-attack', 0o102 | 0o4000, 0o666, None)
print('QUEUE', queue, ctypes.get_errno())
"""

CONSPIRACIES = (
    conspires(
        name="message in /tmp",
        tries="leaves a message in /tmp for a friend's notebook",
        cells=("open('/tmp/byhand-attack-message', 'w').write(KNOWN['mark'])",),
        later=(
            "import os\n"
            "print(open('/tmp/byhand-attack-message').read())\n"
            "os.unlink('/tmp/byhand-attack-message')",
        ),
    ),
    conspires(
        name="message in /dev/shm",
        tries="leaves a message in shared memory below /dev/shm",
        cells=("open('/dev/shm/byhand-attack-message', 'w').write(KNOWN['mark'])",),
        later=(
            "import os\n"
            "print(open('/dev/shm/byhand-attack-message').read())\n"
            "os.unlink('/dev/shm/byhand-attack-message')",
        ),
    ),
    conspires(
        name="message in System V shared memory",
        tries="leaves a message in a shared memory segment",
        cells=(SHARED_MEMORY, "ctypes.memmove(place, KNOWN['mark'].encode(), 17)"),
        later=(SHARED_MEMORY, "print(ctypes.string_at(place, 17))\nlibc.shmctl(block, 0, None)"),
    ),
    conspires(
        name="message in a POSIX queue",
        tries="leaves a message in a message queue",
        cells=(QUEUE, "libc.mq_send(queue, KNOWN['mark'].encode(), 17, 0)"),
        later=(
            QUEUE,
            "room = ctypes.create_string_buffer(8192)\n"
            "libc.mq_receive(queue, room, 8192, None)\nprint(room.raw[:17])\n"
            "libc.mq_unlink(b'/byhand-attack')",
        ),
        fails_bare="a limit of 0 bytes for queues stands, walls or not",
        live=lambda sight: "QUEUE -1 24" in sight.printed,
    ),
    conspires(
        name="message in the settings folder",
        tries="leaves a message among the settings that every notebook shares",
        cells=(
            "import os\n"
            "folder = os.environ['IPYTHONDIR']\n"
            "os.makedirs(folder, exist_ok=True)\n"
            "open(os.path.join(folder, 'message'), 'w').write(KNOWN['mark'])",
        ),
        later=("import os\nprint(open(os.environ['IPYTHONDIR'] + '/message').read())",),
    ),
    conspires(
        name="message in a running process",
        tries="leaves a process behind that tells its message to whoever connects",
        cells=(
            "import os, socket, time\n"
            "server = socket.socket(socket.AF_UNIX)\n"
            "server.bind('\\0byhand-attack')\n"
            "server.listen()\n"
            "if os.fork() == 0:\n"
            "    os.setsid()\n"
            "    if os.fork() == 0:\n"
            "        server.settimeout(6)\n"
            "        try:\n"
            "            server.accept()[0].send(KNOWN['mark'].encode())\n"
            "        finally:\n"
            "            os._exit(0)\n"
            "    os._exit(0)",
        ),
        later=(
            "import socket\n"
            "there = socket.socket(socket.AF_UNIX)\n"
            "there.settimeout(3)\n"
            "there.connect('\\0byhand-attack')\n"
            "print(there.recv(100))",
        ),
    ),
)

ATTACKS = (*FILES, *PROCESSES, *CONSPIRACIES, *HIDDEN_INPUTS)
ROOM = Room("Stealing: what is not the learner's", ATTACKS)
