"""Reading and signing in a real browser: clicks while notes are being saved."""

from __future__ import annotations

import pytest
from patients_to_run import METHOD, case, plain_files, review_with_runs

from epilens.data.discovery import cases_of
from epilens.review.mark_store import MarkStore
from epilens.review.service import Service
from epilens.review.session import open_session
from epilens.review.start import make_review

api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
WAIT_MS = 600_000


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    out = tmp_path_factory.mktemp("review")
    session = review_with_runs(out, "none", onsets_s=(40.0,), uncertainty_s=2.0)
    with make_review(session) as server:
        yield server


@pytest.fixture
def read(browser, server):
    """Open the reading of the only run as a reader."""
    contexts = []

    def open_reading(initials):
        contexts.append(browser.new_context(viewport={"width": 1500, "height": 950}))
        page = contexts[-1].new_page()
        page.set_default_timeout(WAIT_MS)
        page.goto(f"{server.url}patient?case=sub-P1")
        page.wait_for_selector("html[data-ready]")
        page.click("#tab-read")
        page.fill("#initials", initials)
        page.click("#begin")
        page.wait_for_selector("#sign")
        return page

    yield open_reading
    for context in contexts:
        context.close()


def saved(page, revision):
    page.wait_for_selector(f'html[data-revision="{revision}"]')
    page.evaluate("() => new Promise((done) => setTimeout(done, 50))")


def press(page, selector):
    """Press the mouse on an element without releasing it: the notes lose the focus."""
    box = page.locator(selector).bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()


def test_the_first_click_on_sign_counts_when_notes_are_saved_during_it(read):
    page = read("AB")
    page.locator("#sign").scroll_into_view_if_needed()
    page.fill("#notes", "typed")
    page.locator("#sign").scroll_into_view_if_needed()
    press(page, "#sign")
    saved(page, 1)
    page.mouse.up()
    page.wait_for_selector("#unread")
    page.click("#sign-anyway")
    page.wait_for_selector("#signed")
    assert page.locator("#unread").count() == 0


def test_the_question_before_signing_stays_when_notes_are_saved(read):
    page = read("CD")
    page.fill("#notes", "typed")
    page.click("#sign")
    saved(page, 1)
    assert page.locator("#unread").is_visible()
    page.click("#sign-anyway")
    page.wait_for_selector("#signed")


def test_notes_are_saved_once(read):
    page = read("EF")
    page.fill("#notes", "typed")
    saved(page, 1)
    page.click("h1, h2")
    page.wait_for_timeout(1000)
    assert page.locator("html").get_attribute("data-revision") == "1"


def test_every_column_of_the_contacts_has_a_heading(read):
    page = read("GH")
    headings = page.locator(".verdicts thead th").all_inner_texts()
    assert headings[:4] == ["Rank", "Contact", "EZ or NEZ", "Is this rank right?"]


def test_the_page_of_a_run_states_the_uncertainty_of_the_onset(read):
    page = read("KL").frame_locator("#page")
    page.locator("#ranking tbody tr").first.wait_for(timeout=WAIT_MS)
    text = page.locator("#analysed").inner_text()
    assert "onset at 40 s of the file, ± 2 s (as marked), given by the user" in text


@pytest.mark.parametrize(("seconds", "clock"), [(39.9997, "00:00:40"), (39.999, "00:00:39")])
def test_the_clock_agrees_with_the_seconds_next_to_it(read, seconds, clock):
    page = read("IJ")
    script = "async (s) => (await import('./static/trace_state.js')).clock(s)"
    assert page.evaluate(script, seconds) == clock


def test_the_table_of_runs_claims_no_onset_for_a_recording_without_one(browser, tmp_path):
    session = open_session(cases_of([plain_files()], "P1"), tmp_path)
    service = Service(session, MarkStore(session))
    marked, unmarked = case().files
    files = {marked.name: {"onsets": [{"onset_s": 40.0}]}}
    service.mark_store.write("sub-P1", {"files": files}, 0)
    service.runs("sub-P1").begin(service.run_spec("sub-P1", METHOD).inputs)
    with make_review(session) as server:
        page = browser.new_page()
        page.goto(f"{server.url}patient?case=sub-P1")
        page.wait_for_selector("html[data-ready]", timeout=WAIT_MS)
        assert f"{unmarked.shown}: no onset: will be skipped" in page.inner_text("#onsets")
        cell = page.inner_text('#runs td[data-title="Onsets"]')
        page.close()
    assert f"{unmarked.shown}: not marked (the annotated onset is used, if any)" in cell
