"""The worked pages: one whole training step, every number, for any sentence."""

from .pdf import print_pages
from .published import trace_published
from .settings import SENTENCE, Settings, settle
from .site import DEFAULT, find_stale_pages, hold_free, write_pages, write_published
from .trace import trace_training_step
from .values import Trace

__all__ = [
    "DEFAULT",
    "SENTENCE",
    "Settings",
    "Trace",
    "find_stale_pages",
    "hold_free",
    "print_pages",
    "settle",
    "trace_published",
    "trace_training_step",
    "write_pages",
    "write_published",
]
