"""Try every attack, without protection and with it: `make attacks`.

Prints one line each, and writes the table in docs/attacks.md. Exit status 1 if anything got through
that should not have, or if an honest notebook beside an attack lost a point.
"""

import sys
import time
from dataclasses import dataclass

from byhand_course.grading.engine import Engine
from byhand_course.grading.sandbox import Sandbox

from . import forging, handing_in, harming, reaching, stealing
from .attack import Attack, Room
from .trying import LIFTED, QUICK, Tried, full_marks, try_bare, try_with_walls
from .world import ROOT, World

ROOMS: tuple[Room, ...] = (
    forging.ROOM,
    stealing.ROOM,
    harming.ROOM,
    handing_in.ROOM,
    reaching.ROOM,
)
PAGE = ROOT / "docs/attacks.md"
THROUGH, FAILED, KEPT = "got through", "failed", "full marks"
NOT_GRADED = "graded before"


@dataclass(frozen=True)
class Line:
    """What came of one attack.

    Attributes:
        attack: which.
        bare, walled: without protection and with it.
    """

    attack: Attack
    bare: Tried
    walled: Tried

    @property
    def without(self) -> str:
        """The words of the column "without protection"."""
        where = f"{self.attack.bare}: "
        if self.bare.through:
            return where + THROUGH
        if not self.attack.fails_bare:
            return where + "did not get through"
        tried = "tried, and failed" if self.live else FAILED
        return f"{where}{tried}; {self.attack.fails_bare}"

    @property
    def live(self) -> bool:
        """Whether it was seen to be tried in earnest."""
        seen = self.attack.live
        return self.bare.through or (
            seen is not None and (seen(self.bare.sight) or seen(self.walled.sight))
        )

    @property
    def honest(self) -> str:
        """The words of the column "honest answers"."""
        if not self.attack.graded:
            return NOT_GRADED
        if not self.walled.beside:
            return "lost points beside it"
        if self.walled.same:
            return KEPT
        return f"{KEPT} beside it" if self.attack.spoils_itself else "lost points in its notebook"

    @property
    def fine(self) -> bool:
        """Whether it is as it should be."""
        kept = self.honest == NOT_GRADED or KEPT in self.honest
        return self.live and not self.walled.through and kept


def main() -> None:
    """Try them all, print, and write the page."""
    began, lines = time.monotonic(), []
    with World() as world, Engine(QUICK) as engine, Engine(LIFTED, Sandbox.NONE) as bare:
        full_marks(engine, world)
        for room in ROOMS:
            print(f"\n{room.title}")
            for attack in room.attacks:
                line = Line(
                    attack, try_bare(bare, world, attack), try_with_walls(engine, world, attack)
                )
                lines.append(line)
                with_walls = THROUGH if line.walled.through else FAILED
                mark = "✓" if line.fine else "✗"
                print(
                    f"{mark} {attack.name}: {line.without} | with walls: {with_walls} | "
                    f"{line.honest}",
                    flush=True,
                )
        weaker = with_landlock(world)
    print(f"\nThrough the weaker sandbox, landlock: {', '.join(weaker) or 'none'}")
    bad = [line for line in lines if not line.fine]
    taken = time.monotonic() - began
    print(f"\n{len(lines)} attacks, {len(bad)} not as they should be, {taken:.0f} s")
    if not bad:
        PAGE.write_text(page(lines, weaker), encoding="utf-8")
        print(f"Written: {PAGE.relative_to(ROOT)}")
    sys.exit(bool(bad))


def with_landlock(world: World) -> list[str]:
    """Names of the attacks in a notebook that get through the weaker sandbox."""
    attacks = [one for room in ROOMS for one in room.attacks if one.run is None]
    with Engine(QUICK, Sandbox.LANDLOCK) as engine:
        return [one.name for one in attacks if try_with_walls(engine, world, one).through]


INTRODUCTION = """\
# Attacks

Written by `make attacks`, which tries every attack below twice: with the protection taken away, and
as grading really runs. `make test` tries them all again with the protection on.

Each attack is tried in a small world made for it: a course with a gradebook and other learners'
submissions, listening sockets, a process of the instructor's. Everything worth stealing holds a
secret, every file can be written by everybody, and the attacker knows all paths, ids and addresses,
so that only the walls are in the way. "Full marks" says that the honest answers in the attacker's
own notebook, and an honest student's notebook after it, still got every point; pages and what is
printed come after grading.

"Without protection" means, as the column says: **no walls**, the same engine with no sandbox and
its limits lifted; **tests inside**, hidden tests as the last cell of the learner's own notebook,
scored as nbgrader scores them; **nbgrader's page**, its own feedback page; or what else is named.
Submissions that are not what they seem are graded as one class, by the instructor's own command.
Some attacks fail even so; then the column says why, and they were seen to be tried. The page was
written by root on Linux, who may most: an ordinary user without walls is a little safer.

What is left: a verdict names the kinds of input on which an answer was wrong. Whoever gives up an
exercise can learn a few bits about hidden inputs in that way, once. Several processes of one
notebook may together use more memory than one may, unless a control group bounds them. A fault in
the Linux kernel itself would open both walls.
"""


def page(lines: list[Line], weaker: list[str]) -> str:
    """The page for the docs, as Markdown.

    Args:
        lines: what came of each attack.
        weaker: names of those that get through the weaker sandbox.
    """
    counted = sum(line.bare.through for line in lines)
    text = [
        INTRODUCTION,
        f"{len(lines)} attacks: {counted} get through without protection, and none with it.\n",
        "The weaker sandbox, `landlock`, is for where bubblewrap cannot run. Through it get: "
        f"{', '.join(weaker) or 'none'}.",
    ]
    for room in ROOMS:
        inside = [line for line in lines if line.attack in room.attacks]
        text += [
            f"\n## {room.title}\n",
            "| attack | tries | seen by | without protection | with it | honest answers |",
            "|---|---|---|---|---|---|",
        ]
        text += [
            f"| {line.attack.name} | {line.attack.tries} | {line.attack.seen} | {line.without} | "
            f"{FAILED} | {line.honest} |".replace("<", "&lt;")
            for line in inside
        ]
    return "\n".join(text) + "\n"


if __name__ == "__main__":
    main()
