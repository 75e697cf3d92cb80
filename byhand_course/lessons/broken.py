"""The one error of a lesson that cannot be built: where it is, what is wrong, what to do."""

from pathlib import Path

from byhand_course.errors import Refused


class BrokenLesson(Refused):
    """A lesson contradicts itself. Its text reads `file:line: what was found; what to do`."""

    def __init__(self, file: Path, about: str, says: str) -> None:
        """Point at the first line of file that holds the text `about` (line 1 if none does)."""
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        number = next((place for place, line in enumerate(lines, 1) if about in line), 1)
        super().__init__(f"{file}:{number}: {says}")
