"""A few of the kills of `make kill`: nothing is lost, nothing is graded twice."""

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import killing


def test_a_killed_grader_ends_with_the_same_gradebook(tmp_path):
    """SIGKILL at random moments, in each of the ways; started again, all is as if undisturbed."""
    kills = list(killing.kill_often(tmp_path, len(killing.WAYS), 6, random.Random()))
    assert [str(found) for found in kills if not found.good] == []
