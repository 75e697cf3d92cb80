"""A browser for the worked pages: `make browser` writes them and runs these tests.

They need Chromium (on PATH, or named by the variable CHROMIUM); the packages are installed into an
environment of their own, so that `make test` needs no browser.
"""

import os
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[3]
SITES = ROOT / ".browser"
OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def chromium():
    """The path of a Chromium."""
    named = os.environ.get("CHROMIUM")
    found = named or shutil.which("chromium") or shutil.which("google-chrome")
    if not found:
        pytest.exit(
            "Chromium was not found: install it, or name it: CHROMIUM=/path make browser", 1
        )
    return found


@pytest.fixture(scope="session")
def browser():
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium(), args=OPTIONS)
        yield started
        started.close()


def pages_of(site):
    """Names of all pages of a site."""
    found = sorted(path.name for path in (SITES / site).glob("*.html"))
    assert len(found) >= 14, f"{SITES / site} holds no pages; run make browser"
    return found


def open_page(browser, site, name, **how):
    """A page of a site, opened; what it says on the console, or asks for, is kept."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **how})
    page = context.new_page()
    page.said, page.asked = [], []
    page.on("console", lambda message: page.said.append(message.text))
    page.on("pageerror", lambda error: page.said.append(str(error)))
    page.on("request", lambda request: page.asked.append(request.url))
    page.goto((SITES / site / name).as_uri())
    return page
