"""A small world with something to steal, to break and to reach, for attacks to be tried in.

All of it is made for the run and belongs to it: files, processes, listening sockets on the loopback
interface. Files are readable and writable for everybody, so that only walls keep an attacker off.
"""

import contextlib
import os
import secrets
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
VICTIM = """
import ctypes, sys, time
secret = ctypes.create_string_buffer(bytes.fromhex(sys.argv[1]))
print(ctypes.addressof(secret), flush=True)
time.sleep(600)
"""


class World:
    """Everything that an attack may want, and what shows whether it got it.

    Attributes:
        secret: a word that stands in every file, variable and memory worth stealing.
        folder: of the host, with a course in it.
        known: what the attacker knows: paths, numbers and addresses, but no secret.
    """

    def __init__(self) -> None:
        self.secret = f"SECRET{secrets.token_hex(8)}"
        self.folder = Path(tempfile.mkdtemp(prefix="byhand-attacked-", dir=_roomy()))
        self._closing = contextlib.ExitStack()
        self._closing.callback(shutil.rmtree, self.folder, ignore_errors=True)
        self._visits: list[str] = []
        try:
            self._furnish()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Take all of it down."""
        self._closing.close()

    def __enter__(self) -> "World":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _furnish(self) -> None:
        course = self.folder / "course"
        for name in ("source", "solutions", "submitted/victim/week1_maths", "home"):
            (course / name).mkdir(parents=True)
        self.files = {
            "source": course / "source/lesson03_softmax.ipynb",
            "solutions": course / "solutions/lesson03_softmax.ipynb",
            "submission": course / "submitted/victim/week1_maths/lesson03_softmax.ipynb",
            "home": course / "home/.netrc",
            "canary": self.folder / "canary.txt",
        }
        for path in self.files.values():
            path.write_text(self.secret)
        self.gradebook = course / "gradebook.db"
        with contextlib.closing(sqlite3.connect(self.gradebook)) as book, book:
            book.execute("CREATE TABLE grade (student TEXT, score REAL)")
            book.execute("CREATE TABLE byhand_hidden_seed (assignment TEXT, seed TEXT)")
            book.execute("INSERT INTO grade VALUES ('victim', 3.0)")
            book.execute("INSERT INTO byhand_hidden_seed VALUES ('week1_maths', ?)", [self.secret])
        self.files["gradebook"] = self.gradebook
        for path in [self.folder, *self.folder.rglob("*")]:
            path.chmod(0o777 if path.is_dir() else 0o666)
        os.environ["BYHAND_ATTACKED"] = self.secret
        self._closing.callback(os.environ.pop, "BYHAND_ATTACKED", None)
        self.known = {name: str(path) for name, path in self.files.items()}
        self.known |= {"folder": str(self.folder), "root": str(ROOT), "grader": os.getpid()}
        self.known["interpreter"] = str(Path(os.__file__).parent)
        self.known["hostname"] = socket.gethostname()
        self.known["mark"] = f"mark-{secrets.token_hex(6)}"
        self._listen()
        self.victim_now()
        master, terminal = os.openpty()
        os.set_blocking(master, False)
        os.chmod(os.ttyname(terminal), 0o666)
        self._terminal = master
        self.known["terminal"] = os.ttyname(terminal)
        self._closing.callback(lambda: (os.close(master), os.close(terminal)))

    # The victim

    def victim_now(self) -> None:
        """A process with a secret in its command line, environment and memory; anew if harmed."""
        if hasattr(self, "victim"):
            if self.victim_unharmed():
                return
            _end(self.victim)
        self.victim = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", VICTIM, self.secret.encode().hex(), self.secret],
            stdout=subprocess.PIPE,
            env={"BYHAND_ATTACKED": self.secret},
            start_new_session=True,
        )
        self._closing.callback(_end, self.victim)
        assert self.victim.stdout is not None
        self.known["address"] = int(self.victim.stdout.readline())
        self.known["victim"] = self.victim.pid

    def victim_unharmed(self) -> bool:
        """Whether it is alive, runs, and has the priority and processors that it had."""
        if self.victim.poll() is not None:
            return False
        fields = Path(f"/proc/{self.victim.pid}/stat").read_text().rpartition(")")[2].split()
        state, nice = fields[0], int(fields[16])
        return state in "SRD" and nice == os.getpriority(os.PRIO_PROCESS, 0)

    # Sockets

    def _listen(self) -> None:
        """Listen on the loopback interface and beside files; every visit is noted."""
        tcp = socket.create_server(("127.0.0.1", 0))
        tcp6 = _server6()
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        udp.bind(("127.0.0.1", 0))
        path = socket.socket(socket.AF_UNIX)
        path.bind(str(self.folder / "socket"))
        os.chmod(self.folder / "socket", 0o777)
        path.listen()
        abstract = socket.socket(socket.AF_UNIX)
        abstract.bind(f"\0byhand-{secrets.token_hex(6)}")
        abstract.listen()
        self.known |= {
            "tcp": tcp.getsockname()[1],
            "tcp6": tcp6.getsockname()[1] if tcp6 else 0,
            "udp": udp.getsockname()[1],
            "unix": str(self.folder / "socket"),
            "abstract": abstract.getsockname()[1:].decode(),
        }
        named = {"tcp": tcp, "tcp6": tcp6, "udp": udp, "unix": path, "abstract": abstract}
        for name, server in named.items():
            if server is not None:
                server.settimeout(0.05)
                self._serve(name, server)

    def _serve(self, name: str, server: socket.socket) -> None:
        stop = threading.Event()

        def wait() -> None:
            while not stop.is_set():
                with contextlib.suppress(TimeoutError, OSError):
                    if name == "udp":
                        server.recvfrom(100)
                    else:
                        server.accept()[0].close()
                    self._visits.append(name)

        thread = threading.Thread(target=wait, daemon=True)
        thread.start()

        def end() -> None:
            stop.set()
            thread.join()
            server.close()

        self._closing.callback(end)

    def visited(self, name: str) -> bool:
        """Whether anyone came to a listening socket since this was last asked."""
        stop = threading.Event()
        stop.wait(0.12)
        found = name in self._visits
        self._visits.clear()
        return found

    def typed(self) -> str:
        """What was written to the instructor's terminal since this was last asked."""
        with contextlib.suppress(BlockingIOError):
            return os.read(self._terminal, 1000).decode()
        return ""

    # What is looked at

    def canary_touched(self) -> bool:
        """Whether a file of the host was changed; it is put right again."""
        path = self.files["canary"]
        touched = not path.is_file() or path.read_text() != self.secret
        if touched:
            path.unlink(missing_ok=True)
            path.write_text(self.secret)
            path.chmod(0o666)
        return touched

    def grades_touched(self) -> bool:
        """Whether the gradebook says something else; it is put right again."""
        with contextlib.closing(sqlite3.connect(self.gradebook)) as book, book:
            touched = book.execute("SELECT score FROM grade").fetchall() != [(3.0,)]
            book.execute("UPDATE grade SET score = 3.0")
        return touched

    def left_in_folder(self) -> list[Path]:
        """What stands in the host's folder that was not there at first; it is taken away."""
        found = [path for path in self.folder.iterdir() if path.name.startswith("loot")]
        for path in found:
            path.unlink()
        return found

    def marked(self) -> list[int]:
        """Ids of processes that carry the mark in their command line; they are ended."""
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                if self.known["mark"].encode() in path.read_bytes():
                    found.append(int(path.parent.name))
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return found


def _end(process: subprocess.Popen) -> None:
    process.kill()
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _roomy() -> str:
    """A folder outside /tmp, which a sandbox would hide anyway."""
    return "/var/tmp" if os.access("/var/tmp", os.W_OK) else tempfile.gettempdir()


def _server6() -> socket.socket | None:
    try:
        return socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        return None


def memory_mb() -> float:
    """What this process holds in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
