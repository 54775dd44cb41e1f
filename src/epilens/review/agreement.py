"""Agreement of readers: Cohen's kappa for two, Fleiss' kappa for more, with the counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from epilens.io.documents import Document


class Agreement(Document):
    """Agreement of readers on the same contacts."""

    readers: tuple[str, ...]
    words: tuple[str, ...]
    """Possible answers; the order of rows and columns of `counts`."""
    contacts: int
    """Contacts that all readers judged; only these count."""
    left_out: int
    """Contacts that only some of the readers judged."""
    same: int
    """Contacts with the same answer of all readers."""
    kappa: float | None
    """None where kappa is not defined: no contact, or one answer everywhere."""
    kind: str
    """`Cohen` for two readers, `Fleiss` for more."""
    counts: tuple[tuple[int, ...], ...]
    """Two readers: contacts by the answer of the first (row) and of the second (column). More:
    one row, answers of all readers."""


def measure_agreement(
    answers: Mapping[str, Mapping[str, str]], words: Sequence[str]
) -> Agreement | None:
    """Return the agreement of readers from their answers by contact; None for fewer than two."""
    readers = tuple(answers)
    if len(readers) < 2:
        return None
    judged = [set(by_contact) for by_contact in answers.values()]
    common = sorted(set.intersection(*judged))
    table = np.array(
        [[words.index(answers[reader][name]) for reader in readers] for name in common], int
    ).reshape(len(common), len(readers))
    two = len(readers) == 2
    counts = _square(table, len(words)) if two else _votes(table, len(words)).sum(0, keepdims=True)
    return Agreement(
        readers=readers,
        words=tuple(words),
        contacts=len(common),
        left_out=len(set.union(*judged)) - len(common),
        same=int((table == table[:, :1]).all(axis=1).sum()),
        kappa=cohen(counts) if two else fleiss(_votes(table, len(words))),
        kind="Cohen" if two else "Fleiss",
        counts=tuple(tuple(int(n) for n in row) for row in counts),
    )


def _square(table: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    counts = np.zeros((size, size), int)
    np.add.at(counts, (table[:, 0], table[:, 1]), 1)
    return counts


def _votes(table: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """How many readers gave each answer (contact, word)."""
    return (table[:, :, None] == np.arange(size)).sum(axis=1)


def cohen(counts: NDArray[np.int64]) -> float | None:
    """Cohen's kappa, unweighted, of a square table of counts.

    Examples
    --------
    >>> round(cohen(np.array([[20, 5], [10, 15]])), 3)
    0.4
    """
    if not counts.sum():
        return None
    share = counts / counts.sum()
    by_chance = float(share.sum(axis=0) @ share.sum(axis=1))
    return _above_chance(float(np.trace(share)), by_chance)


def fleiss(votes: NDArray[np.int64]) -> float | None:
    """Fleiss' kappa of votes (contact, word); every contact has the same number of them."""
    if not len(votes):
        return None
    n = votes[0].sum()
    within = (votes * (votes - 1)).sum(axis=1) / (n * (n - 1))
    overall = votes.sum(axis=0) / votes.sum()
    return _above_chance(float(within.mean()), float(overall @ overall))


def _above_chance(observed: float, by_chance: float) -> float | None:
    if np.isclose(by_chance, 1.0):
        return None
    return (observed - by_chance) / (1 - by_chance)
