"""Readings: saved by revision, signed for good, amended as a new version, never lost."""

from __future__ import annotations

import html
import json
import threading

import pytest

from epilens.core.errors import ReadingError
from epilens.review.errors import ConflictError
from epilens.review.reading_export import add_to_page, to_json, to_table, write_readings
from epilens.review.reading_store import ReadingStore
from epilens.review.readings import Judgement, Reading, parse_initials
from epilens.review.requests import ReadingRequest

CONTACTS = ("A1", "A2", "=cmd|0", "<b>B1</b>")


@pytest.fixture
def readings(tmp_path):
    return ReadingStore(tmp_path / "readings", "sub-X")


def said(word="agree", run=1, **others):
    return Judgement(run=run, verdicts={"A1": word}, **others)


def test_what_was_saved_is_there_after_opening_again(readings):
    saved = readings.save("jd", said(plan=("A1", "A2"), notes="früh\n<b>"), base=0)
    again = ReadingStore(readings.folder, "sub-X")
    assert again.readers == ["JD"]
    assert again.latest("JD") == saved
    assert (saved.revision, saved.version, saved.signed_on) == (1, 1, "")


def test_a_save_on_top_of_an_old_revision_is_refused_and_loses_nothing(readings):
    readings.save("JD", said("agree"), base=0)
    with pytest.raises(ConflictError, match="expected revision 0 to be the newest, found 1"):
        readings.save("JD", said("unsure"), base=0)
    assert readings.latest("JD").judgement.verdicts == {"A1": "agree"}


def test_of_many_that_save_at_once_one_wins_and_the_others_are_refused(readings):
    results = []

    def save(word):
        try:
            results.append(ReadingStore(readings.folder, "sub-X").save("JD", said(word), 0))
        except ConflictError as error:
            results.append(str(error))

    threads = [threading.Thread(target=save, args=(w,)) for w in ("agree", "unsure") * 8]
    [t.start() for t in threads]
    [t.join() for t in threads]
    won = [one for one in results if not isinstance(one, str)]
    assert len(results) == 16
    assert len(won) == 1
    assert readings.latest("JD") == won[0]
    assert list(readings.folder.rglob(".*")) == []


def test_a_signed_reading_is_frozen(readings):
    readings.save("JD", said(), 0)
    signed = readings.sign("JD", said(), 1, "digest")
    assert len(signed.signed_on) == 10
    assert signed.is_intact
    for act in (
        lambda: readings.save("JD", said("unsure"), 2),
        lambda: readings.sign("JD", said(), 2, ""),
    ):
        with pytest.raises(ReadingError, match="found version 1, signed on"):
            act()
    assert readings.latest("JD") == signed


def test_an_amendment_is_a_new_version_and_the_old_one_stays(readings):
    first = readings.sign("JD", said(), 0, "digest")
    draft = readings.amend("JD", 1)
    assert (draft.version, draft.signed_on, draft.judgement) == (2, "", first.judgement)
    assert readings.last_signed()["JD"] == first  # until it is signed
    second = readings.sign("JD", said("disagree"), 2, "digest")
    assert [one.version for one in readings.signed("JD")] == [1, 2]
    assert readings.last_signed() == {"JD": second}
    assert readings.signed("JD")[0] == first


def test_what_is_not_signed_cannot_be_amended(readings):
    with pytest.raises(ReadingError, match="a signed reading to amend, found none"):
        readings.amend("JD", 0)
    readings.save("JD", said(), 0)
    with pytest.raises(ReadingError, match="a signed reading to amend, found a draft"):
        readings.amend("JD", 1)


def test_nothing_cannot_be_signed(readings):
    with pytest.raises(ReadingError, match="Judge a contact before you sign"):
        readings.sign("JD", Judgement(run=1, notes="  "), 0, "")


def test_a_signed_file_that_was_changed_is_noticed(readings):
    readings.sign("JD", said(), 0, "digest")
    path = next(readings.folder.rglob("*.json"))
    text = path.read_text()
    path.chmod(0o644)
    path.write_text(text.replace('"agree"', '"disagree"'))
    assert not readings.latest("JD").is_intact
    assert not to_json(readings, 1, CONTACTS)["readings"][0]["intact"]


def test_old_drafts_go_and_signed_versions_stay(readings):
    signed = readings.sign("JD", said(), 0, "")
    readings.amend("JD", 1)
    for base in range(2, 60):
        readings.save("JD", said("unsure", notes=str(base)), base)
    assert len(list(readings.folder.rglob("*.json"))) == 21
    assert readings.signed("JD") == [signed]
    assert readings.latest("JD").revision == 60
    with pytest.raises(ConflictError, match="found 60"):
        readings.save("JD", said(), 5)


def test_a_file_that_cannot_be_read_is_named(readings):
    readings.save("JD", said(), 0)
    next(readings.folder.rglob("*.json")).write_text("{")
    with pytest.raises(ReadingError, match=r"000001\.json: expected a reading"):
        readings.latest("JD")


@pytest.mark.parametrize("bad", ["", "../x", "a b", "ABCDEFG", "J_D", None, 5, "A\x00", "<b>"])
def test_initials_are_letters_and_digits(bad):
    with pytest.raises(ReadingError, match="expected initials of one to six"):
        parse_initials(bad)


def test_initials_of_other_alphabets_are_one_reader_however_typed():
    assert parse_initials("o\u0308k") == parse_initials("ÖK") == "ÖK"


def judged(run=3, **changes):
    tree = {"case": "sub-X", "run": run, "reader": "JD", "base": 0, "act": "save"} | changes
    return ReadingRequest.from_json(tree, "reading", "Reload.", ReadingError).judgement(CONTACTS)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"verdicts": {"Z9": "agree"}}, "expected contacts of run 3, found 'Z9'"),
        ({"verdicts": {"A1": "maybe"}}, "expected agree, disagree, unsure for verdicts"),
        ({"verdicts": {"A1": ["agree"]}}, "expected agree"),
        ({"verdicts": ["A1"]}, "expected agree.*found a list of 1"),
        ({"plan": ["Z9"]}, "found 'Z9'"),
        ({"plan": [["A1"]]}, "expected a list of contacts for plan"),
        ({"plan": "A1"}, "expected a list of contacts for plan, found 'A1'"),
        ({"notes": 1}, "expected a text of at most 20000 characters for notes, found 1"),
        ({"notes": "x" * 20_001}, "at most 20000.*found a text of 20001 characters"),
        ({"notes": "a\ud800b"}, r"expected Unicode text without lone surrogates.*\\ud800"),
        ({"verdicts": {"\ud800": "agree"}}, "expected Unicode text without lone surrogates"),
        ({"reader": "J\ud800"}, "expected Unicode text without lone surrogates"),
        ({"run": "1"}, "expected the number of a run"),
        ({"other": 1}, "expected an object with known fields, found 'other'"),
    ],
)
def test_nonsense_is_refused(changes, match):
    with pytest.raises(ReadingError, match=match):
        judged(**changes)


def test_a_plan_names_a_contact_once():
    assert judged(plan=["A2", "A1", "A2"]).plan == ("A1", "A2")


def test_a_reading_signed_with_an_earlier_version_is_intact():
    tree = {
        "patient": "sub-X",
        "reader": "ÖK",
        "judgement": {
            "run": 2,
            "verdicts": {"A1": "agree", "<b>B1": "unsure"},
            "plan": ["A1"],
            "notes": "früh\n“x”",
        },
        "revision": 1,
        "version": 1,
        "saved_at": "2026-11-17T10:00:00+00:00",
        "signed_on": "2026-11-18",
        "ranking": "abc",
        "seal": "80b8d91790a43961e1a3b491b1815adbecb41865d538654fe95e2ba942ab1dde",
    }
    reading = Reading.model_validate(tree)
    assert reading.is_intact
    assert json.dumps(reading.to_json()) == json.dumps(tree)


def two_signed(readings):
    verdicts = dict.fromkeys(CONTACTS, "agree")
    readings.sign(
        "AB", Judgement(run=1, verdicts=verdicts, plan=("A1",), notes="secret <i>note</i>"), 0, "d"
    )
    other = verdicts | {"A2": "disagree"}
    readings.sign("CD", Judgement(run=1, verdicts=other, plan=("A1", "A2")), 0, "d")
    readings.save("EF", said(), 0)


def test_the_exported_tree_has_all_signed_readings_and_their_agreement(readings):
    two_signed(readings)
    tree = to_json(readings, 1, CONTACTS)
    assert [one["reader"] for one in tree["readings"]] == ["AB", "CD"]
    assert tree["drafts"] == 1
    assert tree["readings"][0]["judgement"]["notes"] == "secret <i>note</i>"
    assert tree["agreement"]["verdicts"]["same"] == 3
    # In the plan or not: 1 both, 1 only CD, 2 neither; (3/4 - 1/2) / (1 - 1/2).
    assert tree["agreement"]["plan"]["kappa"] == pytest.approx(0.5)
    assert "Not for diagnosis" in tree["about"]


def test_readings_of_different_runs_are_not_compared(readings):
    readings.sign("AB", said(run=1), 0, "d")
    readings.sign("CD", said(run=2), 0, "d")
    assert to_json(readings, 2, CONTACTS)["agreement"] == {"verdicts": None, "plan": None}


def test_the_exported_page_calls_contacts_as_it_does_itself(readings):
    name = "EEG LA 03-Ref"
    readings.sign("ab", Judgement(run=1, verdicts={name: "agree"}), 0, "digest")
    text = add_to_page("<main></main>", readings, 1, [name])
    assert f'title="{name}">LA03</td>' in text


def test_the_exported_table_runs_nothing_and_has_no_notes(readings):
    two_signed(readings)
    lines = to_table(readings, 1, CONTACTS).splitlines()
    assert len(lines) == 1 + 2 * len(CONTACTS)
    assert lines[0].split("\t")[:4] == ["patient", "run", "contact", "rank"]
    cells = [line.split("\t") for line in lines[1:]]
    assert cells[2][2] == "'=cmd|0"
    assert cells[0][4:] == ["AB", "1", readings.latest("AB").signed_on, "agree", "yes"]
    assert "secret" not in "".join(lines)
    assert len({len(row) for row in cells}) == 1


def test_the_page_gets_verdicts_but_no_notes_and_no_markup(readings):
    page = "<body><main><h2>Ranking</h2></main><footer></footer></body>"
    assert add_to_page(page, readings, 1, CONTACTS) == page
    two_signed(readings)
    text = add_to_page(page, readings, 1, CONTACTS)
    assert text.startswith("<body><main><h2>Ranking</h2><section")
    assert text.endswith("</section>\n</main><footer></footer></body>")
    assert "&lt;b&gt;B1&lt;/b&gt;" in text
    assert "<b>" not in text
    assert "secret" not in text
    assert "EF" not in text  # a draft is nobody's business
    assert "Cohen's κ 0.00 (3 of 4 contacts the same)" in html.unescape(text)


def test_files_next_to_the_page_are_written(readings, tmp_path):
    two_signed(readings)
    write_readings(tmp_path, readings, 1, CONTACTS)
    assert json.loads((tmp_path / "readings.json").read_text())["patient"] == "sub-X"
    assert (tmp_path / "readings.tsv").read_text() == to_table(readings, 1, CONTACTS)


def request(**changes):
    usual = {"case": "sub-1", "run": 1, "reader": "JD", "base": 0, "act": "save"}
    return ReadingRequest.model_validate(usual | changes)


def test_what_was_marked_blind_stays_after_the_ranking_is_shown():
    names = ["A1", "A2", "A3"]
    blind = request(zone=["A2"], plan=["A1"], blind=True).judgement(names)
    assert (blind.zone, blind.blind_plan, blind.blind) == (("A2",), ("A1",), True)
    later = request(zone=["A3"], plan=["A3"], verdicts={"A1": "agree"}).judgement(names, blind)
    assert (later.zone, later.blind_plan, later.plan) == (("A2",), ("A1",), ("A3",))
    assert Judgement.model_validate(later.to_json()) == later
    other_run = request(run=2, plan=["A3"]).judgement(["A2", "A3"], blind)
    assert (other_run.zone, other_run.blind_plan, other_run.blind) == (("A2",), (), True)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"blind": True}, "expected an onset zone or a plan"),
        ({"blind": True, "zone": ["A1"], "verdicts": {"A1": "agree"}}, "before any verdict"),
        ({"blind": True, "zone": ["Q9"]}, "expected contacts of run 1, found 'Q9'"),
    ],
)
def test_a_reading_that_is_not_blind_is_not_stored_as_one(changes, why):
    with pytest.raises(ReadingError, match=why):
        request(**changes).judgement(["A1"])


def test_a_reading_after_verdicts_is_not_blind():
    seen = Judgement(run=1, verdicts={"A1": "agree"})
    with pytest.raises(ReadingError, match="before any verdict"):
        request(blind=True, zone=["A1"]).judgement(["A1"], seen)
