"""Pictures of the documentation, from a finished demo: pages, review, reproduction, figures.

`python -m tools.pictures DEMO docs/images`, where DEMO was written by `epilens demo --out DEMO`.
Needs Chromium. All patients are simulated.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

MARKS = "review-marks.png"
MOST_BYTES = 200_000
WAIT_MS = 300_000
PATIENT = "north/sub-N03"
"""Its page and its review are shown."""
QUESTIONED = "east/sub-E03"
"""A patient with an onset that the signal questions."""
FIGURES = ("fusion", "mechanism", "centers", "reliability")
"""Figures of the reproduction that are shown."""


def save(picture: bytes | Image.Image, path: Path) -> None:
    """Write a PNG of at most 200 kB: fewer colours first, then fewer pixels."""
    image = picture if isinstance(picture, Image.Image) else Image.open(io.BytesIO(picture))
    image = image.convert("RGB")
    for colours in (256, 128, 64, 48, 32):
        image.quantize(colours, dither=Image.Dither.NONE).save(path, optimize=True)
        if path.stat().st_size <= MOST_BYTES:
            return
    save(image.resize((image.width * 4 // 5, image.height * 4 // 5)), path)


@contextmanager
def opened_browser() -> Iterator[Browser]:
    """Chromium, as the browser tests use it."""
    from playwright.sync_api import sync_playwright

    names = ("chromium", "chromium-browser", "google-chrome")
    found = next((path for path in map(shutil.which, names) if path), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


def open_page(browser: Browser, url: str, width: int = 1280, height: int = 900) -> Page:
    """A tab at this address."""
    page = browser.new_page(viewport={"width": width, "height": height})
    page.set_default_timeout(WAIT_MS)
    page.goto(url)
    return page


def clip_of(page: Page, *selectors: str) -> Any:
    """The rectangle around elements."""
    boxes = [page.locator(selector).first.bounding_box() for selector in selectors]
    seen = [box for box in boxes if box]
    left, top = min(box["x"] for box in seen), min(box["y"] for box in seen)
    right = max(box["x"] + box["width"] for box in seen)
    bottom = max(box["y"] + box["height"] for box in seen)
    return {"x": left, "y": top, "width": right - left, "height": bottom - top}


def patient_pictures(browser: Browser, demo: Path, work: Path, out: Path) -> None:
    """Parts of a patient's page, and the warning about an onset."""
    from epilens import localize

    pages = work / "pages"
    for name in (PATIENT, QUESTIONED):
        localize(demo / "cohort" / name).save(pages)
    page = open_page(browser, (pages / f"{Path(PATIENT).name}.html").as_uri(), height=1120)
    page.wait_for_function("document.documentElement.dataset.ready")
    save(page.screenshot(), out / "patient-top.png")
    parts = {
        "contacts": (".card.ranking",),
        "implant": (".card.implant", ".card.shafts"),
        "why": (".card.chosen",),
        "timeline": (".card.heat",),
    }
    for name, selectors in parts.items():
        shot = page.screenshot(clip=clip_of(page, *selectors), full_page=True)
        save(shot, out / f"patient-{name}.png")
    page.goto((pages / f"{Path(QUESTIONED).name}.html").as_uri())
    page.wait_for_function("document.documentElement.dataset.ready")
    save(page.locator("#header").screenshot(), out / "onset-check.png")
    page.close()


def review_pictures(browser: Browser, demo: Path, work: Path, out: Path) -> None:
    """Traces, marks, an analysis and a reading of one patient."""
    from epilens.data.discovery import cases_of
    from epilens.review.session import open_session
    from epilens.review.start import make_review

    cases = cases_of([demo / "cohort" / PATIENT])
    with make_review(open_session(cases, work / "review")) as server:
        case, file = cases[0].code, cases[0].files[0].name
        at = annotated_onset(demo / "cohort" / PATIENT) - 5
        page = open_page(browser, f"{server.url}trace?case={case}&file={file}&at={at}", height=860)
        mark_onset(page, out)
        page.goto(server.url)
        page.get_by_text("Run, read and sign").first.click()
        page.wait_for_selector("html[data-ready]")
        analyse_and_read(page, out)
        page.close()
        second_reader(open_page(browser, server.url), out)


def annotated_onset(patient: Path) -> float:
    """Seconds from the start of the first recording to its annotated onset."""
    events = min(patient.rglob("*_events.tsv")).read_text(encoding="utf-8").splitlines()
    return next(float(line.split("\t")[0]) for line in events if "onset" in line.split("\t", 1)[1])


def mark_onset(page: Page, out: Path) -> None:
    """Traces as they open, then with an onset that was marked by hand."""
    for state in ("[data-suggested]", "[data-screen]", '[data-overview="1.000"]'):
        page.wait_for_selector(f"html{state}")
    page.wait_for_timeout(500)
    save(page.screenshot(), out / "review-traces.png")
    box = page.locator("#traces").bounding_box()
    assert box is not None
    page.keyboard.press("o")
    page.mouse.click(box["x"] + 74 + 0.47 * (box["width"] - 74), box["y"] + 100)
    page.get_by_text("saved, revision 1", exact=True).wait_for()
    page.mouse.move(5, 5)
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_timeout(500)
    save(page.screenshot(clip={"x": 400, "y": 120, "width": 880, "height": 600}), out / MARKS)


def analyse_and_read(page: Page, out: Path) -> None:
    """An analysis, then verdicts of a reader who has seen it."""
    page.wait_for_selector('#choice option[value="line-length-spread"]', state="attached")
    page.click("#start")
    page.wait_for_selector('html[data-runs="1"]')
    page.frame_locator("#page").locator("#ranking tbody tr").first.wait_for()
    page.wait_for_timeout(1500)
    page.set_viewport_size({"width": 1280, "height": 1200})
    save(page.screenshot(), out / "review-run.png")
    page.click("#tab-read")
    page.fill("#initials", "AB")
    page.click("#begin")
    page.wait_for_selector("#sign")
    for index, word in enumerate(("agree", "agree", "disagree", "unsure")):
        page.locator(f'[data-word="{word}"]').nth(index).click()
        page.wait_for_selector(f'html[data-revision="{index + 1}"]')
    save(page.screenshot(), out / "review-reading.png")
    page.click("#sign")
    page.click("#sign-anyway")
    page.wait_for_selector("#signed")


def second_reader(page: Page, out: Path) -> None:
    """A reader who marks an onset zone before the ranking is shown."""
    page.get_by_text("Run, read and sign").first.click()
    page.wait_for_selector("html[data-ready]")
    page.fill("#initials", "CD")
    page.click("#begin")
    page.wait_for_selector("#reveal")
    for index in range(3):
        page.locator("[data-zone]").nth(index).click()
    page.wait_for_timeout(500)
    save(page.locator("#view-read").screenshot(), out / "review-blind.png")
    page.close()


def reproduction_pictures(browser: Browser, demo: Path, work: Path, out: Path) -> None:
    """The reproduction page, its figures, and the figure of a comparison."""
    page = open_page(browser, (demo / "reproduction" / "index.html").as_uri())
    page.wait_for_timeout(500)
    save(page.screenshot(), out / "reproduction-top.png")
    save(page.locator("#main").screenshot(), out / "reproduction-table.png")
    page.close()
    for name in FIGURES:
        figure = demo / "reproduction" / "figures" / f"{name}.png"
        save(figure.read_bytes(), out / f"figure-{name}.png")
    save((demo / "evidence.png").read_bytes(), out / "evidence.png")
    drawn = work / "compared.png"
    compare = ["compare", str(demo / "runs" / "demo"), "lens", "cdel", "--figure", str(drawn)]
    subprocess.run([sys.executable, "-m", "epilens", *compare], check=True, capture_output=True)
    save(drawn.read_bytes(), out / "compare.png")


if __name__ == "__main__":
    demo, out = (Path(argument).resolve() for argument in sys.argv[1:3])
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, opened_browser() as browser:
        for make in (reproduction_pictures, patient_pictures, review_pictures):
            make(browser, demo, Path(folder), out)
