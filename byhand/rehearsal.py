"""Rehearsing an explanation: a timer with prompts, and levels that learners give themselves.

The timer lives in the page: no kernel waits for it, and Run All goes on.
"""

from collections.abc import Mapping, Sequence
from html import escape
from math import isfinite

from .look import CELL, Page

Section = tuple[str, float, str]


def show_timer(sections: Sequence[Section]) -> Page:
    """A timer for an explanation in sections, with a prompt for each.

    It starts when its button is pressed. Where scripts may not run, the list of sections is left.

    Args:
        sections: for each, its title, its minutes, and what to say in it.

    Raises:
        ValueError: if there are no sections, or one is not of that form.
    """
    parts = [_section(place, section) for place, section in enumerate(sections)]
    if not parts:
        raise ValueError("show_timer needs at least one section: (title, minutes, prompt)")
    total = sum(minutes for _, minutes, _ in parts)
    heading = f"{_minutes(total)} in {len(parts)} section{'s' if len(parts) > 1 else ''}"
    items = "".join(
        f'<li data-seconds="{minutes * 60:g}" data-title="{escape(title)}" style="{ITEM}">'
        f"<strong>{escape(title)}</strong> ({_minutes(minutes)})"
        f"{'<br>' if prompt else ''}{escape(prompt)}</li>"
        for title, minutes, prompt in parts
    )
    html = (
        f'<section data-byhand-timer data-lm-suppress-shortcuts="true" aria-label="Rehearsal: '
        f'{heading}" style="max-width:46em"><p style="margin:0 0 .4em"><strong>{heading}</strong>'
        f'</p><ol style="margin:0;padding-left:1.6em">{items}</ol>'
        f"<script>{SCRIPT}</script></section>"
    )
    lines, begins = [heading], 0.0
    for title, minutes, prompt in parts:
        lines.append(f"{_clock(begins)}  {title} ({_minutes(minutes)})")
        lines += [f"      {prompt}"] if prompt else []
        begins += minutes
    return Page(html, "\n".join([*lines, f"{_clock(total)}  the end"]))


def _section(place: int, section: object) -> Section:
    """One section, held to its form."""
    if not isinstance(section, (tuple, list)) or len(section) != 3:
        raise ValueError(f"section {place} is {section!r}; write (title, minutes, prompt)")
    title, minutes, prompt = section
    if isinstance(minutes, bool) or not isinstance(minutes, (int, float)):
        raise ValueError(f"section {place} takes {minutes!r} minutes; write a number above 0")
    if not isfinite(minutes) or not 0 < minutes <= 600:
        raise ValueError(f"section {place} takes {minutes!r} minutes; write 600 at most, above 0")
    return str(title), float(minutes), str(prompt)


def _minutes(minutes: float) -> str:
    """How long something takes, as people say it: "90 seconds", "2 minutes"."""
    if minutes < 2 and minutes != 1:
        return f"{minutes * 60:g} seconds"
    return f"{minutes:g} minute{'' if minutes == 1 else 's'}"


def _clock(minutes: float) -> str:
    seconds = round(minutes * 60)
    return f"{seconds // 60}:{seconds % 60:02}"


def show_levels(levels: Mapping[str, object], best: int = 3) -> Page:
    """The levels that learners give their own answers, and their sum; nothing of it is graded.

    Args:
        levels: for each question, a whole number from 0 to best, or dots where none is given yet.
        best: the highest level of the rubric.
    """
    ladder = range(best + 1)
    says = {question: _level(level, ladder) for question, level in levels.items()}
    given = [level for level in says.values() if isinstance(level, int)]
    total = f"{sum(given)} of {best * len(says)} in sum, by your own reading."
    if len(given) < len(says):
        total = f"{sum(given)} of {best * len(given)} so far, by your own reading."
    if not given:
        total = "No level is given yet."
    note = f"{total} This is for you alone: it is not graded, and not sent anywhere."
    rows = "".join(
        f'<tr><th scope="row" style="{CELL};text-align:left">{escape(question)}</th>'
        f'<td style="{CELL}">{escape(_of(level, best))}</td></tr>'
        for question, level in says.items()
    )
    head = f'<th scope="col" style="{CELL}">your level</th>'
    html = (
        f'<table style="border-collapse:collapse"><thead><tr><td></td>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table><p>{escape(note)}</p>"
    )
    lines = [f"{question}: {_of(level, best)}" for question, level in says.items()]
    return Page(html, "\n".join([*lines, note]))


def _level(level: object, ladder: range) -> int | str:
    """A level, or what to say in its place."""
    if level is ... or level is None:
        return "not yet"
    if not isinstance(level, bool):
        for known in ladder:
            if level == known:
                return known
    allowed = ", ".join(map(str, ladder[:-1]))
    return f"{level!r:.40} is no level; write {allowed} or {ladder[-1]}"


def _of(level: int | str, best: int) -> str:
    return f"{level} of {best}" if isinstance(level, int) else level


ITEM = "margin:.2em 0;padding:.2em .5em;border-left:4px solid transparent"

# Buttons are made here, so that none is left without use where scripts may not run. A reader by ear
# hears each new section, and the end, but not every second. JupyterLab takes cells out of the page
# while they are scrolled away: the clock goes on, and ends by itself.
SCRIPT = """
(() => {
  const root = document.currentScript.closest("[data-byhand-timer]");
  const items = [...root.querySelectorAll("li")];
  const lengths = items.map((item) => Number(item.dataset.seconds));
  const total = lengths.reduce((sum, seconds) => sum + seconds, 0);
  const put = (tag, text, more) => {
    const made = Object.assign(document.createElement(tag), { textContent: text, ...more });
    made.style.margin = ".2em .8em .2em 0";
    return made;
  };
  const bar = put("div", "");
  const go = put("button", "Start", { type: "button" });
  const again = put("button", "Restart", { type: "button" });
  for (const button of [go, again]) button.style.cssText += "font:inherit;padding:.3em 1em";
  const clock = put("span", "");
  clock.setAttribute("role", "timer");
  clock.style.fontVariantNumeric = "tabular-nums";
  const spoken = put("p", "");
  spoken.setAttribute("aria-live", "polite");
  bar.append(go, again, clock);
  root.querySelector("ol").before(bar, spoken);

  let before = 0, since = null, shown = -1, ticking = null;
  const spent = () => Math.min(total, before + (since === null ? 0 : (Date.now() - since) / 1000));
  const time = (seconds) => {
    const whole = Math.ceil(seconds);
    return Math.floor(whole / 60) + ":" + String(whole % 60).padStart(2, "0");
  };
  const mark = (place) => {
    items.forEach((item, at) => {
      item.style.borderLeftColor = at === place ? "var(--jp-brand-color1, #0b57d0)" : "transparent";
      if (at === place) item.setAttribute("aria-current", "step");
      else item.removeAttribute("aria-current");
    });
  };
  const stop = () => {
    before = spent();
    since = null;
    clearInterval(ticking);
    go.textContent = before === total ? "Start again" : before > 0 ? "Go on" : "Start";
  };
  const show = () => {
    let left = spent(), place = 0;
    while (place < items.length && left >= lengths[place]) left -= lengths[place++];
    const over = place === items.length;
    const here = over ? "" : time(lengths[place] - left) + " left in this section, ";
    clock.textContent = here + time(total - spent()) + " left in all";
    if (before === 0 && since === null) {
      shown = -1;
      mark(-1);
      spoken.textContent = "Press Start, and speak aloud.";
    } else if (place !== shown) {
      shown = place;
      mark(place);
      spoken.textContent = over
        ? "Time is up. What did you leave out?"
        : "Section " + (place + 1) + " of " + items.length + ": " + items[place].dataset.title;
    }
    if (over && since !== null) stop();
  };
  go.onclick = () => {
    if (since === null) {
      if (before === total) before = 0;
      since = Date.now();
      ticking = setInterval(show, 250);
      go.textContent = "Pause";
    } else stop();
    show();
  };
  again.onclick = () => {
    stop();
    before = 0;
    stop();
    show();
  };
  show();
})();
"""
