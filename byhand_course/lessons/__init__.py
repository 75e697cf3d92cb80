"""Lessons: prose, exercises and mistakes; everything that a teacher edits."""

from .broken import BrokenLesson
from .cases import BrokenExercise, code_of, hidden_cases, mistaken_function, probe_of
from .exercise import (
    ByHand,
    Exercise,
    FreeAnswer,
    Lesson,
    Mistake,
    Prediction,
    Slip,
    Task,
    as_points,
    total_points,
)
from .pages import PAGE_NAMES, SUMMARY, WORKED_PAGES, WorkedPage
from .shelf import find_exercise, folder_of, load_lessons

__all__ = [
    "PAGE_NAMES",
    "SUMMARY",
    "WORKED_PAGES",
    "BrokenExercise",
    "BrokenLesson",
    "ByHand",
    "Exercise",
    "FreeAnswer",
    "Lesson",
    "Mistake",
    "Prediction",
    "Slip",
    "Task",
    "WorkedPage",
    "as_points",
    "code_of",
    "find_exercise",
    "folder_of",
    "hidden_cases",
    "load_lessons",
    "mistaken_function",
    "probe_of",
    "total_points",
]
