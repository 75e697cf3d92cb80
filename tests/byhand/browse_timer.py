"""The timer's script, played in Node.js on a page made of nothing; run by `make browser`."""

import re
import shutil
import subprocess

from byhand.rehearsal import SCRIPT

# The script, in a page with just enough in it: a clock that the test moves, and no browser.
STAGE = """
let now = 0, tick = null;
Date.now = () => now;
globalThis.setInterval = (call) => { tick = call; return 1; };
globalThis.clearInterval = () => { tick = null; };
const node = (more) => ({
  style: {}, dataset: {}, attributes: {}, children: [], isConnected: true, textContent: "",
  setAttribute(name, value) { this.attributes[name] = value; },
  removeAttribute(name) { delete this.attributes[name]; },
  append(...children) { this.children.push(...children); },
  before(...children) { root.children.push(...children); },
  ...more,
});
const items = [60, 90, 30].map((s, k) => node({ dataset: { seconds: s, title: "part " + k } }));
const root = node({ querySelectorAll: () => items, querySelector: () => node() });
globalThis.document = {
  createElement: () => node(),
  currentScript: { closest: () => root },
};
SCRIPT
const [bar, spoken] = root.children;
const [go, again, clock] = bar.children;
const pass = (seconds) => {
  for (let k = 0; k < seconds * 4; k++) { now += 250; if (tick) tick(); }
};
const tell = () => {
  const here = items.findIndex((item) => item.attributes["aria-current"]);
  console.log([go.textContent, clock.textContent, spoken.textContent, here].join(" | "));
};
"""


def play(lines):
    """What the timer shows each time that `tell()` is called."""
    node = shutil.which("node")
    assert node, "the timer's script is tried with Node.js: install it, as from Debian's nodejs"
    stage = STAGE.replace("SCRIPT", SCRIPT) + lines
    run = subprocess.run([node, "-e", stage], capture_output=True, text=True, timeout=30)
    assert run.returncode == 0, run.stderr
    return run.stdout.splitlines()


def test_the_timer_waits_until_it_is_started():
    """Run All starts nothing."""
    shown = play("pass(100); tell();")
    assert shown == [
        "Start | 1:00 left in this section, 3:00 left in all | Press Start, and speak aloud. | -1"
    ]


def test_the_timer_goes_through_its_sections_and_ends():
    """A section is announced when it begins, and the end once, not every second."""
    shown = play(
        """
        go.onclick(); tell();
        spoken.textContent = "heard"; pass(59); tell();
        pass(1); tell();
        pass(90); tell();
        pass(30); tell();
        pass(30); tell();
        """
    )
    assert shown == [
        "Pause | 1:00 left in this section, 3:00 left in all | Section 1 of 3: part 0 | 0",
        "Pause | 0:01 left in this section, 2:01 left in all | heard | 0",
        "Pause | 1:30 left in this section, 2:00 left in all | Section 2 of 3: part 1 | 1",
        "Pause | 0:30 left in this section, 0:30 left in all | Section 3 of 3: part 2 | 2",
        "Start again | 0:00 left in all | Time is up. What did you leave out? | -1",
        "Start again | 0:00 left in all | Time is up. What did you leave out? | -1",
    ]


def test_the_timer_pauses_restarts_and_starts_again():
    """A pause costs no time; a restart waits for its start; after the end it begins anew."""
    shown = play(
        """
        go.onclick(); pass(70); go.onclick(); pass(500); tell();
        go.onclick(); pass(5); tell();
        again.onclick(); pass(5); tell();
        go.onclick(); pass(200); go.onclick(); pass(1); tell();
        """
    )
    assert [line.split(" | ")[::3] for line in shown] == [
        ["Go on", "1"],
        ["Pause", "1"],
        ["Start", "-1"],
        ["Pause", "0"],
    ]
    left = [re.findall(r"\d:\d\d left in all", line)[0][:4] for line in shown]
    assert left == ["1:50", "1:45", "3:00", "2:59"]


def test_the_timer_goes_on_out_of_sight_and_ends_by_itself():
    """JupyterLab takes a cell out of the page while it is scrolled away."""
    shown = play(
        "go.onclick(); root.isConnected = false; pass(70); tell(); pass(120); console.log(tick);"
    )
    assert shown[0].endswith("1:50 left in all | Section 2 of 3: part 1 | 1")
    assert shown[1] == "null"
