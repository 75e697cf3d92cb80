"""What a learner of "Attention by Hand" imports: checks, and things to look at.

There is no formula in here: `check` compares answers with recorded ones, and speaks.
"""

from .bar import show_progress
from .certificate import show_certificate
from .check import CheckFailed, check
from .look import show_matrix, show_plot
from .map import show_map
from .mine import NotFinished, mine
from .published import published_calculation
from .rehearsal import show_levels, show_timer

__all__ = [
    "CheckFailed",
    "NotFinished",
    "check",
    "mine",
    "published_calculation",
    "show_certificate",
    "show_levels",
    "show_map",
    "show_matrix",
    "show_plot",
    "show_progress",
    "show_timer",
]
__version__ = "0.1.0"
