"""A review in a real browser: open, mark, exclude, reload; hostile names, two tabs, a kill."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys

import pytest
from recordings_to_review import NAMES, ONSET_S, write_edf

from epilens.data.discovery import cases_of
from epilens.data.onsets.onset_table import read_onsets
from epilens.review.session import open_session
from epilens.review.start import make_review

api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
WAIT_MS = 600_000
"""The first screen reads packages and compiles: long, where a fresh machine is busy."""
ROWS = len(NAMES)
HOSTILE = tuple(f"{shaft}{i}" for shaft in ("</script>", "<img src=x>", "=1+1 ") for i in (1, 2, 3))


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    path = tmp_path_factory.mktemp("in") / "<b>Doe.edf"
    return write_edf(path, notes=[(ONSET_S, "sz onset"), (70.0, "<img src=x onerror=alert(1)>")])


class Tab:
    """A tab of the viewer that remembers problems and requests."""

    def __init__(self, browser, url, session, at=0.0, **viewport):
        size = {"width": 1280, "height": 900} | viewport
        self.page = browser.new_page(viewport=size)
        self.page.set_default_timeout(WAIT_MS)
        self.problems, self.requests = [], []
        self.page.on("console", lambda m: self.problems.append(m.text))
        self.page.on("pageerror", lambda e: self.problems.append(str(e)))
        self.page.on("dialog", lambda d: (self.problems.append("dialog"), d.dismiss()))
        self.page.on("request", lambda r: self.requests.append(r.url))
        case = session.cases[0]
        self.page.goto(f"{url}trace?case={case.code}&file={case.files[0].name}&at={at}")
        self.page.wait_for_selector("html[data-screen]")
        self.box = self.page.locator("#traces").bounding_box()

    def x(self, share):
        """Place on the paper at this share of the screen's time."""
        return self.box["x"] + 74 + share * (self.box["width"] - 74)

    def y(self, row, rows=ROWS):
        return self.box["y"] + (row + 0.5) * self.box["height"] / rows

    def click(self, share, row, rows=ROWS):
        self.page.mouse.click(self.x(share), self.y(row, rows))

    def saved(self, revision):
        self.page.get_by_text(f"saved, revision {revision}", exact=True).wait_for()

    def shown_at(self, start_s):
        self.page.wait_for_selector(f'html[data-screen="{start_s:.3f}"]')


@pytest.fixture
def session(recording, tmp_path):
    return open_session(cases_of([recording], "P1"), tmp_path / "out")


@pytest.fixture
def server(session):
    with make_review(session) as server:
        yield server


@pytest.fixture
def tab(browser, server, session):
    tab = Tab(browser, server.url, session, 55)
    yield tab
    assert tab.problems == []
    assert all(url.startswith((server.url, "data:")) for url in tab.requests)
    tab.page.close()


def kept(session):
    tree = json.loads((session.out / "sub-P1" / "review.json").read_text())
    marks = tree["files"].get(session.cases[0].files[0].name, {"onsets": []})["onsets"]
    return tree["revision"], marks, tree["bad"]


def test_from_the_index_to_the_traces(browser, server, session):
    page = browser.new_page()
    page.set_default_timeout(WAIT_MS)
    page.goto(server.url)
    page.get_by_text("<b>Doe.edf").click()
    page.wait_for_selector("html[data-screen]")
    assert page.locator("#title").inner_text() == "sub-P1 · <b>Doe.edf"
    assert page.locator("b").count() == 0
    page.get_by_text("All patients").click()
    page.locator("#cases").get_by_text("awaiting review").wait_for()
    page.close()


def test_mark_move_describe_exclude_and_reload(tab, session):
    page = tab.page
    page.keyboard.press("o")
    tab.click(0.5, 3)
    tab.saved(1)
    _, (mark,), _ = kept(session)
    assert mark["onset_s"] == pytest.approx(60.0, abs=0.05)
    assert mark["made_from"] == "hand"
    page.mouse.move(tab.x(0.5), tab.y(5))
    page.mouse.down()
    page.mouse.move(tab.x(0.55), tab.y(5), steps=4)
    page.mouse.move(tab.x(0.6), tab.y(5), steps=4)
    page.mouse.up()
    tab.saved(2)
    page.locator(".unsure").fill("1.5")
    page.locator(".unsure").press("Tab")
    tab.saved(3)
    page.locator(".word").fill("LVFA")
    page.locator(".word").press("Tab")
    tab.saved(4)
    page.locator("#traces").focus()
    page.keyboard.press("f")
    tab.click(0.2, 1)
    tab.saved(5)
    tab.click(0.2, 0)
    tab.saved(6)
    page.keyboard.press("b")
    tab.click(0.2, 8)
    tab.saved(7)
    _, (mark,), bad = kept(session)
    assert mark["onset_s"] == pytest.approx(61.0, abs=0.05)
    assert (mark["uncertainty_s"], mark["type"]) == (1.5, "LVFA")
    assert mark["first"] == ["LA2", "LA1"]
    assert bad == {"LB3": "by eye"}
    page.reload()
    page.wait_for_selector("html[data-screen]")
    assert page.locator(".word").input_value() == "LVFA"
    assert "LB3: bad (by eye)" in page.locator("#channels").inner_text()
    assert "1. LA2" in page.locator("#onsets").inner_text()
    onsets = read_onsets(session.out / "onsets.tsv").values()
    assert {onset.onset_s for onset in onsets} == {mark["onset_s"]}
    page.get_by_text("mark good").click()
    tab.saved(8)
    page.locator(".remove").click()
    tab.saved(9)
    assert kept(session)[1:] == ([], {})


def test_suggestions_are_shown_and_taken_only_by_a_click(tab, session):
    page = tab.page
    page.wait_for_selector("html[data-suggested]")
    page.locator(".suggestion-row").first.wait_for()
    assert not (session.out / "sub-P1" / "review.json").exists()
    assert page.locator(".onset-row").count() == 0
    page.locator(".suggestion-row .use").first.click()
    tab.saved(1)
    _, (mark,), _ = kept(session)
    assert mark["made_from"] == "suggestion"
    assert mark["onset_s"] == pytest.approx(ONSET_S, abs=5)


def test_scroll_zoom_cursor_and_montages(tab):
    page = tab.page
    page.keyboard.press("PageDown")
    tab.shown_at(65)
    page.keyboard.press("ArrowLeft")
    tab.shown_at(63)
    page.mouse.move(tab.x(0.5), tab.y(2))
    page.mouse.wheel(0, 100)
    tab.shown_at(64)
    page.keyboard.press("]")
    page.wait_for_function("() => document.getElementById('seconds').value === '15'")
    page.mouse.move(tab.x(0.4), tab.y(2))
    value = re.compile("LA3: .*µV")
    api.expect(page.locator("#cursor")).to_contain_text(value, timeout=WAIT_MS)
    page.keyboard.press("End")
    tab.shown_at(105)
    page.keyboard.press("Home")
    tab.shown_at(0)
    for montage in ("bipolar", "average"):
        with page.expect_response(lambda r, m=montage: f"montage={m}" in r.url) as answer:
            page.locator("#montage").select_option(montage)
        assert answer.value.status == 200
    with page.expect_response(lambda r: "notch=50" in r.url and "low=70" in r.url) as answer:
        page.locator("#low").select_option("70")
        page.locator("#notch").select_option("50")
    assert answer.value.status == 200
    page.mouse.move(tab.x(0.5), tab.y(2))
    page.mouse.down()
    page.mouse.move(tab.x(0.3), tab.y(2), steps=5)
    page.mouse.up()
    page.wait_for_selector('html[data-screen="3.000"]')
    box = page.locator("#overview").bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 20)
    tab.shown_at(52.5)
    page.wait_for_selector('html[data-overview="1.000"]')


def test_two_tabs_see_each_other_and_a_stale_change_is_refused(tab, browser, server, session):
    other = Tab(browser, server.url, session, 55)
    # The other tab hears nothing of the first one's change, so its own is stale.
    other.page.route("**/marks", lambda r: r.abort() if r.request.method == "GET" else r.fallback())
    tab.page.keyboard.press("o")
    tab.click(0.5, 3)
    tab.saved(1)
    other.page.keyboard.press("b")
    other.click(0.2, 8)
    other.page.get_by_text("another tab saved first").wait_for()
    assert kept(session)[2] == {}
    other.page.unroute("**/marks")
    other.page.get_by_text("another tab changed this: revision 1").wait_for()
    api.expect(other.page.locator(".onset-row")).to_have_count(1, timeout=WAIT_MS)
    other.click(0.2, 8)
    other.saved(2)
    tab.page.get_by_text("LB3: bad (by eye)").wait_for()
    revision, onsets, bad = kept(session)
    assert (revision, len(onsets), bad) == (2, 1, {"LB3": "by eye"})
    other.page.close()


def test_hostile_names_are_text(browser, tmp_path):
    path = write_edf(tmp_path / "x.edf", HOSTILE, seconds=15)
    session = open_session(cases_of([path], "P1"), tmp_path / "out")
    with make_review(session) as server:
        tab = Tab(browser, server.url, session)
        tab.page.keyboard.press("b")
        for row in range(len(HOSTILE)):
            tab.click(0.5, row, len(HOSTILE))
            tab.saved(row + 1)
        assert set(kept(session)[2]) == set(HOSTILE)
        assert tab.page.locator("img").count() == 0
        assert tab.page.locator("script").count() == 1
        assert "</script>2: bad (by eye)" in tab.page.locator("#channels").inner_text()
        assert tab.problems == []
        tab.page.close()


def test_damaged_marks_are_named_and_do_not_hide_the_traces(browser, session):
    path = session.out / "sub-P1" / "review.json"
    path.parent.mkdir()
    path.write_text("{")
    with make_review(session) as server:
        tab = Tab(browser, server.url, session, 55)
        assert "sub-P1/review.json: expected JSON" in tab.page.locator("#problem").inner_text()
        tab.page.keyboard.press("b")
        tab.click(0.2, 8)
        tab.page.get_by_text("not saved", exact=True).wait_for()
        assert path.read_text() == "{"
        for page in ("", "patient?case=sub-P1"):
            tab.page.goto(server.url + page)
            tab.page.get_by_text("sub-P1/review.json: expected JSON").wait_for()
        tab.page.close()


def serving(recording, out):
    command = [sys.executable, "-m", "epilens", "review", str(recording), "--out", str(out)]
    started = subprocess.Popen(
        [*command, "--patient", "P1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert started.stdout is not None
    return started, started.stdout.readline().strip()


def test_a_killed_server_loses_at_most_the_last_click(browser, recording, session):
    process, url = serving(recording, session.out)
    tab = Tab(browser, url, session, 55)
    tab.page.keyboard.press("o")
    tab.click(0.5, 3)
    tab.saved(1)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    tab.page.keyboard.press("b")
    tab.click(0.2, 8)
    tab.page.get_by_text("Nothing was saved").wait_for()
    tab.page.close()
    again, url = serving(recording, session.out)
    tab = Tab(browser, url, session, 55)
    assert tab.page.locator(".onset-row").count() == 1
    assert kept(session)[2] == {}
    tab.page.close()
    again.send_signal(signal.SIGINT)
    _, errors = again.communicate(timeout=600)
    sentence = "Open this address in a browser on this computer (Ctrl-C stops the server):"
    assert errors.splitlines() == [sentence]


def test_a_run_of_bids_on_a_phone(browser, tiny, tmp_path):
    session = open_session(cases_of([sorted((tiny / "north").glob("sub-*"))[0]]), tmp_path / "out")
    with make_review(session) as server:
        tab = Tab(browser, server.url, session, 10, width=390, height=800)
        assert tab.page.evaluate("() => document.documentElement.scrollWidth") <= 390
        assert tab.problems == []
        tab.page.wait_for_function("() => !document.querySelector('#events p')")
        assert tab.page.locator("#events .row").count() > 0
        tab.page.close()


def test_the_last_changes_can_be_taken_back(tab, session):
    page = tab.page
    assert page.locator("#undo").is_disabled()
    page.keyboard.press("o")
    tab.click(0.5, 3)
    tab.saved(1)
    page.keyboard.press("b")
    tab.click(0.2, 3)
    tab.saved(2)
    assert kept(session)[2]
    page.keyboard.press("Control+z")
    tab.saved(3)
    _, marks, bad = kept(session)
    assert (len(marks), bad) == (1, {})
    page.locator("#undo").click()
    tab.saved(4)
    assert kept(session)[1] == []
    api.expect(page.locator("#undo")).to_be_disabled(timeout=WAIT_MS)
    assert page.locator("#next-file").is_hidden(), "there is one recording"


def test_the_next_recording_is_one_click_away(browser, tmp_path, recording):
    shutil.copy(recording, tmp_path / "b.edf")
    shutil.copy(recording, tmp_path / "a.edf")
    session = open_session(cases_of([tmp_path / "a.edf", tmp_path / "b.edf"], "P1"), tmp_path / "o")
    with make_review(session) as server:
        tab = Tab(browser, server.url, session, 0)
        tab.page.wait_for_selector("#next-file:not([hidden])")
        assert tab.page.locator("#previous-file").is_hidden()
        tab.page.locator("#next-file").click()
        tab.page.wait_for_selector("#previous-file:not([hidden])")
        assert tab.page.locator("#title").inner_text() == "sub-P1 · b.edf"
        tab.page.close()
