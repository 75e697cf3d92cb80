"""What an attack is, and what is looked at to see whether it got through."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from byhand_course.grading.engine import Engine

    from .world import World

ZEROS = "def softmax(scores, axis=-1):\n    return np.zeros(np.shape(scores))"


@dataclass(frozen=True)
class Sight:
    """What a run left to be seen.

    Attributes:
        world: with its secrets, sockets and victims.
        said: all that the attacker's cells brought out, as one text.
        printed: what of it was printed; a traceback quotes the attacker's own text.
        states: of each of the attacker's own cells: its failure, or whether it ran well.
        score: what the attacked exercise, softmax, earned; 0 to 3.
        verdicts: all words of the verdicts, as one text.
        later: the same of an accomplice, whose notebook ran afterwards.
        seconds: how long it all took.
        grown_mb: by how much the grader's own memory grew.
        extra: what a run of another kind has to show.
    """

    world: "World"
    said: str = ""
    printed: str = ""
    states: tuple[str | bool, ...] = ()
    score: float = 0.0
    verdicts: str = ""
    later: "Sight | None" = None
    seconds: float = 0.0
    grown_mb: float = 0.0
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Attack:
    """One attack.

    Attributes:
        name: unique, in words.
        tries: what it tries, as a verb with its object.
        seen: how its failing, or its success, is observed.
        through: whether it got through, from what is seen.
        cells: sources that are run after the honest answers; `KNOWN` holds what the attacker knows.
        softmax: what stands in place of the honest softmax, or nothing.
        later: cells of an accomplice, handed in by another student.
        later_softmax: what the accomplice has in place of softmax.
        bare: what "without protection" means: "no walls" (the same engine without sandbox and
            limits), "tests inside" (hidden tests run in the learner's own process, as nbgrader's
            do), "nbgrader's page", or another way that the attack brings along in `run_bare`.
        test: the hidden test cell that "tests inside" ends with, if not the usual one.
        fails_bare: why it does not get through even so; then `live` says that it was tried at all.
        live: whether it was really tried, from what is seen without protection.
        forges: whether it is after points; then its test must find an honest zero wrong.
        spoils_itself: whether its own notebook's honest answers may suffer.
        graded: whether anything is graded in it; pages and terminals come after.
        run: how it is run, if not as cells of a notebook.
        run_bare: the same without protection.
    """

    name: str
    tries: str
    seen: str
    through: Callable[[Sight], bool]
    cells: tuple[str, ...] = ()
    softmax: str = ""
    later: tuple[str, ...] = ()
    later_softmax: str = ""
    bare: str = "no walls"
    test: str = ""
    fails_bare: str = ""
    live: Callable[[Sight], bool] | None = None
    forges: bool = False
    spoils_itself: bool = False
    graded: bool = True
    run: Callable[["World", "Engine"], Sight] | None = None
    run_bare: Callable[["World", "Engine"], Sight] | None = None


@dataclass(frozen=True)
class Room:
    """A kind of attack, with all attacks of the kind."""

    title: str
    attacks: tuple[Attack, ...]
