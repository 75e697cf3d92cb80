"""The course as nbgrader sees it. One screen; what is not here is nbgrader's default.

Stubs keep their names (`guess = ...`), and code runs in the course's own engine, so that
`nbgrader generate_assignment`, `nbgrader autograde` and Formgrader do what `byhand-course` does.
"""

from pathlib import Path

from nbgrader.converters import Autograde, GenerateAssignment, GenerateSolution
from nbgrader.preprocessors import ClearSolutions, Execute

from byhand_course.build.stubs import STUBS, ClearToStub
from byhand_course.grading.preprocessor import JudgeNotebook

c = get_config()  # noqa: F821

c.CourseDirectory.course_id = "attention-by-hand"
c.CourseDirectory.root = str(Path(__file__).parent)
c.CourseDirectory.solution_directory = "solutions"


def replaced(steps, old, new):
    """nbgrader's list of steps, with one of them replaced (or taken out)."""
    return [step if step is not old else new for step in steps if step is not old or new]


# Release: a value's stub is `guess = ...`, a function's raises NotImplementedError.
c.ClearSolutions.code_stub = STUBS["code_stub"]
c.ClearSolutions.text_stub = STUBS["text_stub"]
c.GenerateAssignment.preprocessors = replaced(
    GenerateAssignment.preprocessors.default_args[0], ClearSolutions, ClearToStub
)
c.GenerateSolution.preprocessors = replaced(
    GenerateSolution.preprocessors.default_args[0], Execute, None
)

# Grading: learners' code runs in the fork engine, and verdicts are computed outside it.
c.Autograde.autograde_preprocessors = replaced(
    Autograde.autograde_preprocessors.default_args[0], Execute, JudgeNotebook
)
c.OverwriteCells.add_missing_cells = True  # a deleted check cell is restored, not forgiven

# Learners' code is kept in by bubblewrap. Where that cannot be had (`byhand-course doctor` says how
# to get it), a weaker sandbox may be chosen by its name: what it keeps in, and what not, stands in
# docs/sandbox.md. On the command line: --JudgeNotebook.sandbox=landlock, or --sandbox landlock.
# c.JudgeNotebook.sandbox = "landlock"
