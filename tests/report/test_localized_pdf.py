"""The page on paper: few sheets, each with patient, disclaimer, date and number."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

import pytest
from commands import epilens
from localized_patients import hostile, usual
from new_patients import write_edf

from epilens.cli import localize as verb
from epilens.data.electrodes.positions import Positions
from epilens.io.atomic import write_bytes_atomically
from epilens.report.patient import page as on_paper
from epilens.report.patient.derivative import remove_results
from epilens.report.patient.localize import localize
from epilens.report.patient.page import page, write_report
from epilens.testing import make_recording

chromium = pytest.mark.skipif(
    on_paper.find_browser() is None,
    reason="no Chromium is installed (Debian: apt-get install chromium)",
)


@cache
def sixty():
    """60 contacts with positions, three seizures, a resection and another method."""
    names = tuple(f"{shaft}{i}" for shaft in "ABCDEF" for i in range(1, 11))
    at = {name: (-60.0 + 5 * (i % 10), -40.0 + 12 * (i // 10), 0.0) for i, name in enumerate(names)}
    parts = [
        make_recording("sub-60", f"run-{i}", seed=i, fs=128.0, channels=names, ez=6)
        for i in range(3)
    ]
    parts = [placed(part, at) for part in parts]
    return localize(parts, "line-length-change", resected="A1-6", compare=["line-length-spread"])


def placed(part, at):
    return replace(part, positions=Positions(at, "MNI152NLin2009cAsym"))


def sheets(path):
    return len(re.findall(rb"/Type\s*/Page\b", path.read_bytes()))


@chromium
def test_sixty_contacts_need_at_most_five_sheets(tmp_path):
    printed = on_paper.write_pdf(write_report(sixty(), tmp_path))
    assert printed == tmp_path / "sub-60.pdf"
    assert 2 <= sheets(printed) <= 5


def test_every_sheet_says_who_when_and_what_it_is_not():
    text = page(usual())
    rules = text[text.rindex("@page") : text.index("</style>")]
    assert 'content: "sub-Usual: contacts ranked by EpiLENS"' in rules
    assert 'content: "Research use only. Not for diagnosis' in rules
    assert f"analysed on {usual().analysed['date']}" in rules
    assert '"Page " counter(page) " of " counter(pages)' in rules


def test_nothing_leaves_a_string_of_the_style():
    rules = on_paper.sheet_rules('"; } </style><b>\\', "2026-11-17", "EpiLENS")
    assert "<" not in rules
    assert rules.count('"') % 2 == 0
    assert "\\22 \\3b  \\7d  \\3c " in rules


def test_without_a_browser_one_sentence_tells_how_to_print(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(on_paper, "BROWSERS", ("no-such-browser",))
    assert on_paper.write_pdf(tmp_path / "sub-1.html") is None
    assert "open the page in a browser and print it on A4" in capfd.readouterr().err


def test_a_browser_that_fails_is_told_and_leaves_nothing(tmp_path, monkeypatch, capfd):
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setattr(on_paper, "BROWSERS", (str(broken),))
    assert on_paper.write_pdf(tmp_path / "sub-1.html") is None
    assert "wrote none (exit code 3)" in capfd.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["broken"]


def test_the_verb_prints_where_it_is_asked_to(tmp_path, monkeypatch):
    asked, found = [], hostile()
    monkeypatch.setattr("epilens.localization.result.assemble", lambda request, tick: found)
    monkeypatch.setattr("epilens.report.patient.page.write_pdf", asked.append)
    verb.run_localize(verb.Request([]), tmp_path / "a", pdf=True)
    verb.run_localize(verb.Request([]), tmp_path / "b")
    assert asked == [tmp_path / "a" / "sub-Hostile.html"]


def test_a_new_page_removes_the_pdf_of_an_earlier_one(tmp_path):
    page = write_report(usual(), tmp_path)
    others = tmp_path / "sub-Other.pdf"
    for pdf in (page.with_suffix(".pdf"), others):
        pdf.write_bytes(b"%PDF of an earlier page")
    write_report(usual(), tmp_path)
    assert not page.with_suffix(".pdf").exists()
    assert others.exists()
    page.with_suffix(".pdf").write_bytes(b"%PDF")
    remove_results(usual().patient, tmp_path)
    assert not page.with_suffix(".pdf").exists()


@pytest.mark.parametrize("options", [(), ("--pdf",)])
def test_the_terminal_names_a_pdf_that_was_written(tmp_path, monkeypatch, options):
    def write(page):
        return write_bytes_atomically(page.with_suffix(".pdf"), b"%PDF")

    monkeypatch.setattr(on_paper, "write_pdf", write)
    file = write_edf(tmp_path / "a.edf")
    done = epilens("localize", "random", file, "--onset", 40, "--out", tmp_path / "o", *options)
    named = f"PDF: {tmp_path / 'o' / 'sub-patient.pdf'}" in done.stderr
    assert named == bool(options)
