"""All pages of a site as one PDF, printed by a browser without a window."""

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from byhand_course.errors import Refused
from byhand_course.lessons import SUMMARY, WORKED_PAGES

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome", "msedge")
PATIENCE_S = 120


def print_pages(folder: Path, pdf: Path, browser: str | None = None) -> None:
    """Print the summary and the thirteen pages of a folder into one PDF.

    Args:
        browser: a Chromium, by name or path; by default the first that is found.

    Raises:
        Refused: if there are no pages, no browser, or the browser prints nothing.
    """
    command = shutil.which(browser) if browser else _first_browser()
    if command is None:
        raise Refused(
            f"{browser or 'Chromium'} was not found: install Chromium, name a browser with "
            "--browser, or open the pages and print them from there."
        )
    with tempfile.TemporaryDirectory() as temporary:
        whole = Path(temporary) / "pages.html"
        whole.write_text(joined(folder), encoding="utf-8")
        words = [
            command,
            "--headless",
            "--disable-gpu",
            "--no-sandbox",  # it opens this one file of ours, and nothing else
            "--no-first-run",
            "--disable-background-networking",
            f"--user-data-dir={temporary}/profile",
            "--no-pdf-header-footer",
            f"--print-to-pdf={pdf.resolve()}",
            whole.as_uri(),
        ]
        try:
            done = subprocess.run(
                words, capture_output=True, text=True, timeout=PATIENCE_S, check=False
            )
        except subprocess.TimeoutExpired:
            raise Refused(f"{command} did not print within {PATIENCE_S} seconds.") from None
    if done.returncode or not pdf.is_file():
        last = (done.stderr.strip().splitlines() or ["it gave no reason"])[-1]
        raise Refused(f"{command} printed nothing: {last}")


def joined(folder: Path) -> str:
    """The summary and the pages as one document: each page an article on a sheet of its own.

    Raises:
        Refused: if a page is missing.
    """
    texts = []
    for name in (SUMMARY, *(page.file for page in WORKED_PAGES)):
        path = folder / name
        if not path.is_file():
            raise Refused(f"{path} is missing: write the pages first.")
        texts.append(path.read_text(encoding="utf-8"))
    articles = []
    for number, text in enumerate(texts):
        article = text[text.index("<article>") : text.index("</main>")]
        article = re.sub(r'(\s)id="?([\w-]+)"?', rf"\1id=p{number}-\2", article)  # ids are unique
        articles.append(article)
    head, _, rest = texts[0].partition("<article>")
    _, _, tail = rest.partition("</main>")
    return (
        head + "".join(articles) + "</main>" + re.sub(r"<script>.*</script>", "", tail, flags=re.S)
    )


def _first_browser() -> str | None:
    return next(filter(None, map(shutil.which, BROWSERS)), None)
