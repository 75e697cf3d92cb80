"""What a graded course holds, in what matters: two runs are the same if these are equal."""

import sqlite3
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import sqlalchemy

GRADES = """
SELECT a.name, s.student_id, n.name, c.name, g.auto_score, g.manual_score, g.extra_credit,
       g.needs_manual_grade
FROM grade g JOIN base_cell c ON c.id = g.cell_id
JOIN submitted_notebook sn ON sn.id = g.notebook_id JOIN notebook n ON n.id = sn.notebook_id
JOIN submitted_assignment s ON s.id = sn.assignment_id JOIN assignment a ON a.id = s.assignment_id
"""
COMMENTS = """
SELECT a.name, s.student_id, n.name, c.name, m.auto_comment, m.manual_comment
FROM comment m JOIN base_cell c ON c.id = m.cell_id
JOIN submitted_notebook sn ON sn.id = m.notebook_id JOIN notebook n ON n.id = sn.notebook_id
JOIN submitted_assignment s ON s.id = sn.assignment_id JOIN assignment a ON a.id = s.assignment_id
"""
SUBMISSIONS = """
SELECT a.name, s.student_id, s.timestamp, s.extension, n.name, sn.flagged,
       sn.late_submission_penalty
FROM submitted_notebook sn JOIN notebook n ON n.id = sn.notebook_id
JOIN submitted_assignment s ON s.id = sn.assignment_id JOIN assignment a ON a.id = s.assignment_id
"""
STUDENTS = "SELECT id, first_name, last_name, email, lms_user_id FROM student"
STATE = "SELECT * FROM byhand_graded"


def gradebook(course: Path, ours: bool = False) -> dict[str, list[tuple]]:
    """Everything in the gradebook but the random ids of its rows; with our own table or without."""
    queries = {"grades": GRADES, "comments": COMMENTS, "submissions": SUBMISSIONS}
    queries |= {"students": STUDENTS} | ({"state": STATE} if ours else {})
    with closing(sqlite3.connect(course / "gradebook.db")) as book:
        return {name: sorted(book.execute(query), key=repr) for name, query in queries.items()}


def gradebook_at(db_url: str, ours: bool = False) -> dict[str, list[tuple]]:
    """The same, of a gradebook in any database, written as SQLite has it."""
    queries = {"grades": GRADES, "comments": COMMENTS, "submissions": SUBMISSIONS}
    queries |= {"students": STUDENTS} | ({"state": STATE} if ours else {})
    engine = sqlalchemy.create_engine(db_url)
    try:
        with engine.connect() as book:
            return {
                name: sorted(
                    (tuple(map(_as_sqlite, row)) for row in book.execute(sqlalchemy.text(query))),
                    key=repr,
                )
                for name, query in queries.items()
            }
    finally:
        engine.dispose()


def _as_sqlite(value: object) -> object:
    """A value as nbgrader stores it in SQLite, which has no truth values, moments or intervals."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, timedelta):
        value = datetime(1970, 1, 1) + value
    return f"{value:%Y-%m-%d %H:%M:%S.%f}" if isinstance(value, datetime) else value


def autograded(course: Path) -> dict[str, str]:
    """The text of every autograded notebook."""
    folder = course / "autograded"
    return {
        str(path.relative_to(folder)): path.read_text("utf-8")
        for path in sorted(folder.rglob("*.ipynb"))
    }
