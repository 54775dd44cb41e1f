"""The scorer of `lens`: one weight for every term of a contact, its neighbours and its electrode.

A logistic regression, so each term's part in a score can be read off: the parts add up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.special import expit

from epilens.core.types import Floats
from epilens.evidence.contact_features import (
    MEASURES,
    SUMMARIES,
    WORDS,
    feature_table,
    features_shown,
)
from epilens.evidence.contact_table import (
    PLACES,
    TERMS,
    ContactTable,
    contact_table,
    placed_windows,
    with_context,
)
from epilens.networks.predictor import NEUTRAL, Arrays, Explanation, Layout, Predictor


@dataclass(frozen=True)
class Lens(Predictor):
    """Weights of a fitted lens; evidence for EZ is positive."""

    mean: Floats
    """The average contact of the fit patients (place, term, descriptor)."""
    weight: Floats
    """Weights (place, term, descriptor)."""
    intercept: float
    """Log odds of EZ of the average contact."""
    terms: ClassVar[tuple[str, ...]] = TERMS

    @classmethod
    def table(cls, patient: xr.Dataset) -> ContactTable:
        """What a patient's contacts are compared by."""
        return contact_table(patient)

    @classmethod
    def columns(cls, layout: Layout) -> tuple[str, ...]:
        """Names of the last axis of the weights."""
        return layout.descriptors

    @classmethod
    def shares(cls, patient: xr.Dataset) -> Floats:
        """Windows that a term is computed from (seizure, term, window, channel, column)."""
        return placed_windows(patient)

    def tensors(self) -> Arrays:
        """Tensors for a checkpoint or a model's file."""
        arrays = {"mean": self.mean, "weight": self.weight, "intercept": np.array(self.intercept)}
        return {name: array.copy() for name, array in arrays.items()}

    @classmethod
    def open(cls, tensors: Arrays, layout: Layout) -> Self:
        """A lens from the tensors of a checkpoint or a model."""
        shape = (len(PLACES), len(cls.terms), len(cls.columns(layout)))
        try:
            mean, weight, intercept = (tensors[k] for k in ("mean", "weight", "intercept"))
            lens = cls(mean, weight, float(intercept))
            fits = mean.shape == weight.shape == shape
            fits &= all(bool(np.isfinite(part).all()) for part in (mean, weight, intercept))
        except (KeyError, TypeError, ValueError):
            fits = False
        if not fits:
            sizes = " x ".join(map(str, shape))
            raise ValueError(f"not {sizes} finite weights (place, term, descriptor)")
        return lens

    def logit(self, table: ContactTable) -> Floats:
        """Log odds of EZ of every contact."""
        return self.intercept + ((table.x - self.mean) * self.weight).sum(axis=(1, 2, 3))

    def p_nez_of(self, table: ContactTable) -> Floats:
        """Probability of NEZ from a table."""
        return expit(-self.logit(table))

    def p_nez(self, patient: xr.Dataset) -> Floats:
        """NEZ probability of the valid channels."""
        return self.p_nez_of(self.table(patient))

    @classmethod
    def score_members(cls, members: Sequence[Self], patient: xr.Dataset) -> Floats:
        """Score with several lenses; the terms of the contacts are computed once for all."""
        table = cls.table(patient)
        tables = [table, *(table.alone(s) for s in range(len(table.of_seizure)))]
        return np.array([[lens.p_nez_of(table) for table in tables] for lens in members])

    @property
    def average(self) -> float:
        """Log odds of a contact that is like the average of its patient."""
        return self.intercept - float((self.mean * self.weight).sum())

    def parts(self, table: ContactTable) -> Floats:
        """What adds up to a contact's log odds, from those of the average contact of its patient.

        (seizure, channel, place, term, descriptor): a seizure's part is what it adds to the means.
        """
        finite = np.isfinite(table.of_seizure)
        shares = np.where(finite, table.of_seizure, 0) / np.maximum(finite.sum(axis=0), 1)
        # One pass for all seizures: which contacts are neighbours is read from names.
        parts = with_context(table.channels, np.moveaxis(shares, 0, 1))
        return np.moveaxis(parts, 2, 0) * self.weight

    @classmethod
    def explain(
        cls, members: Sequence[tuple[Any, float]], patient: xr.Dataset, order: NDArray[np.int64]
    ) -> Explanation:
        """Explain all contacts: from the average contact of the patient to each, term by term.

        The path from the one's log odds to the other's is straight, so integrated gradients are
        the parts of the log odds, scaled to the difference of the scores. A term that is computed
        from some part of the seizure is shared by those windows; the other terms are steady.
        """
        table, share = cls.table(patient), cls.shares(patient)
        S, W, C = (patient.sizes[axis] for axis in ("seizure", "window", "channel"))
        located = np.zeros(table.x.shape)
        by_window, by_seizure = np.zeros((C, S, W)), np.zeros((C, S))
        baseline, score = np.zeros(C), np.zeros(C)
        n = len(members)  # lenses have equal weights
        for lens, _ in members:
            ez, average = expit(lens.logit(table)), expit(lens.average)
            scaled = lens.scaled_parts(table, ez - average) / n
            located += scaled.sum(axis=0)
            by_seizure += scaled.sum(axis=(2, 3, 4)).T
            by_window += np.einsum("sctd,stwcd->csw", scaled.sum(axis=2), share)
            baseline += average / n
            score += ez / n
        return Explanation(
            contacts=order,
            by_feature=located.sum(axis=1)[order],
            by_window=by_window[order],
            steady=(by_seizure - by_window.sum(axis=2))[order],
            together=np.zeros(len(order)),
            baseline=baseline[order],
            score=score[order],
            views=cls.terms,
            average="the evidence of this patient's average contact",
            others="its neighbours and electrode included",
            located=located[order],
            values=table.x[order],
        )

    def scaled_parts(self, table: ContactTable, difference: Floats) -> Floats:
        """Parts of the log odds (seizure, channel, place, term, descriptor), scaled to this sum."""
        parts = self.parts(table)
        total = parts.sum(axis=(0, 2, 3, 4))
        level = np.where(total == 0, 1, total)
        return parts * np.where(total == 0, 0, difference / level)[:, None, None, None]


@dataclass(frozen=True)
class FeatureLens(Lens):
    """A lens on the 33 contact features: weights (place, summary over windows, measure)."""

    terms: ClassVar[tuple[str, ...]] = SUMMARIES

    @classmethod
    def table(cls, patient: xr.Dataset) -> ContactTable:
        """Contact features, relative to the other contacts of each seizure."""
        return feature_table(patient)

    @classmethod
    def columns(cls, layout: Layout) -> tuple[str, ...]:
        """The measures, whatever the descriptors of the cube are."""
        return MEASURES

    @classmethod
    def shares(cls, patient: xr.Dataset) -> Floats:
        """None: a feature is computed from all windows of a seizure."""
        sizes = [patient.sizes[axis] for axis in ("seizure", "window", "channel")]
        return np.broadcast_to(0.0, (sizes[0], len(SUMMARIES), *sizes[1:], len(MEASURES)))

    @classmethod
    def score_members(cls, members: Sequence[Lens], patient: xr.Dataset) -> Floats:
        """Score with several lenses; neutral in a seizure that has no contact features."""
        scores = super().score_members(members, patient)
        scores[:, 1:][:, ~features_shown(patient).any(axis=1)] = NEUTRAL
        return scores

    @classmethod
    def explain(
        cls, members: Sequence[tuple[Any, float]], patient: xr.Dataset, order: NDArray[np.int64]
    ) -> Explanation:
        """Explain as every lens does, in the words of the features; windows are not listed."""
        return replace(super().explain(members, patient, order), words=WORDS, timed=False)
