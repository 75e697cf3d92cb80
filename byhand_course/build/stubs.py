"""nbgrader's ClearSolutions, with a stub of its own for each value that a learner fills in."""

from typing import Any

from nbformat.notebooknode import NotebookNode
from nbgrader.preprocessors import ClearSolutions
from traitlets import default

from .cells import BEGIN

STUBS: dict[str, Any] = {
    "code_stub": {"python": "raise NotImplementedError"},
    "text_stub": "*Write your answer here, in your own words.*",
}


class ClearToStub(ClearSolutions):
    """Replaces `### BEGIN SOLUTION: guess = ...` up to its end by `guess = ...`.

    Any other solution gives way to one of STUBS.
    """

    @default("code_stub")
    def _code_stub(self) -> dict[str, str]:
        return STUBS["code_stub"]

    @default("text_stub")
    def _text_stub(self) -> str:
        return STUBS["text_stub"]

    def _replace_solution_region(self, cell: NotebookNode, language: str) -> bool:
        first = next((line for line in cell.source.split("\n") if BEGIN in line), "")
        _, _, own_stub = first.partition(f"{BEGIN}: ")
        stock = self.code_stub  # type: ignore[has-type]
        if own_stub:
            self.code_stub = {**stock, language: own_stub}
        try:
            return super()._replace_solution_region(cell, language)
        finally:
            self.code_stub = stock
