"""The hidden seed of each assignment: drawn once, the instructor's own, kept in the gradebook."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy

from .database import making_tables, opened

TABLE = sqlalchemy.Table(
    "byhand_hidden_seed",
    sqlalchemy.MetaData(),
    sqlalchemy.Column("assignment", sqlalchemy.String(128), primary_key=True),
    sqlalchemy.Column("seed", sqlalchemy.String(40), nullable=False),
)


def hidden_seed(db_url: str, assignment: str) -> int:
    """The seed of an assignment's hidden questions; drawn from the system if there is none yet."""
    with _table(db_url) as connection:
        found = _read(connection, assignment)
        if found is None:
            # Another grader may draw at the same moment: the first one counts for both.
            connection.execute(
                sqlalchemy.text(
                    "INSERT INTO byhand_hidden_seed (assignment, seed) VALUES (:a, :s) "
                    "ON CONFLICT DO NOTHING"
                ),
                {"a": assignment, "s": str(secrets.randbits(96))},
            )
            found = _read(connection, assignment)
    assert found is not None
    return int(found)


def set_hidden_seed(db_url: str, assignment: str, seed: int) -> None:
    """Take the instructor's own seed, for instance to reproduce grades on another machine."""
    with _table(db_url) as connection:
        connection.execute(TABLE.delete().where(TABLE.c.assignment == assignment))
        connection.execute(TABLE.insert().values(assignment=assignment, seed=str(seed)))


@contextmanager
def _table(db_url: str) -> Iterator[sqlalchemy.Connection]:
    """A transaction in a gradebook that has the table."""
    engine = opened(db_url)
    try:
        with making_tables(engine) as connection:
            TABLE.metadata.create_all(connection)
        with engine.begin() as connection:
            yield connection
    finally:
        engine.dispose()


def _read(connection: sqlalchemy.Connection, assignment: str) -> str | None:
    return connection.execute(
        sqlalchemy.select(TABLE.c.seed).where(TABLE.c.assignment == assignment)
    ).scalar()
