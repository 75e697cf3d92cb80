"""What can go wrong with the engine itself."""

from byhand_course.errors import Refused


class EngineError(Refused):
    """The engine itself cannot work; no learner is to blame, and nothing is judged."""
