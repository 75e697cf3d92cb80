"""The README's table of lessons, from the declarations."""

from pathlib import Path

from byhand_course.lessons import Lesson

from .notebook import lesson_minutes, lesson_points, notebook_name

README = Path("README.md")
BEGIN = "<!-- syllabus: written by `byhand-course build` -->"
END = "<!-- end of syllabus -->"


def syllabus(text: str, lessons: tuple[Lesson, ...]) -> str:
    """The README's text with the table between its two marks renewed (as it is without marks)."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        return text
    rows = [
        f"| {lesson.number} | [{lesson.title}](release/{lesson.assignment}/"
        f"{notebook_name(lesson)}.ipynb) | {lesson.objective} | {len(lesson.exercises)} | "
        f"{lesson_points(lesson)} | {lesson_minutes(lesson)} |"
        for lesson in lessons
    ]
    head = [
        "| | Lesson | At its end you can | Exercises | Points | Minutes |",
        "|---|---|---|---|---|---|",
    ]
    table = "\n".join([*head, *rows])
    return f"{before}{BEGIN}\n{table}\n{END}{after}"
