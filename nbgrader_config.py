"""The course as nbgrader sees it. One screen; what is not here is nbgrader's default.

Stubs keep their names (`guess = ...`), submissions come in through the course's own intake, and
code runs in its own engine, so that `nbgrader generate_assignment`, `nbgrader autograde` and
Formgrader do what `byhand-course` does. Steps are named and not imported: that takes a second.
"""

from pathlib import Path

from byhand_course.grading.course import skip_slow_import

c = get_config()  # noqa: F821
skip_slow_import()

c.CourseDirectory.course_id = "attention-by-hand"
c.CourseDirectory.root = str(Path(__file__).parent)
c.CourseDirectory.solution_directory = "solutions"

THEIRS, OURS = "nbgrader.preprocessors.", "byhand_course.grading.preprocessor."

# Release: a value's stub is `guess = ...`, a function's raises NotImplementedError.
c.GenerateAssignment.preprocessors = [
    THEIRS + "IncludeHeaderFooter",
    THEIRS + "InstantiateTests",
    THEIRS + "LockCells",
    "byhand_course.build.stubs.ClearToStub",  # in place of ClearSolutions
    THEIRS + "ClearOutput",
    THEIRS + "CheckCellMetadata",
    THEIRS + "ComputeChecksums",
    THEIRS + "SaveCells",
    THEIRS + "ClearHiddenTests",
    THEIRS + "ClearMarkScheme",
    THEIRS + "ComputeChecksums",
    THEIRS + "CheckCellMetadata",
]
c.GenerateSolution.preprocessors = [  # all but Execute
    THEIRS + "IncludeHeaderFooter",
    THEIRS + "LockCells",
    THEIRS + "ClearOutput",
    THEIRS + "ClearMarkScheme",
]

# Grading: files come through our intake, code runs in our engine, verdicts come from outside it.
c.Autograde.pre_convert_hook = OURS + "sort_submission"
c.Autograde.exporter_class = OURS + "IntakeExporter"
c.Autograde.sanitize_preprocessors = [THEIRS + "OverwriteCells"]  # the intake has seen to the rest
c.Autograde.autograde_preprocessors = [
    OURS + "JudgeNotebook",  # in place of Execute
    THEIRS + "IgnorePattern",
    "nbconvert.preprocessors.ClearMetadataPreprocessor",
    THEIRS + "LimitOutput",
    THEIRS + "SaveAutoGrades",
    THEIRS + "AssignLatePenalties",
]
c.OverwriteCells.add_missing_cells = True  # a deleted check cell is restored, not forgiven

# Pages: nothing of a learner's is rendered, in feedback or in Formgrader.
c.GenerateFeedback.exporter_class = "byhand_course.grading.nbgrader_pages.FeedbackExporter"
c.GenerateFeedback.preprocessors = []
c.GenerateFeedback.post_convert_hook = "byhand_course.grading.nbgrader_pages.only_our_pages"
c.HTMLExporter.preprocessors = ["byhand_course.grading.nbgrader_pages.ShowAsText"]

# Learners' code is kept in by bubblewrap. Where that cannot be had (`byhand-course doctor` says how
# to get it), a weaker sandbox may be chosen by its name: what it keeps in, and what not, stands in
# docs/sandbox.md. On the command line: --JudgeNotebook.sandbox=landlock, or --sandbox landlock.
# c.JudgeNotebook.sandbox = "landlock"
