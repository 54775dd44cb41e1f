"""Run, compare, read and sign in a real browser, end to end."""

from __future__ import annotations

import json

import pytest
from new_patients import write_edf

from epilens.data.discovery import cases_of
from epilens.review.session import open_session
from epilens.review.start import make_review

HOSTILE = tuple(f"{shaft}{i}" for shaft in ("A<b>", 'B"=') for i in range(1, 5))
WAIT_MS = 600_000


def mark(session, onset_s, revision=1, bad=()):
    """As the trace viewer keeps it."""
    (case,) = session.cases
    files = {file.name: {"onsets": [{"onset_s": onset_s}]} for file in case.files}
    path = session.folder(case.code) / "review.json"
    path.parent.mkdir(exist_ok=True)
    tree = {"revision": revision, "files": files, "bad": dict.fromkeys(bad, "by eye")}
    path.write_text(json.dumps(tree))


@pytest.fixture
def session(tmp_path):
    (tmp_path / "in").mkdir()
    write_edf(tmp_path / "in" / "a.edf", HOSTILE)
    session = open_session(cases_of([tmp_path / "in"], "P1"), tmp_path / "out")
    mark(session, 40.0)
    return session


class Tab:
    """A tab that remembers errors."""

    def __init__(self, browser, url):
        self.context = browser.new_context(viewport={"width": 1500, "height": 950})
        self.page = self.context.new_page()
        self.page.set_default_timeout(WAIT_MS)
        self.problems = []
        self.page.on("console", lambda m: self.problems.append(f"{m.text} {m.location}"))
        self.page.on("pageerror", lambda e: self.problems.append(str(e)))
        self.page.on("dialog", lambda d: (self.problems.append("dialog"), d.dismiss()))
        self.open(url)

    def open(self, url):
        self.page.goto(url)
        self.page.wait_for_selector("html[data-ready]")

    def text(self, selector):
        return self.page.locator(selector).first.inner_text().strip()

    def run(self, count):
        self.page.wait_for_selector('#choice option[value="line-length-spread"]', state="attached")
        self.page.select_option("#choice", "line-length-spread")
        self.page.click("#start")
        self.page.wait_for_selector(f'html[data-runs="{count}"]')

    def begin(self, reader):
        self.page.fill("#initials", reader)
        self.page.click("#begin")
        self.page.wait_for_selector("#sign, #signed, #reveal")

    def sign(self, unread):
        self.page.click("#sign")
        assert f"{unread} of " in self.text("#unread")
        self.page.click("#sign-anyway")

    def revision(self, number):
        self.page.wait_for_selector(f'html[data-revision="{number}"]')

    def verdict(self, name, word, revision):
        self.page.get_by_role("button", name=f"{name}: {word}", exact=True).click()
        self.revision(revision)

    def plan(self, name, revision):
        self.page.get_by_role("button", name=f"plan {name}", exact=True).click()
        self.revision(revision)


def test_run_compare_read_sign_reload_and_a_second_reader(browser, session):
    with make_review(session) as server:
        tab = Tab(browser, server.url)
        tab.page.get_by_text("Run, read and sign").click()
        tab.page.wait_for_selector("html[data-ready]")
        assert "a.edf: 40.0 s" in tab.text("#onsets")
        tab.run(1)
        frame = tab.page.frame_locator("#page")
        frame.locator("#ranking tbody tr").first.wait_for(timeout=WAIT_MS)
        assert frame.locator("#ranking tbody tr").count() == 8

        mark(session, 50.0, 2, bad=('B"=4',))
        tab.run(2)
        tab.page.click("#tab-compare")
        tab.page.wait_for_selector("table.compare")
        changed = tab.page.locator("#view-compare li").all_inner_texts()
        assert changed[0] == "a.edf: onset 50.000 s, before 40.000 s"
        assert changed[1] == 'B"=4 is excluded'
        assert tab.page.locator("table.compare tbody tr").count() == 8
        assert "in one run only" in tab.text("table.compare tbody")
        assert "of" in tab.text(".numbers dd")

        tab.page.click("#tab-read")
        tab.begin("ab")
        for revision, name in enumerate(HOSTILE[:3], start=1):
            tab.verdict(name, "agree", revision)
        tab.verdict('B"=1', "disagree", 4)
        tab.plan("A<b>2", 5)
        tab.page.fill("#notes", "früh <script>alert(1)</script>")
        tab.revision(6)

        tab.open(tab.page.url)  # reload: nothing is lost
        tab.page.click("#tab-read")
        tab.page.wait_for_selector("#sign")
        pressed = tab.page.locator('[data-word][aria-pressed="true"]')
        assert pressed.count() == 4
        assert tab.page.input_value("#notes") == "früh <script>alert(1)</script>"
        tab.page.click("#sign")
        tab.page.click("#sign-back")  # contacts without a verdict: signing asks first
        tab.sign(unread=3)
        tab.page.wait_for_selector("#signed")
        assert tab.text("#signed").startswith("Signed by AB on 20")
        assert tab.page.locator("[data-word]:enabled").count() == 0

        other = Tab(browser, tab.page.url)
        other.begin("CD")  # a second reader marks before the ranking is shown
        assert other.page.locator("#tab-page").is_disabled()
        assert not other.page.locator("#page").is_visible()
        assert other.page.locator(".verdicts").count() == 0
        assert "rank" not in other.page.locator("[data-zone]").first.get_attribute("title")
        other.page.get_by_role("button", name="zone A<b>2", exact=True).click()
        other.page.click("#reveal")
        other.page.wait_for_selector("#sign")
        assert "Your onset zone (1 contact): " in other.text("#blind-compared")
        assert other.page.locator("#page").is_visible()
        assert "shown when your own reading is signed" in other.text("#view-read")
        assert other.page.get_by_text("page with readings").count() == 0, "it holds verdicts"
        assert "disagree" not in " ".join(other.page.locator(".verdicts td").all_inner_texts()[:3])
        for revision, name in enumerate(HOSTILE[:3], start=2):
            other.verdict(name, "agree", revision)
        other.verdict('B"=1', "unsure", 5)
        other.plan("A<b>2", 6)
        other.sign(unread=3)
        other.page.wait_for_selector(".kappa")
        told = other.page.locator(".kappa").all_inner_texts()
        # Three of four the same; by chance 9/16: (12/16 - 9/16) / (7/16).
        assert "Cohen's κ 0.43 (3 of 4 contacts the same)" in told[0]
        assert "resection plans: Cohen's κ 1.00 (7 of 7" in told[1]
        assert other.page.locator(".verdicts thead th").last.inner_text() == "AB"

        other.page.click("#amend")
        other.page.wait_for_selector("#sign")
        other.verdict('B"=1', "disagree", 9)
        other.sign(unread=3)
        other.page.wait_for_selector("#signed")
        assert "version 2" in other.text("#signed")
        assert "κ 1.00 (4 of 4" in other.text(".kappa")
        with other.page.expect_download() as download:
            other.page.get_by_text("page with readings").click()
        text = download.value.path().read_text(encoding="utf-8")
        assert "Read and signed" in text
        assert "alert(1)" not in text

        tab.open(server.url)
        tab.page.wait_for_function("() => /signed by AB, CD/.test(document.body.innerText)")
        assert tab.text("#queue") == "0 patients awaiting review"
        assert tab.problems == []
        assert other.problems == []
        tab.context.close()
        other.context.close()
    run = session.folder("sub-P1") / "runs" / "0002" / "page"
    assert len(json.loads((run / "readings.json").read_text())["readings"]) == 3
