"""What is said of an answer: passed or not, part by part, with evidence, a cause and a question."""

from dataclasses import dataclass

from .table import Line


@dataclass(frozen=True)
class Evidence:
    """One place where an answer differs: its name with an index, and both values as text."""

    place: str
    yours: str
    expected: str


@dataclass(frozen=True)
class Verdict:
    """A judged answer.

    Attributes:
        exercise: its name.
        function: the function or variable that was judged.
        stage: the first thing that was wrong ("missing", "raises", "type", "shape", "dtype",
            "finite", "input", "value"), "unjudged" if the grader could not judge, or None.
        parts: for each part of the answer, whether it is right.
        score, points: what it earned, and what it could have.
        headline: what was found, in one sentence.
        evidence: the smallest that tells, or nothing.
        table: for an answer of many arrays, a line for each.
        given: the arguments it was seen on, where they are short enough to read; otherwise "".
        cause: why, where that is known; otherwise "".
        question: what to ask oneself next; "" when passed.
        mistake, relation: the name of the known mistake or general relation, or None.
    """

    exercise: str
    function: str
    stage: str | None
    parts: dict[str, bool]
    score: float
    points: float
    headline: str
    evidence: tuple[Evidence, ...] = ()
    table: tuple[Line, ...] = ()
    given: str = ""
    cause: str = ""
    question: str = ""
    mistake: str | None = None
    relation: str | None = None

    @property
    def passed(self) -> bool:
        """Whether all of it is right."""
        return self.stage is None
