"""The default pages and the published ones, written once for all tests."""

import json
import time
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import ROOT
from worked.reading import Page

from byhand_course.worked import settle, write_pages, write_published

collect_ignore = ["browser"]  # `make browser` runs those, in an environment of their own


def read_site(folder):
    """Everything of a site, read from its files."""
    with np.load(folder / "values.npz") as file:
        values = dict(file)
    texts = {path.name: path.read_text("utf-8") for path in sorted(folder.glob("*.html"))}
    return SimpleNamespace(
        folder=folder,
        values=values,
        trace=json.loads((folder / "trace.json").read_text("utf-8")),
        texts=texts,
        pages={name: Page(text) for name, text in texts.items()},
    )


@pytest.fixture(scope="session")
def course(tmp_path_factory):
    """The default pages."""
    folder = tmp_path_factory.mktemp("worked") / "course"
    start = time.perf_counter()
    write_pages(settle(), folder, ROOT)
    seconds = time.perf_counter() - start
    site = read_site(folder)
    site.seconds = seconds
    return site


@pytest.fixture(scope="session")
def published(tmp_path_factory):
    """The published calculation's pages."""
    folder = tmp_path_factory.mktemp("worked") / "published"
    write_published(folder, ROOT)
    return read_site(folder)


@pytest.fixture(params=["course", "published"])
def site(request):
    """One after the other."""
    return request.getfixturevalue(request.param)
