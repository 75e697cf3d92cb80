"""Every attack fails, and the honest answers beside it get full marks; docs/attacks.md says so.

`make attacks` tries each of them without protection too, and writes that page.
"""

import re
from collections.abc import Iterator

import pytest
from grading.attacks.__main__ import NOT_GRADED, PAGE, ROOMS
from grading.attacks.attack import Attack
from grading.attacks.trying import QUICK, full_marks, try_with_walls
from grading.attacks.world import World

from byhand_course.grading.engine import Engine

ATTACKS = [attack for room in ROOMS for attack in room.attacks]


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    """Something to attack."""
    with World() as world:
        yield world


@pytest.fixture(scope="module")
def engine(world: World) -> Iterator[Engine]:
    """One engine for all, which no attack may spoil for the next."""
    with Engine(QUICK) as engine:
        assert full_marks(engine, world)
        yield engine


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_attack_fails(engine: Engine, world: World, attack: Attack) -> None:
    """It does not get through; honest answers in its notebook and in the next get full marks."""
    tried = try_with_walls(engine, world, attack)
    assert not tried.through, tried.sight.said[-1000:]
    assert tried.beside
    assert tried.same or attack.spoils_itself


def test_names_are_unique() -> None:
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS) >= 60


def test_the_page_is_current() -> None:
    """docs/attacks.md has a line for each attack and no other, and says that all of them failed."""
    rows = re.findall(r"^\| (?!attack|--)(.*) \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    cells = [row.split(" | ") for row in rows]
    escaped = [(a.name, a.tries, a.seen) for a in ATTACKS]
    assert [tuple(row[:3]) for row in cells] == [
        tuple(text.replace("<", "&lt;") for text in found) for found in escaped
    ]
    assert all(row[4] == "failed" for row in cells)
    assert all(row[5].startswith(("full marks", NOT_GRADED)) for row in cells)
