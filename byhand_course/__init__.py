"""The course maker's package: reference, lessons, build, grading. Learners never install it."""
