"""Rows of the audit have codes that are given where a reason arises."""

from __future__ import annotations

from epilens.core.errors import DataError, EpilensError
from epilens.data.audit import AuditRow, Note, audit_frame


def test_a_row_is_rendered_from_the_fields_of_its_reason():
    note = Note("signal is {found}", "channel-quality", found="flat")
    row = AuditRow.of("channel", note, ("sub-01", "run-1", "A1"), "noted")
    assert (row.why, row.code, row.found) == ("signal is flat", "channel-quality", "flat")
    assert (row.where, row.effect) == ("sub-01 run-1 A1", "noted")


def test_the_row_of_an_error_has_its_code():
    error = DataError("expected a file", code="not-a-file", subject="x.tsv", found="a pipe")
    row = AuditRow.of("seizure", error, ("sub-01",))
    assert (row.code, row.why) == ("not-a-file", "x.tsv: expected a file, found a pipe.")


def test_codes_that_the_audit_does_not_have_are_other():
    assert AuditRow.of("patient", EpilensError("no seizure onset")).code == "other"


def test_words_of_a_reason_change_no_code():
    assert AuditRow.of("dataset", Note("status is onset, by its label")).code == "other"


def test_a_row_is_stored_with_its_code_and_read_again():
    row = AuditRow.of("channel", Note("signal is {found}", "channel-quality", found="flat"))
    assert AuditRow(**row.to_json()) == row
    assert "hint" not in row.to_json()


def test_rows_of_earlier_versions_have_no_code():
    stored = {"what": "channel", "why": "signal is flat", "effect": "noted"}
    table = audit_frame([AuditRow(**stored)])
    assert table[["code", "why"]].values.tolist() == [["other", "signal is flat"]]
