"""Contact names and clinicians' contact lists."""

from __future__ import annotations

import time
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epilens.data.channels.contacts import (
    Contact,
    ContactList,
    contacts_of_channel,
    expand_contacts,
    match_list,
    negation_in,
    parse_contact,
    short_names,
)


@pytest.mark.parametrize(
    ("name", "shaft", "number"),
    [
        ("A1", "A", 1),
        ("a1", "A", 1),
        ("TT12", "TT", 12),
        ("LF 01", "LF", 1),
        ("LF_01", "LF", 1),
        ("LF-01", "LF", 1),
        ("EEG LF 01-Ref", "LF", 1),
        ("EEG LF 01-REF", "LF", 1),
        ("POL A'12", "A'", 12),
        ("A12'", "A'", 12),
        ("POL A 12′-Ref", "A'", 12),
        ("SEEG B3-Av", "B", 3),
        (" RPG64 ", "RPG", 64),
        ("G10", "G", 10),
        ("G100", "G", 100),
        ("A1-10", "A1", 10),
        ("Éa3", "ÉA", 3),
        ("A0", "A", 0),
        ("A00", "A", 0),
    ],
)
def test_a_name_has_a_shaft_and_a_number(name, shaft, number):
    assert parse_contact(name) == Contact(shaft, number)


@pytest.mark.parametrize("name", ["", " ", "ECG", "EKG", "12", "-3", "_1", "A", "EEG", "Ref", "1A"])
def test_a_name_without_a_shaft_or_a_number_is_no_contact(name):
    assert parse_contact(name) is None


def test_zeros_and_case_do_not_distinguish_contacts():
    assert parse_contact("EEG LF 01-Ref") == parse_contact("lf1")


@pytest.mark.parametrize(
    ("name", "shaft"), [("G2", "G"), ("g2", "G"), ("LG2", "LG"), ("RPG2", "RPG"), ("EEG G2", "G")]
)
def test_contact_two_of_a_grid_is_not_the_reference_g2(name, shaft):
    """`-G2` after a name is an amplifier's second input; `G2` itself is a contact."""
    assert parse_contact(name) == Contact(shaft, 2)


def test_the_reference_g2_after_a_name_is_not_part_of_it():
    assert parse_contact("A3-G2") == Contact("A", 3)


def test_a_prime_distinguishes_shafts():
    assert parse_contact("A'1") != parse_contact("A1")


def test_a_prime_at_the_end_of_a_name_is_of_its_shaft():
    assert [str(c) for c in contacts_of_channel("EEG A1'-A2'")] == ["A'1", "A'2"]
    assert short_names(["POL A’1", "A2′", "A2"]) == ("A'1", "A'2", "A2")
    named = match_list(expand_contacts("F1'-4', Q2, F5’ and 6"), ["F1'", "F4'", "F6'", "F1", "Q2"])
    assert named.channels == {"F1'", "F4'", "F6'", "Q2"}
    assert [str(c) for c in named.unknown] == ["F'2", "F'3", "F'5"]


@pytest.mark.parametrize(
    ("name", "contacts"),
    [
        ("RM2-3", ["RM2", "RM3"]),
        ("EEG A1-2", ["A1", "A2"]),
        ("RM 10-09", ["RM10", "RM9"]),
        ("A'1-2", ["A'1", "A'2"]),
        ("A1-2'", ["A'1", "A'2"]),
        ("A1-10", ["A110"]),
        ("LF-01", ["LF1"]),
        ("LF01-0", ["LF010"]),  # the first of two channels LF01, as MNE names it
    ],
)
def test_a_number_alone_is_the_neighbour_on_the_same_electrode(name, contacts):
    assert [str(c) for c in contacts_of_channel(name)] == contacts


def test_a_short_name_keeps_the_dash_between_numbers():
    names = ["RM2-3", "EEG A1-2", "POL A 01-02", "EEG A1-10", "A1'-2'"]
    assert short_names(names) == ("RM2-3", "A1-2", "A01-02", "A1-10", "A'1-2")


def test_a_prime_of_another_side_than_its_shaft_is_not_understood():
    listed = expand_contacts("F1, 2'")
    assert ([str(c) for c in listed.contacts], listed.not_understood) == (["F1"], ("2'",))
    assert [str(c) for c in expand_contacts("'A1', 'A2-3'").contacts] == ["A1", "A2", "A3"]


@given(st.from_regex(r"[A-Za-z]{1,4}'?", fullmatch=True), st.integers(0, 999))
def test_a_written_contact_is_read_back(shaft, number):
    contact = Contact(shaft.upper(), number)
    assert parse_contact(str(contact)) == contact


@given(st.text(max_size=60))
def test_parsing_never_raises(text):
    parse_contact(text)


def test_a_number_of_five_thousand_digits_is_no_contact():
    name = "A" + "1" * 5000
    assert parse_contact(name) is None
    assert expand_contacts(name).contacts == ()
    assert expand_contacts(name).not_understood == (name,)


@pytest.mark.parametrize(("piece", "end"), [("0", "x"), (" ", "x"), ("-_ ", "")])
def test_time_grows_with_the_length_of_a_name_and_not_faster(piece, end):
    def took(pieces: int) -> float:
        text, times = "A" + piece * pieces + end, []
        for _ in range(5):
            start = time.process_time()
            for _ in range(20):
                parse_contact(text)
            times.append(time.process_time() - start)
        return min(times)

    # 16 where time grows with the length, 256 with its square.
    assert took(1600) < 64 * took(100)


def expanded(text: str) -> list[str]:
    return [str(contact) for contact in expand_contacts(text).contacts]


@pytest.mark.parametrize(
    ("text", "contacts"),
    [
        ("TT1-3", ["TT1", "TT2", "TT3"]),
        ("TT1 - 3", ["TT1", "TT2", "TT3"]),
        ("TT1-TT3", ["TT1", "TT2", "TT3"]),
        ("tt1-Tt3", ["TT1", "TT2", "TT3"]),
        ("TT3-1", ["TT1", "TT2", "TT3"]),
        ("TT 01-03", ["TT1", "TT2", "TT3"]),
        ("PST1-2: AST1-2", ["PST1", "PST2", "AST1", "AST2"]),
        ("A1;B2,C3:D4 E5\nF6", ["A1", "B2", "C3", "D4", "E5", "F6"]),
        ("A1\r\nB2", ["A1", "B2"]),
        ("A1, 3, 5-6", ["A1", "A3", "A5", "A6"]),
        ("A'1-2", ["A'1", "A'2"]),
        ("A1; a1; A01", ["A1"]),
        ("B2; A1", ["B2", "A1"]),
        ("TT1-6;", ["TT1", "TT2", "TT3", "TT4", "TT5", "TT6"]),
        ("", []),
        ("n/a", []),
    ],
)
def test_a_list_is_expanded(text, contacts):
    assert expanded(text) == contacts


@pytest.mark.parametrize("text", ["A1-B3", "1-3", "G1-9999"])
def test_a_range_that_cannot_be_meant_is_not_understood(text):
    assert expand_contacts(text).contacts == ()
    assert expand_contacts(text).not_understood == (text,)


def test_words_between_contacts_are_kept_as_not_understood():
    found = expand_contacts("A1; left insula; B2")
    assert [str(c) for c in found.contacts] == ["A1", "B2"]
    assert found.not_understood == ("left", "insula")


@pytest.mark.parametrize("text", ["TT1 and 2", "TT1 & 2"])
def test_a_joining_word_is_not_taken_for_a_shaft(text):
    assert expanded(text) == ["TT1", "TT2"]


def test_a_shaft_may_be_called_like_a_word():
    """The multi-site cohort has a strip TO."""
    assert expanded("TT1 TO 2; AND3") == ["TT1", "TO2", "AND3"]


CONTACTS = st.builds(Contact, st.from_regex(r"[A-Z]{1,4}'?", fullmatch=True), st.integers(0, 300))


@given(st.lists(CONTACTS, max_size=20, unique=True), st.sampled_from([" ", ";", ", ", ":", "\n"]))
def test_contacts_that_are_written_out_expand_to_themselves(contacts, separator):
    text = separator.join(map(str, contacts))
    assert expand_contacts(text).contacts == tuple(contacts)


@given(CONTACTS, st.integers(0, 64))
def test_a_range_has_every_contact_from_first_to_last(first, more):
    text = f"{first}-{first.number + more}"
    numbers = [c.number for c in expand_contacts(text).contacts]
    assert numbers == list(range(first.number, first.number + more + 1))


@given(st.text(alphabet="aB'12 0-;,:\n.x#", max_size=60))
def test_expanding_what_was_expanded_changes_nothing(text):
    once = expand_contacts(text).contacts
    assert expand_contacts(" ".join(map(str, once))).contacts == once


@given(st.text(max_size=200))
def test_expanding_never_raises_and_stays_bounded(text):
    found = expand_contacts(text)
    assert len(found.contacts) <= 256 * max(1, len(text))
    assert len(found.not_understood) <= max(1, len(text))


def test_a_huge_range_is_refused_at_once():
    tracemalloc.start()
    try:
        assert expand_contacts("A1-999999999999").contacts == ()
        assert tracemalloc.get_traced_memory()[1] < 1e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("apostrophe", list("'’‘`´ʼ′"))
@pytest.mark.parametrize("dash", list("-‐‑–—−"))
def test_typographic_apostrophes_and_dashes_are_plain_ones(apostrophe, dash):
    assert expanded(f"A{apostrophe}1{dash}4") == ["A'1", "A'2", "A'3", "A'4"]
    assert parse_contact(f"A{apostrophe}1") == Contact("A'", 1)


@pytest.mark.parametrize("text", ["A'1 to 4", "A'1 to A'4", "A’1  to  4"])
def test_a_range_may_be_written_with_to(text):
    assert expanded(text) == ["A'1", "A'2", "A'3", "A'4"]


def test_the_strip_to_of_a_patient_is_no_range():
    assert [str(c) for c in expand_contacts("tt1 to 2", {"TT", "TO"}).contacts] == ["TT1", "TO2"]
    assert [str(c) for c in expand_contacts("TT1 TO 2", {"TT"}).contacts] == ["TT1", "TT2"]


def test_what_a_recorder_wraps_around_names_is_no_word_of_a_list():
    found = expand_contacts("EEG LF 01-Ref, EEG A1-A2")
    assert found.not_understood == ()
    assert [str(c) for c in found.contacts] == ["LF1", "A1", "A2"]


@pytest.mark.parametrize("name", ["A1-A2", "EEG A1-A2", "POL A’1–A’2", "A1-A2-Ref", "a1-A2"])
def test_a_bipolar_name_has_two_contacts(name):
    assert [c.number for c in contacts_of_channel(name)] == [1, 2]


def matched(text: str, *channels: str) -> set[str]:
    return set(match_list(expand_contacts(text), channels).channels)


def test_capitals_do_not_matter_where_they_need_not():
    assert matched("a1-3", "A1", "A2", "A3", "A4") == {"A1", "A2", "A3"}


def test_where_a_recording_has_both_capitals_count():
    assert matched("a1", "a1", "A1", "B1") == {"a1"}
    assert matched("A1", "a1", "A1", "B1") == {"A1"}
    assert matched("A1; a1", "a1", "A1") == {"A1", "a1"}


def test_a_contact_that_is_spelt_like_neither_is_ambiguous():
    found = match_list(expand_contacts("LA1, b1"), ["la1", "La1", "B1"])
    assert (set(found.channels), found.ambiguous) == ({"B1"}, (Contact("LA", 1),))
    assert found.unknown == ()


def test_of_a_bipolar_channel_either_contact_is_enough():
    assert matched("A2", "EEG A1-A2", "EEG A2-A3", "EEG A3-A4") == {"EEG A1-A2", "EEG A2-A3"}


def test_a_list_of_names_may_have_pairs():
    found = ContactList.of_names(["EEG A1-A2", "nobody"])
    assert [str(c) for c in found.contacts] == ["A1", "A2"]
    assert found.not_understood == ("nobody",)


def test_short_names_are_unique_and_never_invented():
    whole = ["EEG RC 12-Ref", "EEG RC 13-Ref", "RC13", "DC 01", "<b>1", "A\x1b[3m4"]
    assert short_names(whole) == ("RC12", "EEG RC 13-Ref", "RC13", "DC01", "<b>1", "A\x1b[3m4")


@given(st.lists(st.text(max_size=12), unique=True, max_size=8))
def test_short_names_of_anything_tell_channels_apart(names):
    assert len(set(short_names(names))) == len(names)


@pytest.mark.parametrize("text", ["RB1..3", "RB1 .. RB3", "RB1…3", "RB1...3"])
def test_dots_between_numbers_are_a_range(text):
    assert [str(contact) for contact in expand_contacts(text).contacts] == ["RB1", "RB2", "RB3"]


def test_dots_at_the_end_of_a_sentence_are_no_range():
    assert [str(c) for c in expand_contacts("RB1. RB3, RC2...").contacts] == ["RB1", "RB3", "RC2"]


@pytest.mark.parametrize(
    "text", ["not RB1", "RB1-6 except RB3", "RB1, ohne RB2", "RB1-4 (without 2)", "No RB1"]
)
def test_a_list_that_excludes_contacts_is_recognised(text):
    assert negation_in(text, {"RB"})


@pytest.mark.parametrize("text", ["RB1-6", "NOT1-3", "NO 1-4", "NO1, NO2", "BUT 3"])
def test_electrodes_are_no_negations(text):
    assert negation_in(text, {"RB", "NO", "NOT", "BUT"}) == ""
