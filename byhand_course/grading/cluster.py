"""Workers on other machines: a cluster of dask.distributed, behind the executor's interface.

A job carries the learner's file and all else that marking needs as bytes, and what comes back
carries the autograded notebook, so the machines share no disk. What they must share is the course:
a worker that has another edition of it would give other grades, and is refused.
"""

import logging
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from byhand_course.errors import Refused

from .edition import engine_edition
from .marking import Marked

if TYPE_CHECKING:
    from distributed import Client

CONNECT_TIMEOUT_S = 10.0
INSTALL = "Dask is not installed here: pip install 'byhand-course[dask]'"


class Cluster(Executor):
    """A cluster that marks, by one connection to its scheduler.

    Args:
        address: of the scheduler, "tcp://host:port" or "tls://host:port".

    Raises:
        Refused: if it cannot be used; the sentence says what to do.
    """

    def __init__(self, address: str) -> None:
        self._client = _connected(address)
        try:
            _ensure_same_course(self._client, address)
        except BaseException:
            self._client.close()
            raise
        self._executor = self._client.get_executor(pure=False)

    @property
    def threads(self) -> int:
        """How many notebooks it marks at once."""
        return sum(self._client.nthreads().values())

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        """Hand a call to some worker; if that one dies, the scheduler hands it to another."""
        answer: Future = Future()
        try:
            asked = self._executor.submit(fn, *args, **kwargs)
        except Exception as error:  # the connection is closed
            raise BrokenExecutor(str(error)) from None
        asked.add_done_callback(partial(_pass_on, answer))
        return answer

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leave the cluster, which goes on without this grader."""
        with suppress(Exception):  # it may have left us before
            self._client.close()


def cluster(address: str) -> tuple[Callable[[], Executor], int]:
    """What connects to a cluster, and how many jobs to have under way, so that no worker waits.

    Raises:
        Refused: if the cluster cannot be used.
    """
    with Cluster(address) as found:
        return partial(Cluster, address), 2 * found.threads


def _connected(address: str) -> "Client":
    try:
        from distributed import Client
    except ImportError:
        raise Refused(INSTALL) from None
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what matters is said below
    try:
        return Client(address, timeout=CONNECT_TIMEOUT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise Refused(f"No dask scheduler answers at {address}: {why}. Is it running?") from None


def _ensure_same_course(client: "Client", address: str) -> None:
    """Refuse a cluster without workers, or with a worker that would mark differently."""
    try:
        editions = client.run(engine_edition, on_error="return")
    except OSError as error:
        raise Refused(f"The scheduler at {address} went away: {error}.") from None
    if not editions:
        raise Refused(
            f"The scheduler at {address} has no workers. Start one on each machine: "
            f"dask worker {address} --nthreads 1 --nworkers PROCESSORS"
        )
    for worker, edition in editions.items():
        if isinstance(edition, Exception):
            raise Refused(f"The worker {worker} cannot load the course: {edition}.")
        if edition != engine_edition():
            raise Refused(
                f"The worker {worker} has another edition of the course than this grader: install "
                "the same on both, and start the worker again."
            )


def _pass_on(answer: "Future[Marked]", asked: "Future[Marked]") -> None:
    """Give on what a worker answered; a job that the cluster has lost counts as a broken pool.

    The cluster gives a job up when several workers have died with it in hand, or when its scheduler
    is gone.
    """
    if asked.cancelled():
        answer.set_exception(BrokenExecutor("the cluster let go of it"))
        return
    error = asked.exception()
    if error is None:
        answer.set_result(asked.result())
    elif type(error).__name__ == "KilledWorker":
        answer.set_exception(BrokenExecutor(str(error)))
    else:
        answer.set_exception(error)
