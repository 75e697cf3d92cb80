"""Workers that mark notebooks: processes of this machine, or a dask cluster's.

Both stand behind `concurrent.futures.Executor`. A worker that dies takes no job with it: what was
under way is marked again, one at a time, and only a notebook that kills its worker alone is given
up, with its reason.
"""

import ctypes
import multiprocessing
import signal
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from concurrent.futures.process import ProcessPoolExecutor
from contextlib import suppress
from types import TracebackType
from typing import Self

from byhand_course.errors import Refused

from .engine import Limits
from .marking import Job, Marked, mark, own_engine
from .sandbox import Sandbox

PR_SET_PDEATHSIG = 1
MOST_STUMBLES = 5  # one after another, before the grader gives up


def local_pool(
    workers: int, limits: Limits, sandbox: Sandbox = Sandbox.BUBBLEWRAP
) -> Callable[[], Executor]:
    """What starts a pool of worker processes, each with a warm engine."""

    def start() -> Executor:
        pool = ProcessPoolExecutor(
            workers,
            mp_context=multiprocessing.get_context("fork"),
            initializer=_begin_work,
            initargs=(limits, sandbox),
        )
        pool.submit(_nothing)  # so that they all start at once
        return pool

    return start


def _begin_work(limits: Limits, sandbox: Sandbox) -> None:
    """Be a worker: die with the grader, leave Ctrl-C to it, and have an engine warm."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(Exception):  # said when the first job needs it
        own_engine(limits, sandbox).open([]).close()


def _nothing() -> None:
    pass


class Fleet:
    """Hands jobs to workers and gives back what came of them.

    Args:
        start: makes an executor; called again if its workers have died.
        room: how many jobs may be under way at once.
    """

    def __init__(self, start: Callable[[], Executor], room: int) -> None:
        self._start = start
        self._room = room
        self._executor = start()
        self._under_way: dict[Future[Marked], Job] = {}
        self._done: deque[Marked] = deque()
        self._stumbles = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for future in self._under_way:
            future.cancel()
        self._executor.shutdown(wait=error is None)

    def put(self, job: Job) -> Iterator[Marked]:
        """Hand over a job; yields what is done until there is room for it."""
        while len(self._under_way) >= self._room:
            yield self._next()
        try:
            self._under_way[self._executor.submit(mark, job)] = job
        except BrokenExecutor:
            self._start_again([job])

    def rest(self) -> Iterator[Marked]:
        """All that is not done yet."""
        while self._done or self._under_way:
            yield self._next()

    def _next(self) -> Marked:
        while not self._done:
            done, _ = wait(self._under_way, return_when=FIRST_COMPLETED)
            broken: list[Job] = []
            for future in done:
                job = self._under_way.pop(future)
                error = future.exception()
                if isinstance(error, BrokenExecutor):
                    broken.append(job)
                else:
                    self._done.append(_lost(job, error) if error else future.result())
            if broken:
                self._start_again(broken)
        return self._counted(self._done.popleft())

    def _counted(self, marked: Marked) -> Marked:
        if marked.unable:
            raise Refused(f"{marked.failure}")
        self._stumbles = self._stumbles + 1 if marked.stumbled else 0
        if self._stumbles >= MOST_STUMBLES:
            raise Refused(f"Grading stopped: {MOST_STUMBLES} times in a row {marked.failure}")
        return marked

    def _start_again(self, jobs: list[Job]) -> None:
        """Mark what was under way when a worker died, one by one, with new workers."""
        jobs = [*jobs, *self._under_way.values()]
        self._under_way.clear()
        self._executor.shutdown(wait=False)
        self._executor = self._start()
        for job in jobs:
            try:
                self._done.append(self._executor.submit(mark, job).result())
            except BrokenExecutor as error:
                self._done.append(_lost(job, error))
                self._executor.shutdown(wait=False)
                self._executor = self._start()
            except Exception as error:
                self._done.append(_lost(job, error))


def _lost(job: Job, error: BaseException) -> Marked:
    """What is said of a notebook whose worker died, or whose answer did not arrive."""
    if isinstance(error, BrokenExecutor):
        words = "it ended the grader's own process, twice"
    else:
        words = f"the grader stumbled: {type(error).__name__}: {error}"
    stumbled = not isinstance(error, BrokenExecutor)
    return Marked(job.student, job.template.notebook, failure=words, stumbled=stumbled)
