"""Channels that the user excludes: a list of them depends on codes, not on words."""

from __future__ import annotations

from epilens.data.audit import AuditRow, Note
from epilens.data.channels.user_choices import exclusion, list_exclusions


def row(channel, note):
    return AuditRow.of("channel", note, ("sub-1", "run-1", channel))


def test_exclusions_are_listed_by_their_reason():
    rows = [row("A1", exclusion("artifact")), row("A2", exclusion("")), row("A3", exclusion("x"))]
    assert list_exclusions([*rows, row("ECG", Note("type is ECG", "channel-type"))]) == [
        "excluded by the user (artifact): A1",
        "excluded by the user: A2",
        "excluded by the user (other reason): A3",
    ]


def test_an_exclusion_in_other_words_is_listed_too():
    assert list_exclusions([row("A1", Note("is left out", "channel-excluded"))]) == [
        "excluded by the user: A1"
    ]
