"""Cuts everything that is generated from the reference and the lessons, and proves it current."""

from .build import Stale, build, find_stale

__all__ = ["Stale", "build", "find_stale"]
