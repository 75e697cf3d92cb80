"""The gradebook's database, whichever it is: SQLite as nbgrader has it, or PostgreSQL."""

from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa

LOCK_TIMEOUT_S = 10.0
MAKING_TABLES = 0x62_79_68_61_6E_64  # a number that no other program locks: "byhand"


def opened(db_url: str) -> sa.Engine:
    """A database, by its address as SQLAlchemy writes it; no wait for a lock in it is endless."""
    waits = {
        "sqlite": {"timeout": LOCK_TIMEOUT_S},
        "postgresql": {"options": f"-c lock_timeout={LOCK_TIMEOUT_S * 1000:.0f}"},
    }
    kind = sa.engine.make_url(db_url).get_backend_name()
    return sa.create_engine(db_url, connect_args=waits.get(kind, {}))


@contextmanager
def making_tables(engine: sa.Engine) -> Iterator[sa.Connection]:
    """A transaction in which tables are made where there are none, by one program at a time.

    PostgreSQL lets two programs look for a table at once, and refuses the second one's.
    """
    with engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            lock = sa.text("SELECT pg_advisory_xact_lock(:number)")
            connection.execute(lock, {"number": MAKING_TABLES})
        yield connection
