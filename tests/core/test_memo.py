"""Results of the last computations."""

from __future__ import annotations

import numpy as np

from epilens.core.memo import LastResults, array_key


def test_a_result_is_computed_once_while_it_is_among_the_last():
    computed, last = [], LastResults(most=2)

    def result(key):
        return last.get(key, lambda: computed.append(key) or key)

    assert [result(key) for key in "abbaca"] == list("abbaca")
    assert computed == ["a", "b", "c", "a"]


def test_keys_with_equal_hashes_are_not_confused():
    assert hash(-1) == hash(-2)
    last = LastResults(most=2)
    assert [last.get(key, lambda key=key: key) for key in (-1, -2)] == [-1, -2]


def test_content_shape_and_type_of_an_array_are_in_its_key():
    x = np.arange(6.0)
    assert array_key(x) == array_key(x.copy())
    others = (x + 1, x.reshape(2, 3), x.view(np.int64))
    assert len({array_key(x), *map(array_key, others)}) == 4
