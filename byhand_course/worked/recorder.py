"""Runs a function of the reference and keeps every value that it and those it calls computed.

Nothing is computed a second time: the values are the functions' own local variables, as they
stood when each returned. So a page can show what lives only inside a formula.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

WATCHED = "byhand_course.reference."


@dataclass
class Call:
    """One call of a reference function.

    Attributes:
        function: its name.
        values: its arguments and local variables, as they stood when it returned.
        answer: what it returned.
        calls: the calls of reference functions that it made, in order.
    """

    function: str
    values: dict[str, Any] = field(default_factory=dict)
    answer: Any = None
    calls: list["Call"] = field(default_factory=list)

    def __getitem__(self, name: str) -> Any:
        """A local variable.

        Raises:
            KeyError: if the function has none of that name (any more).
        """
        if name not in self.values:
            raise KeyError(f"{self.function} has no {name!r}; it has {', '.join(self.values)}")
        return self.values[name]

    def call(self, function: str, place: int = 0) -> "Call":
        """The call of that function, counted from 0 among the calls of it that this one made.

        Raises:
            KeyError: if there is none.
        """
        found = [call for call in self.calls if call.function == function]
        if place >= len(found):
            raise KeyError(f"{self.function} calls {function!r} {len(found)} times")
        return found[place]


def record(function: Callable, *arguments: Any, **more: Any) -> Call:
    """Call a reference function and return the record of that call."""
    top = Call("")
    open_calls = [top]

    def watch(frame: FrameType, event: str, answer: Any) -> None:
        code = frame.f_code
        is_ours = frame.f_globals.get("__name__", "").startswith(WATCHED)
        if not is_ours or code.co_name.startswith("<"):  # <listcomp> and the like
            return
        if event == "call":
            call = Call(code.co_name)
            open_calls[-1].calls.append(call)
            open_calls.append(call)
        elif event == "return":
            call = open_calls.pop()
            call.values, call.answer = dict(frame.f_locals), answer

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        function(*arguments, **more)
    finally:
        sys.setprofile(before)
    return top.calls[0]
