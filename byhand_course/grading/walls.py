"""The walls around one notebook, from inside: namespaces, limits, and the system calls it may make.

Runs beside inside.py, so it imports nothing of ours, and nothing but the standard library. Each
function puts up one wall around the process that calls it, for good: no line of a learner's has run
yet, and none can take a wall down. What stands around all notebooks is built by bubblewrap.py.
"""

import ctypes
import errno
import os
import platform
import resource
import signal
import stat
import struct
import sys
from functools import cache

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC_HOLDING_THE_LOCK = ctypes.PyDLL(None, use_errno=True)  # of the interpreter, as a fork must

FRESH_FOLDERS = {"/tmp": 64 << 20, "/work": 64 << 20, "/home": 8 << 20, "/dev/shm": 16 << 20}
FILES_IN_A_FOLDER = 8192
USER = 1000  # inside; never 0


class WallError(OSError):
    """The kernel refused to put up a wall."""


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise WallError(number, f"{what}: {os.strerror(number)}")
    return result


# Namespaces

CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC = 0x20000, 0x2000000, 0x4000000, 0x8000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
CLONE_CHILD_CLEARTID, CLONE_CHILD_SETTID = 0x200000, 0x1000000
APART = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC
ANY_NAMESPACE = APART | CLONE_NEWCGROUP | CLONE_NEWUTS
PR_GET_TID_ADDRESS = 40
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8


def fork_apart() -> int:
    """Fork as os.fork does, into a user, mount, pid, net and ipc namespace of the child's own.

    One call in place of unshare and a second fork: copying the page tables of a process that holds
    NumPy costs more than all walls together. The child is process 1 of its namespace, so whatever
    it started dies with it. The C library is told of the child's new id as its own fork does.

    Raises:
        WallError: if the kernel refuses; nothing was forked.
    """
    address = ctypes.c_void_p()
    flags = APART | signal.SIGCHLD
    if LIBC.prctl(PR_GET_TID_ADDRESS, ctypes.byref(address), 0, 0, 0) == 0:
        flags |= CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID
    words = [0, 0, 0, 0]  # stack, and three whose order differs
    words[machine().clone_tid_place] = address.value or 0
    numbers = [ctypes.c_long(word) for word in (machine().clone, flags, *words)]
    ctypes.pythonapi.PyOS_BeforeFork()
    pid = LIBC_HOLDING_THE_LOCK.syscall(*numbers)
    if pid == 0:
        ctypes.pythonapi.PyOS_AfterFork_Child()
    else:
        ctypes.pythonapi.PyOS_AfterFork_Parent()
    return _checked(pid, "a process in new namespaces cannot be started")


def settle_apart() -> None:
    """In a process of fork_apart: take an ordinary id, and fresh folders in place of all others.

    Raises:
        WallError, OSError: if the kernel refuses.
    """
    _write("/proc/self/oom_score_adj", "1000")  # if memory is short, sooner than the warm parent
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{USER} {USER} 1")
    _write("/proc/self/gid_map", f"{USER} {USER} 1")
    for folder, size in FRESH_FOLDERS.items():
        _mount_fresh(folder, 0, f"size={size},nr_inodes={FILES_IN_A_FOLDER},mode=755")
    _mount_fresh("/proc", MS_RDONLY, "size=4k,nr_inodes=1,mode=555")  # last: the maps are there


def _write(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def _mount_fresh(folder: str, flags: int, options: str) -> None:
    flags |= MS_NOSUID | MS_NODEV | MS_NOEXEC
    done = LIBC.mount(b"tmpfs", folder.encode(), b"tmpfs", ctypes.c_ulong(flags), options.encode())
    _checked(done, f"an empty folder cannot be mounted on {folder}")


# Rights and limits

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 36, 38
PR_CAPBSET_DROP, PR_CAP_AMBIENT = 24, 47
PR_CAP_AMBIENT_CLEAR_ALL = 4
CAPABILITY_VERSION_3 = 0x20080522


def die_with_parent() -> None:
    """Be killed when the parent dies."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def adopt_orphans() -> None:
    """Become the parent of whatever processes are left behind by those below this one."""
    LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def drop_rights() -> None:
    """Give up every capability, and the means to gain one.

    Raises:
        WallError: if the kernel refuses.
    """
    for capability in range(64):
        if LIBC.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0:
            break  # the first that this kernel does not know; or all had been dropped before
    LIBC.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    header = struct.pack("<Ii", CAPABILITY_VERSION_3, 0)
    _checked(LIBC.syscall(machine().capset, header, bytes(24)), "capabilities cannot be dropped")
    _checked(LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "new rights cannot be refused")


def limit(limits: dict) -> None:
    """Set this process's resource limits, none above what it may have; None is left as it is."""
    amounts = {
        resource.RLIMIT_AS: limits["memory_bytes"],
        resource.RLIMIT_CPU: limits["cpu_s"],
        resource.RLIMIT_FSIZE: limits["file_bytes"],
        resource.RLIMIT_NOFILE: limits["open_files"],
        resource.RLIMIT_NPROC: limits["processes"],
        resource.RLIMIT_CORE: 0,
    }
    for name in ("RLIMIT_MEMLOCK", "RLIMIT_MSGQUEUE"):  # memory that no other limit counts
        if sys.platform == "linux":
            amounts[getattr(resource, name, resource.RLIMIT_CORE)] = 0
    for kind, amount in amounts.items():
        _, most = resource.getrlimit(kind)
        if amount is not None and (most == resource.RLIM_INFINITY or amount < most):
            resource.setrlimit(kind, (amount, amount))


# Files, where no mount namespace can be had

LANDLOCK_CREATE_RULESET, LANDLOCK_ADD_RULE, LANDLOCK_RESTRICT_SELF = 444, 445, 446  # everywhere
LANDLOCK_VERSION, LANDLOCK_PATH_BENEATH = 1, 1
EXECUTE, READ_FILE, READ_FOLDER = 1, 4, 8
RIGHTS_BY_VERSION = {1: 13, 2: 14, 3: 15, 5: 16}  # how many a version knows; each is a bit
WRITE_FILE, TRUNCATE = 2, 1 << 14
TCP, SCOPES = 3, 3  # binding and connecting; abstract sockets and signals


def landlock_version() -> int:
    """The version of Landlock that this kernel has; 0 if none."""
    if sys.platform != "linux":
        return 0
    return max(0, LIBC.syscall(LANDLOCK_CREATE_RULESET, None, 0, LANDLOCK_VERSION))


def keep_to(readable: list[str], folder: str) -> None:
    """Refuse every file and folder but what may be read, and one folder for all uses.

    Args:
        readable: files, and folders with all below them. A package's folder may be a link.
        folder: the notebook's own.

    Raises:
        WallError, OSError: if the kernel refuses.
    """
    version = landlock_version()
    known = max(bits for since, bits in RIGHTS_BY_VERSION.items() if since <= version)
    every = (1 << known) - 1
    described = struct.pack("<QQQ", every, TCP if version >= 4 else 0, SCOPES)
    described = described[: 24 if version >= 6 else 16 if version >= 4 else 8]
    rules = LIBC.syscall(LANDLOCK_CREATE_RULESET, described, ctypes.c_size_t(len(described)), 0)
    _checked(rules, "Landlock makes no rules")
    rights = [(path, EXECUTE | READ_FILE | READ_FOLDER) for path in readable]
    rights += [(os.devnull, READ_FILE | WRITE_FILE | TRUNCATE & every), ("/dev/urandom", READ_FILE)]
    for path, allowed in [*rights, (folder, every)]:
        _allow(rules, path, allowed)
    _checked(LIBC.syscall(LANDLOCK_RESTRICT_SELF, rules, 0), "Landlock does not restrict")
    os.close(rules)


def _allow(rules: int, path: str, rights: int) -> None:
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
        rights &= ~READ_FOLDER
    rule = struct.pack("<Qi", rights, descriptor)
    done = LIBC.syscall(LANDLOCK_ADD_RULE, rules, LANDLOCK_PATH_BENEATH, rule, 0)
    os.close(descriptor)
    _checked(done, f"Landlock cannot allow {path}")


# System calls

COMMON = {  # the same numbers on every machine: all calls that are younger than 424
    "pidfd_send_signal": 424,
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "pidfd_open": 434,
    "clone3": 435,
    "pidfd_getfd": 438,
    "process_madvise": 440,
    "mount_setattr": 442,
    "quotactl_fd": 443,
    "landlock_create_ruleset": 444,
    "landlock_add_rule": 445,
    "landlock_restrict_self": 446,
    "memfd_secret": 447,
    "process_mrelease": 448,
    "set_mempolicy_home_node": 450,
}
FIRST_UNKNOWN = 451  # calls from here on are answered as an older kernel would: there are none

X86_64 = {
    "accept": 43, "accept4": 288, "acct": 163, "add_key": 248, "adjtimex": 159, "bind": 49,
    "bpf": 321, "capset": 126, "chroot": 161, "clock_adjtime": 305, "clock_settime": 227,
    "clone": 56, "connect": 42, "delete_module": 176, "fanotify_init": 300, "finit_module": 313,
    "get_mempolicy": 239, "init_module": 175, "io_setup": 206, "io_submit": 209, "ioperm": 173,
    "iopl": 172, "ioprio_set": 251, "kcmp": 312, "kexec_file_load": 320, "kexec_load": 246,
    "keyctl": 250, "kill": 62, "listen": 50, "lookup_dcookie": 212, "mbind": 237,
    "memfd_create": 319, "migrate_pages": 256, "mknod": 133, "mknodat": 259, "modify_ldt": 154,
    "mount": 165, "move_pages": 279, "mq_open": 240, "mq_unlink": 241, "msgget": 68,
    "msgrcv": 70, "msgsnd": 69, "name_to_handle_at": 303, "nfsservctl": 180,
    "open_by_handle_at": 304, "perf_event_open": 298, "personality": 135, "pivot_root": 155,
    "prlimit64": 302, "process_vm_readv": 310, "process_vm_writev": 311, "ptrace": 101,
    "quotactl": 179, "reboot": 169, "request_key": 249, "rt_sigqueueinfo": 129,
    "rt_tgsigqueueinfo": 297, "sched_setaffinity": 203, "sched_setattr": 314,
    "sched_setparam": 142, "sched_setscheduler": 144, "seccomp": 317, "semctl": 66, "semget": 64,
    "semop": 65, "semtimedop": 220, "set_mempolicy": 238, "setdomainname": 171,
    "sethostname": 170, "setns": 308, "setpgid": 109, "setpriority": 141, "setsid": 112,
    "settimeofday": 164, "shmat": 30, "shmctl": 31, "shmget": 29, "socket": 41,
    "socketpair": 53, "splice": 275, "swapoff": 168, "swapon": 167, "sysfs": 139, "syslog": 103,
    "tee": 276, "tkill": 200, "umount2": 166, "unshare": 272, "uselib": 134, "userfaultfd": 323,
    "ustat": 136, "vhangup": 153, "vmsplice": 278, "_sysctl": 156,
    "chmod": 90, "fchmod": 91, "fchmodat": 268, "chown": 92, "fchown": 93, "lchown": 94,
    "fchownat": 260, "utime": 132, "utimes": 235, "futimesat": 261, "utimensat": 280,
    "setxattr": 188, "lsetxattr": 189, "fsetxattr": 190, "removexattr": 197,
    "lremovexattr": 198, "fremovexattr": 199, "truncate": 76,
}  # fmt: skip
AARCH64 = {
    "accept": 202, "accept4": 242, "acct": 89, "add_key": 217, "adjtimex": 171, "bind": 200,
    "bpf": 280, "capset": 91, "chroot": 51, "clock_adjtime": 266, "clock_settime": 112,
    "clone": 220, "connect": 203, "delete_module": 106, "fanotify_init": 262,
    "finit_module": 273, "get_mempolicy": 236, "init_module": 105, "io_setup": 0,
    "io_submit": 2, "ioprio_set": 30, "kcmp": 272, "kexec_file_load": 294, "kexec_load": 104,
    "keyctl": 219, "kill": 129, "listen": 201, "lookup_dcookie": 18, "mbind": 235,
    "memfd_create": 279, "migrate_pages": 238, "mknodat": 33, "mount": 40, "move_pages": 239,
    "mq_open": 180, "mq_unlink": 181, "msgget": 186, "msgrcv": 188, "msgsnd": 189,
    "name_to_handle_at": 264, "nfsservctl": 42, "open_by_handle_at": 265,
    "perf_event_open": 241, "personality": 92, "pivot_root": 41, "prlimit64": 261,
    "process_vm_readv": 270, "process_vm_writev": 271, "ptrace": 117, "quotactl": 60,
    "reboot": 142, "request_key": 218, "rt_sigqueueinfo": 138, "rt_tgsigqueueinfo": 240,
    "sched_setaffinity": 122, "sched_setattr": 274, "sched_setparam": 118,
    "sched_setscheduler": 119, "seccomp": 277, "semctl": 191, "semget": 190, "semop": 193,
    "semtimedop": 192, "set_mempolicy": 237, "setdomainname": 162, "sethostname": 161,
    "setns": 268, "setpgid": 154, "setpriority": 140, "setsid": 157, "settimeofday": 170,
    "shmat": 196, "shmctl": 195, "shmget": 194, "socket": 198, "socketpair": 199, "splice": 76,
    "swapoff": 225, "swapon": 224, "syslog": 116, "tee": 77, "tkill": 130, "umount2": 39,
    "unshare": 97, "userfaultfd": 282, "vhangup": 58, "vmsplice": 75,
    "fchmod": 52, "fchmodat": 53, "fchown": 55, "fchownat": 54, "utimensat": 88, "setxattr": 5,
    "lsetxattr": 6, "fsetxattr": 7, "removexattr": 14, "lremovexattr": 15, "fremovexattr": 16,
    "truncate": 45,
}  # fmt: skip

NOT_ALONE = (  # refused where no namespaces stand: they reach processes beside the notebook, ...
    "kill", "tkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal", "pidfd_open",
    "setsid", "setpgid", "setpriority", "ioprio_set", "sched_setaffinity", "sched_setattr",
    "sched_setparam", "sched_setscheduler",
    # ... and what Landlock does not know of files
    "chmod", "fchmod", "fchmodat", "chown", "fchown", "lchown", "fchownat", "utime", "utimes",
    "futimesat", "utimensat", "setxattr", "lsetxattr", "fsetxattr", "removexattr",
    "lremovexattr", "fremovexattr", "truncate",
)  # fmt: skip
JUDGED_APART = ("clone", "clone3", "capset", "prlimit64", *NOT_ALONE)  # all others in the tables
LANDLOCK = ("landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self")


class Machine:
    """What the kernel calls a kind of processor, and the numbers of its system calls.

    Args:
        audit: the kind's number.
        calls: numbers by name.
        clone_tid_place: where `clone` wants the address of the child's id, after its flags.
        foreign_from: where the numbers of another kind of program begin, or None.
    """

    def __init__(
        self, audit: int, calls: dict[str, int], clone_tid_place: int, foreign_from: int | None
    ) -> None:
        self.audit = audit
        self.calls = COMMON | calls
        self.clone_tid_place = clone_tid_place
        self.foreign_from = foreign_from
        self.clone = calls["clone"]
        self.capset = calls["capset"]


MACHINES = {
    "x86_64": Machine(0xC000003E, X86_64, 2, 0x40000000),  # x32 programs
    "aarch64": Machine(0xC00000B7, AARCH64, 3, None),
}


@cache
def machine() -> Machine:
    """This machine.

    Raises:
        WallError: if its system calls are not known here.
    """
    found = MACHINES.get(platform.machine())
    if found is None or sys.maxsize < 2**32 or sys.byteorder != "little":
        known = " and ".join(MACHINES)
        raise WallError(errno.ENOSYS, f"there are walls for {known}, none for {platform.machine()}")
    return found


LOAD, IS, IS_AT_LEAST, HAS_BITS, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16  # where the kernel writes them for a filter
ALLOW, KILL_PROCESS, FAIL = 0x7FFF0000, 0x80000000, 0x00050000
PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2


@cache
def call_filter(machine: Machine, alone: bool) -> bytes:
    """A seccomp filter, as the kernel's own little programs. Made once, before any fork.

    Args:
        machine: whose calls it knows; programs of any other kind are killed.
        alone: whether the notebook has namespaces of its own.
    """
    denied = set(machine.calls) - set(JUDGED_APART) - set(LANDLOCK)
    denied |= set() if alone else set(NOT_ALONE) & set(machine.calls)
    program = [(LOAD, 0, 0, ARCHITECTURE), (IS, 1, 0, machine.audit), (RETURN, 0, 0, KILL_PROCESS)]
    program.append((LOAD, 0, 0, NUMBER))
    if machine.foreign_from is not None:
        program += [(IS_AT_LEAST, 0, 1, machine.foreign_from), (RETURN, 0, 0, KILL_PROCESS)]
    absent = (RETURN, 0, 0, FAIL | errno.ENOSYS)
    refused = (RETURN, 0, 0, FAIL | errno.EPERM)
    program += [(IS_AT_LEAST, 0, 1, FIRST_UNKNOWN), absent]
    program += [(IS, 0, 1, machine.calls["clone3"]), absent]  # its flags cannot be seen: use clone
    for number in sorted(machine.calls[name] for name in denied):
        program += [(IS, 0, 1, number), refused]
    program += [(IS, 0, 3, machine.calls["clone"]), (LOAD, 0, 0, FIRST_ARGUMENT)]
    program += [(HAS_BITS, 0, 1, ANY_NAMESPACE), refused, (LOAD, 0, 0, NUMBER)]
    if not alone:  # limits of this process only, not of another
        program += [(IS, 0, 3, machine.calls["prlimit64"]), (LOAD, 0, 0, FIRST_ARGUMENT)]
        program += [(IS, 1, 0, 0), refused, (LOAD, 0, 0, NUMBER)]
    program.append((RETURN, 0, 0, ALLOW))
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in program)


def filter_calls(alone: bool) -> None:
    """Let the kernel refuse what no notebook needs; see call_filter.

    Raises:
        WallError: if the kernel refuses, or the machine is unknown.
    """
    program = call_filter(machine(), alone)
    kept = ctypes.create_string_buffer(program, len(program))
    described = struct.pack("@HP", len(program) // 8, ctypes.addressof(kept))
    done = LIBC.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, described, 0, 0)
    _checked(done, "system calls cannot be filtered")
