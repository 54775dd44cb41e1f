"""What `localize` gives back, and its table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from epilens.arrays import Bools, Floats
from epilens.localization.certainty import Caution, ContactSet, Likeness, seizure_spread, top_share
from epilens.localization.compare import Comparison, Resection, contacts_of_channel, ranking
from epilens.localization.explain import Explanation
from epilens.localization.sources import Scores
from epilens.localization.timing import Timing


@dataclass(frozen=True)
class SeizureFacts:
    """A seizure that was used."""

    name: str
    rate_hz: float | None
    contacts: int
    reference_windows: int
    """In the median contact."""
    onset: str
    """Rule by which the onset was found; never its text."""


@dataclass(frozen=True)
class About:
    """Where the scores come from, and what was done to get them."""

    source: str
    title: str
    is_model: bool
    threshold: float | None
    """A contact is called EZ where p_nez lies below it."""
    card: tuple[tuple[str, str], ...]
    plan_digest: str
    simulated: bool


@dataclass(frozen=True)
class Certainty:
    """How sure the scores are; None and empty where nothing is known."""

    probability: Floats | None
    """Calibrated P(EZ), (C,)."""
    sets: tuple[ContactSet, ...]
    alike: tuple[Likeness, ...]
    agreement: float | None
    """Mean rank correlation of the seizures."""
    cautions: tuple[Caution, ...]

    @property
    def abstains(self) -> bool:
        """Whether no decision should be read from the scores."""
        return any(caution.level == "abstain" for caution in self.cautions)


@dataclass(frozen=True)
class Localization:
    """Ranked contacts of one patient with their evidence; arrays follow `channels`."""

    patient: str
    channels: tuple[str, ...]
    cube: xr.Dataset
    about: About
    seizures: tuple[SeizureFacts, ...]
    left_out: tuple[tuple[str, str], ...]
    """Seizures that were not used, and why."""
    quality: dict[str, tuple[str, ...]]
    """Flags of a channel, over its seizures."""
    dropped: tuple[tuple[str, str], ...]
    """Channels that were not used, and why."""
    scores: Scores
    certainty: Certainty
    timing: Timing
    k: int
    """How many leading contacts count as the top."""
    why: Explanation | None
    words: tuple[tuple[str, ...], ...]
    resection: Resection | None
    comparisons: tuple[Comparison, ...]
    problems: tuple[str, ...] = ()
    """Why seizures were left out, in full: for the one who has the files, never for the page."""
    signals: xr.Dataset | None = None
    """Band-limited signals around onset, for pictures."""

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """Channels from most to least EZ-like."""
        return ranking(self.scores.p_nez)

    @property
    def there(self) -> Bools:
        """Which seizures show a channel (S, C)."""
        return self.cube["valid"].any("window").values

    @cached_property
    def decisions(self) -> tuple[str, ...]:
        """EZ or NEZ at the model's threshold; `abstained`, or `none` without a threshold."""
        if self.about.threshold is None:
            return ("none",) * len(self.channels)
        if self.certainty.abstains:
            return ("abstained",) * len(self.channels)
        return tuple("EZ" if p < self.about.threshold else "NEZ" for p in self.scores.p_nez)

    @cached_property
    def contacts(self) -> pd.DataFrame:
        """One row per contact, best rank first; columns as the sidecar describes them."""
        return contact_table(self)


def contact_table(found: Localization) -> pd.DataFrame:
    """The rows of contacts.tsv; missing values are None."""
    scores, sure, C = found.scores, found.certainty, len(found.channels)
    rank = np.empty(C, int)
    rank[found.order] = np.arange(1, C + 1)
    # Of a bipolar channel, the first contact tells where it is.
    parsed = [next(iter(contacts_of_channel(name)), None) for name in found.channels]
    columns: dict[str, Any] = {
        "name": list(found.channels),
        "shaft": [p.shaft if p else None for p in parsed],
        "number": [p.number if p else None for p in parsed],
        "rank": rank,
        "ez_score": 1 - scores.p_nez,
        "ez_probability": _or_none(sure.probability, C),
        "prq_ez_score": _or_none(None if scores.p_prq is None else 1 - scores.p_prq, C),
        "bcr_ez_score": _or_none(None if scores.p_bcr is None else 1 - scores.p_bcr, C),
        "decision": found.decisions,
    }
    for kept in sure.sets:
        columns[f"in_set_{round(100 * kept.coverage)}"] = ["yes" if h else "no" for h in kept.holds]
    columns["spread"] = _or_none(scores.spread, C)
    columns |= _over_seizures(found) | _evidence(found) | _place(found)
    for other in found.comparisons:
        ranks = np.empty(C, int)
        ranks[ranking(other.p_nez)] = np.arange(1, C + 1)
        columns[f"rank_{other.name.replace('/', '_').replace('-', '_')}"] = ranks
    table = pd.DataFrame({name: pd.Series(list(v), dtype=object) for name, v in columns.items()})
    return table.iloc[found.order].reset_index(drop=True)


def _or_none(values: Floats | None, n: int) -> list[float | None]:
    return [None] * n if values is None else [float(v) for v in values]


def _over_seizures(found: Localization) -> dict[str, Any]:
    there, alone = found.there, found.scores.per_seizure
    columns: dict[str, Any] = {"seizures": there.sum(axis=0)}
    for s in range(len(alone)):
        ez = [float(1 - p) if t else None for p, t in zip(alone[s], there[s], strict=True)]
        columns[f"ez_score_s{s + 1}"] = ez
    columns["seizure_sd"] = seizure_spread(alone, there)
    columns["top_k_share"] = top_share(alone, there, found.k)
    return columns


def _evidence(found: Localization) -> dict[str, Any]:
    median_s, count = found.timing.median_s()
    place = found.timing.order.astype(float)
    places = [np.median(p[p > 0]) if (p > 0).any() else None for p in place.T]
    return {
        "recruited_in": count,
        "recruited_s": [float(t) if n else None for t, n in zip(median_s, count, strict=True)],
        "recruitment_rank": [None if p is None else float(p) for p in places],
        "quality": [", ".join(found.quality.get(name, ())) or "good" for name in found.channels],
    }


def _place(found: Localization) -> dict[str, Any]:
    cube, n = found.cube, len(found.channels)
    known = cube["has_position"].values if "has_position" in cube else np.zeros(n, bool)
    mm = cube["position_mm"].values if "position_mm" in cube else np.zeros((n, 3))
    columns = {
        axis: [float(v) if k else None for v, k in zip(mm[:, i], known, strict=True)]
        for i, axis in enumerate("xyz")
    }
    if found.resection is None:
        return columns
    return columns | {"resected": ["yes" if r else "no" for r in found.resection.resected]}
