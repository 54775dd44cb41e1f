"""Damaged inputs, a few for every reader: our own exceptions, and none that is not.

The same readers and damages as `python -m benchmarks fuzz`, which has a longer budget.
"""

from __future__ import annotations

import random
import warnings

import pytest
from benchmarks.fuzz import TOKENS, damaged
from benchmarks.fuzzed_readers import READERS, Reader, prepared
from hypothesis import given, settings
from hypothesis import strategies as st

from epilens.core.errors import EpilensError

TEXTS = [reader for reader in READERS if reader.share >= 1 and reader.name != "model.json, signed"]


def read(reader: Reader, place, content: bytes) -> None:
    place.write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            reader.read(place)
        except EpilensError as error:
            assert "\n" not in str(error) or len(str(error)) < 2000  # noqa: PT017


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_a_damaged_input_is_refused_in_our_own_words(reader):
    valid, place = prepared(reader)
    for i in range(20):
        read(reader, place, damaged(valid, random.Random(f"test {reader.name} {i}")))


@pytest.mark.parametrize("reader", TEXTS, ids=lambda reader: reader.name)
def test_any_edit_of_a_valid_text_is_refused_in_our_own_words(reader):
    valid, place = prepared(reader)

    @settings(max_examples=25, deadline=None, database=None)
    @given(
        st.sampled_from(valid),
        st.lists(st.tuples(st.integers(0, 400), st.sampled_from(TOKENS) | st.binary(max_size=8))),
    )
    def check(text: bytes, edits: list[tuple[int, bytes]]) -> None:
        for at, piece in edits:
            text = text[:at] + piece + text[at + 1 :]
        read(reader, place, text)

    check()


def test_the_same_number_is_the_same_input():
    first, again = (damaged([b"abc" * 9], random.Random("x 1")) for _ in range(2))
    assert first == again
