"""nbgrader's gradebook, read and written in whole submissions.

The tables are nbgrader's own, as they stand in the course's database; one table of ours beside them
says which file of which edition each grade comes from. A submission is written in one transaction
with its lines in that table, so a grader that is killed has graded it or has not. Scores and
comments that a person gave are never touched.
"""

import json
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from byhand_course.errors import Refused

from .database import making_tables, opened
from .marking import Marked

LatePenalty = Callable[[str, float, float], float | None]  # of student, score, seconds late
EPOCH = datetime(1970, 1, 1)
NO_RESPONSE = "No response."  # nbgrader's words for an answer that nobody filled in
OURS = sa.MetaData()
STATE = sa.Table(
    "byhand_graded",
    OURS,
    sa.Column("assignment", sa.String(128), primary_key=True),
    sa.Column("student", sa.String(128), primary_key=True),
    sa.Column("notebook", sa.String(128), primary_key=True),
    sa.Column("handed_in", sa.String(32), nullable=False),
    sa.Column("edition", sa.String(32), nullable=False),
    sa.Column("remarks", sa.Text, nullable=False),
)
THEIRS = (
    "assignment",
    "notebook",
    "base_cell",
    "grade_cells",
    "solution_cells",
    "source_cell",
    "student",
    "submitted_assignment",
    "submitted_notebook",
    "grade",
    "comment",
)
# nbgrader looks rows up by these columns without an index: each submission takes longer to find.
UNINDEXED = {
    "grade": "notebook_id",
    "comment": "notebook_id",
    "submitted_notebook": "assignment_id",
}


@dataclass(frozen=True)
class Graded:
    """One submission as the gradebook has it, and what came of grading it now.

    Attributes:
        student: as the folder below submitted/ is called.
        notebooks: points by notebook.
        score, max_score: of the whole assignment.
        waiting: points of answers that wait for a reader.
        marked: how many notebooks were marked in this run; the others had not changed.
        remarks: what had to be repaired or was left aside.
        failure: what could not be judged, and why; or None.
    """

    student: str
    notebooks: dict[str, float]
    score: float = 0.0
    max_score: float = 0.0
    waiting: float = 0.0
    marked: int = 0
    remarks: tuple[str, ...] = ()
    failure: str | None = None


@dataclass(frozen=True)
class Settled:
    """Where a grade comes from: the file and the edition, and what was said of the file."""

    handed_in: str
    edition: str
    remarks: tuple[str, ...]


@dataclass(frozen=True)
class _Cells:
    """The rows of a released notebook: its id, and its cells' ids and points by their names."""

    id: str
    graded: dict[str, tuple[str, float]]
    answers: dict[str, str]


class Book:
    """The gradebook, opened for one assignment. One at a time may write.

    Args:
        db_url: as SQLAlchemy writes it.
        assignment: its name; it must have been entered.
    """

    def __init__(self, db_url: str, assignment: str) -> None:
        self._name = sa.engine.make_url(db_url).render_as_string(hide_password=True)
        self._assignment = assignment
        self._engine = opened(db_url)
        with self._spoken():
            theirs = sa.MetaData()
            theirs.reflect(self._engine, only=lambda name, _: name in THEIRS)
            self._tables = theirs.tables
            with making_tables(self._engine) as connection:
                OURS.create_all(connection)
                for table, column in UNINDEXED.items():
                    place = self._tables[table].c[column]
                    sa.Index(f"byhand_{table}", place).create(connection, checkfirst=True)
            with self._engine.connect() as connection:
                self._read_assignment(connection)

    def __enter__(self) -> "Book":
        return self

    def __exit__(self, *_: object) -> None:
        self._engine.dispose()

    @property
    def notebooks(self) -> list[str]:
        """The names of the assignment's notebooks."""
        return sorted(self._cells)

    def checksums(self) -> dict[str, str]:
        """nbgrader's checksum of each released cell that has a name of its own."""
        cells = self._tables["source_cell"]
        ids = [found.id for found in self._cells.values()]
        query = sa.select(cells.c.name, cells.c.checksum).where(cells.c.notebook_id.in_(ids))
        with self._spoken(), self._engine.connect() as connection:
            return {row.name: row.checksum for row in connection.execute(query)}

    def settled(self, student: str) -> dict[str, Settled]:
        """Where a student's grades come from, by notebook."""
        query = sa.select(STATE).where(
            STATE.c.assignment == self._assignment, STATE.c.student == student
        )
        with self._spoken(), self._engine.connect() as connection:
            return {
                row.notebook: Settled(row.handed_in, row.edition, tuple(json.loads(row.remarks)))
                for row in connection.execute(query)
            }

    def write(
        self,
        student: str,
        marked: Mapping[str, tuple[Marked, Settled]],
        missing: Sequence[str] = (),
        timestamp: datetime | None = None,
        late_penalty: LatePenalty | None = None,
        publish: Callable[[], None] = lambda: None,
    ) -> None:
        """Enter a submission, all of it or nothing.

        Args:
            student: its owner, entered too if need be.
            marked: what came of each notebook, and where it comes from.
            missing: notebooks that were not handed in, and earn nothing.
            timestamp: when it was handed in, in UTC.
            late_penalty: what being late costs.
            publish: called when all is entered, just before it counts.

        Raises:
            Refused: if the gradebook cannot be written; then it is as it was.
        """
        with self._spoken(), self._engine.begin() as connection:
            late_s = self._enter_submission(connection, student, timestamp)
            for notebook, (found, settled) in marked.items():
                self._write_grades(connection, notebook, found.scores)
                self._write_comments(connection, notebook, found.untouched)
                self._write_penalty(connection, notebook, student, late_s, late_penalty)
                self._settle(connection, student, notebook, settled)
            for notebook in missing:
                self._write_nothing_earned(connection, notebook)
                self._settle(connection, student, notebook, None)
            publish()

    def results(self, student: str | None = None) -> Iterator[Graded]:
        """What the gradebook says of every submission, or of one, in the order of their names."""
        query, given = (self._all, {}) if student is None else (self._one, {"student": student})
        with self._spoken(), self._engine.connect() as connection:
            rows: list[sa.Row] = []
            for row in connection.execution_options(yield_per=1000).execute(query, given):
                if rows and rows[0].student != row.student:
                    yield self._result(rows)
                    rows = []
                rows.append(row)
            if rows:
                yield self._result(rows)

    def _points_query(self) -> sa.Select:
        """Points by student and notebook, and those of answers that nobody has read yet."""
        t = self._tables
        grade, cell = t["grade"].c, t["grade_cells"].c
        points = sa.func.coalesce(grade.manual_score, grade.auto_score, 0.0)
        unread = sa.and_(grade.needs_manual_grade, grade.manual_score.is_(None))
        return (
            sa.select(
                t["submitted_assignment"].c.student_id.label("student"),
                t["notebook"].c.name.label("notebook"),
                sa.func.sum(points + sa.func.coalesce(grade.extra_credit, 0.0)).label("score"),
                sa.func.sum(sa.case((unread, cell.max_score), else_=0.0)).label("waiting"),
            )
            .select_from(
                t["submitted_assignment"]
                .join(
                    t["submitted_notebook"],
                    t["submitted_notebook"].c.assignment_id == t["submitted_assignment"].c.id,
                )
                .join(t["notebook"], t["notebook"].c.id == t["submitted_notebook"].c.notebook_id)
                .join(t["grade"], grade.notebook_id == t["submitted_notebook"].c.id)
                .join(t["grade_cells"], cell.id == grade.cell_id)
            )
            .where(t["submitted_assignment"].c.assignment_id == self._id)
            .group_by("student", "notebook")
            .order_by("student", "notebook")
        )

    def _result(self, rows: list[sa.Row]) -> Graded:
        return Graded(
            student=rows[0].student,
            notebooks={row.notebook: row.score for row in rows},
            score=sum(row.score for row in rows),
            max_score=self._max_score,
            waiting=sum(row.waiting for row in rows),
        )

    def _read_assignment(self, connection: Connection) -> None:
        t = self._tables
        query = sa.select(t["assignment"]).where(t["assignment"].c.name == self._assignment)
        found = connection.execute(query).one()
        self._id, self._due = found.id, found.duedate
        self._cells: dict[str, _Cells] = {}
        notebooks = sa.select(t["notebook"]).where(t["notebook"].c.assignment_id == self._id)
        for notebook in connection.execute(notebooks).all():
            base, graded, answers = (
                t[name] for name in ("base_cell", "grade_cells", "solution_cells")
            )
            in_it = base.c.notebook_id == notebook.id
            points = sa.select(base.c.name, base.c.id, graded.c.max_score).join(
                graded, graded.c.id == base.c.id
            )
            filled = sa.select(base.c.name, base.c.id).join(answers, answers.c.id == base.c.id)
            self._cells[notebook.name] = _Cells(
                notebook.id,
                {r.name: (r.id, r.max_score) for r in connection.execute(points.where(in_it))},
                {r.name: r.id for r in connection.execute(filled.where(in_it))},
            )
        self._max_score = sum(
            points for cells in self._cells.values() for _, points in cells.graded.values()
        )
        self._all = self._points_query()
        by_student = t["submitted_assignment"].c.student_id == sa.bindparam("student")
        self._one = self._all.where(by_student)
        self._rows: dict[str, str] = {}  # the submission at hand: its notebooks' rows, by name

    def _enter_submission(
        self, connection: Connection, student: str, timestamp: datetime | None
    ) -> float:
        """Make the rows of a submission if there are none, and say how many seconds late it is."""
        t = self._tables
        # Another grader, of another assignment, may enter the same student at the same moment.
        entering = sa.text("INSERT INTO student (id) VALUES (:id) ON CONFLICT DO NOTHING")
        connection.execute(entering, {"id": student})
        submissions = t["submitted_assignment"]
        mine = sa.and_(submissions.c.assignment_id == self._id, submissions.c.student_id == student)
        found = connection.execute(sa.select(submissions).where(mine)).first()
        if found is None:
            submission = _new_id()
            connection.execute(
                submissions.insert().values(
                    id=submission, assignment_id=self._id, student_id=student, timestamp=timestamp
                )
            )
        else:
            submission = found.id
            if timestamp is not None:
                connection.execute(submissions.update().where(mine).values(timestamp=timestamp))
            else:
                timestamp = found.timestamp
        self._enter_notebooks(connection, submission)
        if timestamp is None or self._due is None:
            return 0.0
        due = self._due + _as_interval(found.extension if found else None)
        return max(0.0, (timestamp - due).total_seconds())

    def _enter_notebooks(self, connection: Connection, submission: str) -> None:
        """Make the rows of a submission's notebooks, grades and comments, where there are none."""
        t = self._tables
        rows = t["submitted_notebook"]
        query = sa.select(rows.c.notebook_id, rows.c.id).where(rows.c.assignment_id == submission)
        there = {row.notebook_id: row.id for row in connection.execute(query)}
        new = [
            {"id": _new_id(), "assignment_id": submission, "notebook_id": c.id, "flagged": False}
            for c in self._cells.values()
            if c.id not in there
        ]
        if new:
            connection.execute(rows.insert(), new)
            there |= {row["notebook_id"]: row["id"] for row in new}
        self._rows = {name: there[cells.id] for name, cells in self._cells.items()}
        graded = {
            (self._rows[name], cell): {"needs_manual_grade": True}
            for name, cells in self._cells.items()
            for cell, _ in cells.graded.values()
        }
        answers: dict[tuple[str, str], dict] = {
            (self._rows[name], cell): {}
            for name, cells in self._cells.items()
            for cell in cells.answers.values()
        }
        for table, wanted in ((t["grade"], graded), (t["comment"], answers)):
            query = sa.select(table.c.notebook_id, table.c.cell_id).where(
                table.c.notebook_id.in_(self._rows.values())
            )
            known = {tuple(row) for row in connection.execute(query)}
            lacking = [
                {"id": _new_id(), "notebook_id": notebook, "cell_id": cell, **more}
                for (notebook, cell), more in wanted.items()
                if (notebook, cell) not in known
            ]
            if lacking:
                connection.execute(table.insert(), lacking)

    def _write_grades(
        self, connection: Connection, notebook: str, scores: Mapping[str, float | None]
    ) -> None:
        """Set the automatic scores; a cell with a score by hand waits for another look."""
        grade = self._tables["grade"]
        mine = grade.c.notebook_id == self._rows[notebook]
        query = sa.select(grade.c.cell_id).where(mine, grade.c.manual_score.is_not(None))
        by_hand = {row.cell_id for row in connection.execute(query)}
        cells = self._cells[notebook].graded
        rows = [
            {"cell": cell, "score": scores[name], "waits": scores[name] is None or cell in by_hand}
            for name, (cell, _) in cells.items()
        ]
        setting = grade.update().where(mine, grade.c.cell_id == sa.bindparam("cell"))
        values: dict[str, sa.BindParameter] = {
            "auto_score": sa.bindparam("score"),
            "needs_manual_grade": sa.bindparam("waits"),
        }
        connection.execute(setting.values(**values), rows)

    def _write_nothing_earned(self, connection: Connection, notebook: str) -> None:
        """Score a notebook that was not handed in, as nbgrader does."""
        grade = self._tables["grade"]
        mine = grade.c.notebook_id == self._rows[notebook]
        setting = grade.update().where(mine)
        connection.execute(setting.values(auto_score=0.0, needs_manual_grade=False))

    def _write_comments(
        self, connection: Connection, notebook: str, untouched: frozenset[str]
    ) -> None:
        comment = self._tables["comment"]
        rows = [
            {"cell": cell, "text": NO_RESPONSE if name in untouched else None}
            for name, cell in self._cells[notebook].answers.items()
        ]
        mine = comment.c.notebook_id == self._rows[notebook]
        setting = comment.update().where(mine, comment.c.cell_id == sa.bindparam("cell"))
        connection.execute(setting.values(auto_comment=sa.bindparam("text")), rows)

    def _write_penalty(
        self,
        connection: Connection,
        notebook: str,
        student: str,
        late_s: float,
        late_penalty: LatePenalty | None,
    ) -> None:
        penalty: float | None = None
        if late_s > 0 and late_penalty is not None:
            grade = self._tables["grade"].c
            points = sa.func.coalesce(grade.manual_score, grade.auto_score, 0.0)
            query = sa.select(
                sa.func.coalesce(sa.func.sum(points + sa.func.coalesce(grade.extra_credit, 0.0)), 0)
            ).where(grade.notebook_id == self._rows[notebook])
            score = connection.execute(query).scalar_one()
            penalty = late_penalty(student, score, late_s)
            penalty = None if penalty is None else min(max(penalty, 0.0), score)
        rows = self._tables["submitted_notebook"]
        mine = rows.c.id == self._rows[notebook]
        connection.execute(rows.update().where(mine).values(late_submission_penalty=penalty))

    def _settle(
        self, connection: Connection, student: str, notebook: str, settled: Settled | None
    ) -> None:
        key = {"assignment": self._assignment, "student": student, "notebook": notebook}
        mine = (STATE.c[name] == value for name, value in key.items())
        connection.execute(STATE.delete().where(*mine))
        if settled is not None:
            told = {"handed_in": settled.handed_in, "edition": settled.edition}
            remarks = json.dumps(settled.remarks, ensure_ascii=False)
            connection.execute(STATE.insert().values(**key, **told, remarks=remarks))

    @contextmanager
    def _spoken(self) -> Iterator[None]:
        """Turn the database's errors into one sentence each."""
        try:
            yield
        except sa.exc.NoResultFound:
            raise Refused(f"The gradebook has no assignment {self._assignment!r}.") from None
        except sa.exc.DBAPIError as error:
            raise Refused(f"{_why(error, self._name)} What was graded before is kept.") from error


def _why(error: sa.exc.DBAPIError, name: str) -> str:
    """A sentence for what went wrong with the gradebook, and what to do."""
    words = str(error.orig)
    if "locked" in words or "lock timeout" in words:
        return (
            f"The gradebook {name} is locked by another program: close it (Formgrader, or a "
            "database browser), and start again."
        )
    if "readonly" in words or "read-only" in words or "unable to open" in words:
        return f"The gradebook {name} cannot be written: make it and its folder writable."
    if "full" in words or "No space left" in words or "disk I/O" in words:
        return f"The disk with the gradebook {name} is full or failing: make room, and start again."
    if "malformed" in words or "not a database" in words:
        return f"The gradebook {name} is damaged: put back a copy of it."
    return f"The gradebook {name} cannot be used: {words.splitlines()[0] if words else error}."


def _new_id() -> str:
    return uuid.uuid4().hex  # as nbgrader makes them


def _as_interval(extension: object) -> timedelta:
    """An extension as nbgrader stores it: where there are no intervals, a moment after 1970."""
    if isinstance(extension, datetime):
        return extension - EPOCH
    return extension if isinstance(extension, timedelta) else timedelta()
