"""Errors carry fields for programs; the sentence is rendered from them."""

from __future__ import annotations

import pickle

import pytest

from epilens.core import errors
from epilens.core.errors import DataError, EpilensError, OnsetError, Reason

CLASSES = [
    value
    for value in vars(errors).values()
    if isinstance(value, type) and issubclass(value, EpilensError) and value is not EpilensError
]


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_every_class_has_a_code_of_its_own(kind):
    assert kind("plain text").code == kind.default_code != ""
    assert [other for other in CLASSES if other.default_code == kind.default_code] == [kind]


def test_plain_text_stays_as_it_is():
    error = EpilensError("plain text with {found}")
    assert (str(error), error.code, error.subject) == ("plain text with {found}", "", "")


def test_fields_are_rendered_in_the_usual_grammar():
    error = DataError("expected a file", code="x", subject="a.edf", found="a pipe", hint="Move it.")
    assert str(error) == "a.edf: expected a file, found a pipe. Move it."
    assert (error.code, error.subject, error.found, error.hint) == (
        *("x", "a.edf", "a pipe", "Move it."),
    )


def test_an_error_keeps_its_fields_on_the_way_between_processes():
    error = pickle.loads(pickle.dumps(OnsetError("expected one", found="two", code="onset-two")))
    assert (type(error), str(error)) == (OnsetError, "expected one, found two.")
    assert (error.code, error.found) == ("onset-two", "two")


def test_a_subject_is_named_once():
    error = DataError("expected one", found="two").about("sub-01")
    assert str(error) == str(error.about("sub-02")) == "sub-01: expected one, found two."


def test_a_reason_can_become_an_error():
    reason = Reason("expected one", "x", found="two")
    assert DataError.of(reason).reason == reason
