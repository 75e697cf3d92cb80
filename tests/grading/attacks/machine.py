"""Harming this machine: its processes, its network, its kernel."""

import threading
import time

from byhand_course.grading.engine import Engine

from .attack import Attack, Sight
from .harms import harms, says
from .trying import notebook_of
from .world import World


def harmed(sight: Sight) -> bool:
    return not sight.world.victim_unharmed()


KILL = "import os, signal\nos.kill(KNOWN['victim'], signal.SIGKILL)"
NICE = "import os\nos.setpriority(os.PRIO_PROCESS, KNOWN['victim'], 15)"
DAEMON = """
import os, subprocess, sys
if os.fork() == 0:
    try:
        os.setsid()
    except OSError:
        pass
    if os.fork() == 0:
        os.execv(sys.executable, [sys.executable, '-S', '-c', 'import time; time.sleep(20)',
                                  KNOWN['mark']])
    os._exit(0)
import time; time.sleep(0.3)
"""


def outlived(sight: Sight) -> bool:
    return bool(sight.world.marked())


PROCESSES = (
    harms(
        name="killing another process",
        tries="kills a process of the instructor's",
        seen="whether it lives",
        through=harmed,
        cells=(KILL,),
    ),
    harms(
        name="stopping another process",
        tries="stops a process of the instructor's by its pidfd",
        seen="its state",
        through=harmed,
        cells=(
            "import os, signal\n"
            "pidfd = os.pidfd_open(KNOWN['victim'])\n"
            "signal.pidfd_send_signal(pidfd, signal.SIGSTOP)",
        ),
    ),
    harms(
        name="killing the grader",
        tries="sends the grader a signal; 0, which only asks whether it could",
        seen="whether the kernel allows it",
        through=says("COULD"),
        cells=("import os\nos.kill(KNOWN['grader'], 0)\nprint('COULD')",),
    ),
    harms(
        name="killing everything",
        tries="sends signal 0 to all processes that it may reach",
        seen="whether there is any",
        through=says("COULD"),
        cells=("import os\nos.kill(-1, 0)\nprint('COULD')",),
    ),
    harms(
        name="killing the warm parent",
        tries="kills the process that notebooks are forked from",
        seen="whether its own cell dies with it",
        through=lambda sight: "died" in sight.states,
        cells=(
            "import os, signal, time\n"
            "if os.getppid() > 0:\n"
            "    os.kill(os.getppid(), signal.SIGKILL)\n    time.sleep(1)",
        ),
    ),
    harms(
        name="priority of another process",
        tries="makes a process of the instructor's slow",
        seen="its priority",
        through=harmed,
        cells=(NICE,),
    ),
    harms(
        name="daemon",
        tries="leaves a process behind that outlives the notebook",
        seen="whether it is there when the notebook has ended",
        through=outlived,
        cells=(DAEMON,),
    ),
    harms(
        name="debugging another process",
        tries="attaches to a process of the instructor's and leaves it stopped",
        seen="its state",
        through=harmed,
        cells=(
            "import ctypes, time\n"
            "libc = ctypes.CDLL(None, use_errno=True)\n"
            "libc.ptrace.argtypes = [ctypes.c_long] * 4\n"
            "print(libc.ptrace(16, KNOWN['victim'], 0, 0))\n"
            "ends = time.time() + 1.2\n"
            "while time.time() < ends:\n    pass",
        ),
        bare="no walls, looked at while it runs",
        run_bare=lambda world, engine: _looked_at(world, engine),
    ),
)


def _looked_at(world: World, engine: Engine) -> Sight:
    """Look at the victim while its tormentor still runs: a tracer that ends lets go."""
    attack = next(one for one in PROCESSES if one.name == "debugging another process")
    cells, _ = notebook_of(world, attack.cells)
    seen: list[bool] = []

    def watch() -> None:
        ends = time.monotonic() + 4
        while time.monotonic() < ends and not seen:
            if not world.victim_unharmed():
                seen.append(True)
            time.sleep(0.02)

    thread = threading.Thread(target=watch)
    thread.start()
    with engine.open(cells):
        thread.join()
    if seen:
        world.victim.kill()
        world.victim.wait()
    return Sight(world)


def connects(name: str, family: str, code: str) -> Attack:
    return harms(
        name=f"network: {family}",
        tries=f"reaches the instructor's own services over {family}",
        seen="a visit to a listening socket",
        through=lambda sight: sight.world.visited(name),
        cells=(f"import socket\n{code}",),
    )


MACHINE_CODE = """
import ctypes, mmap
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes.fromhex('{code}'))
call = ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
found = call()
print('DESCRIPTOR' if found >= 0 else 'refused', found)
"""
# push rbx; mov ebx,2; mov ecx,1; xor edx,edx; mov eax,359 (socket); int 0x80; movsxd rax,eax; pop
INT_80 = "53bb02000000b90100000031d2b867010000cd804863c05bc3"
# mov edi,2; mov esi,1; xor edx,edx; mov eax,0x40000029 (socket, x32); syscall; ret
X32 = "bf02000000be0100000031d2b8290000400f05c3"
FAMILIES = """
import socket
got = []
for family in range(1, 46):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
        try:
            socket.socket(family, kind).close()
            got.append(family)
        except OSError:
            pass
print('GOT' if got else 'none', sorted(set(got)))
"""

NETWORK = (
    connects("tcp", "TCP", "socket.create_connection(('127.0.0.1', KNOWN['tcp']), 1)"),
    connects("tcp6", "TCP on IPv6", "socket.create_connection(('::1', KNOWN['tcp6']), 1)"),
    connects(
        "udp",
        "UDP",
        "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(\n"
        "    b'x', ('127.0.0.1', KNOWN['udp']))",
    ),
    connects("unix", "a UNIX socket", "socket.socket(socket.AF_UNIX).connect(KNOWN['unix'])"),
    connects(
        "abstract",
        "an abstract UNIX socket",
        "socket.socket(socket.AF_UNIX).connect('\\0' + KNOWN['abstract'])",
    ),
    harms(
        name="network: every family",
        tries="opens sockets of families 1 to 45: netlink, packet, vsock, crypto, Bluetooth, …",
        seen="which it gets",
        through=says("GOT"),
        cells=(FAMILIES,),
    ),
    harms(
        name="network: a server",
        tries="listens for whoever connects",
        seen="whether it can",
        through=says("LISTENING"),
        cells=(
            "import socket\nserver = socket.create_server(('127.0.0.1', 0))\n"
            "print('LISTENING', server.getsockname())",
        ),
    ),
    harms(
        name="network: names",
        tries="asks for the address of a name, which could carry a message",
        seen="whether a question leaves",
        through=lambda sight: sight.world.visited("udp"),
        cells=(
            "import socket, struct\n"
            "asked = b'\\x12\\x34\\x01\\x00\\x00\\x01' + bytes(6) + b'\\x06secret\\x04test\\x00'\n"
            "there = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
            "there.sendto(asked + b'\\x00\\x01\\x00\\x01', ('127.0.0.1', KNOWN['udp']))",
        ),
    ),
    harms(
        name="network: 32-bit system call",
        tries="opens a socket by interrupt 0x80, where a careless filter does not look",
        seen="whether it gets one",
        through=says("DESCRIPTOR"),
        cells=(MACHINE_CODE.format(code=INT_80),),
    ),
    harms(
        name="network: x32 system call",
        tries="opens a socket by the number that x32 programs use",
        seen="whether it gets one",
        through=says("DESCRIPTOR"),
        cells=(MACHINE_CODE.format(code=X32),),
        fails_bare="this kernel knows no x32 programs",
        live=says("refused"),
    ),
)


def calls(name: str, tries: str, code: str, **more: object) -> Attack:
    return harms(
        name=name,
        tries=tries,
        seen="whether the kernel does it",
        through=says("DONE"),
        cells=(
            "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\n"
            f"done = {code}\n"
            "print('DONE' if done >= 0 else os.strerror(ctypes.get_errno()))",
        ),
        **more,  # type: ignore[arg-type]
    )


KERNEL = (
    harms(
        name="being root",
        tries="becomes user 0 by every call there is",
        seen="its id",
        through=says("uid 0"),
        cells=(
            "import os\n"
            "for become in (lambda: os.setuid(0), lambda: os.setresuid(0, 0, 0),\n"
            "               lambda: os.setgroups([0])):\n"
            "    try:\n        become()\n    except OSError as error:\n        print(error)\n"
            "print('uid', os.getuid())",
        ),
    ),
    calls("new namespaces", "makes a user namespace, in which it would be root",
          "libc.unshare(0x10000000)"),
    calls("mounting", "mounts a file system over its folder",
          "libc.mount(b'none', b'.', b'tmpfs', 0, None) or libc.umount(b'.')"),
    calls("changing the root", "changes its root folder", "libc.chroot(b'/')"),
    calls("making a device", "makes a device file for the null device",
          "libc.mknod(b'null', 0o20666, os.makedev(1, 3)) or libc.unlink(b'null')"),
    calls("io_uring", "sets up io_uring, which goes past system-call filters",
          "libc.syscall(425, 4, ctypes.create_string_buffer(120))"),
    calls("bpf", "loads a program into the kernel",
          "libc.syscall(321, 0, ctypes.create_string_buffer("
          "b'\\1\\0\\0\\0\\4\\0\\0\\0\\4\\0\\0\\0\\1', 72), 72)"),
    calls("performance counters", "measures other processes",
          "libc.syscall(298, ctypes.create_string_buffer((1).to_bytes(4, 'little') + "
          "(112).to_bytes(4, 'little'), 112), 0, -1, -1, 0)"),
    calls("userfaultfd", "takes page faults into its own hands", "libc.syscall(323, 1)"),
    calls("kernel keys", "adds a key to the kernel's keyring",
          "libc.syscall(248, b'user', b'byhand', b'x', 1, -3)"),
    calls("host name", "renames the machine, to the name that it has",
          "libc.sethostname(os.uname().nodename.encode(), len(os.uname().nodename))"),
    calls("limits", "raises its own limits",
          "__import__('resource').setrlimit(7, (5000, 5000)) or 0",
          fails_bare="on this machine root may not raise limits either",
          live=lambda sight: False in sight.states),
)  # fmt: skip
