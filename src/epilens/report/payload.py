"""What the page of a localized patient shows, as one tree of plain values and coded arrays."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray

import epilens
from epilens.evidence.signals import signal_of
from epilens.localization.certainty import PatientCertainty
from epilens.localization.gather import SeizureFacts
from epilens.localization.result import About, Localization
from epilens.localization.words import VIEW_WORDS
from epilens.report.brain import is_mni_like, pial_surface
from epilens.terminal import visible

LARGEST_Z = 60.0
"""Z-Δ beyond this look the same in the heatmap."""
INVALID = -128
TRACE_S = (-10.0, 20.0)
TRACE_BYTES = 4_000_000


def payload(localized: Localization) -> dict[str, Any]:
    """Everything that the page shows."""
    return {
        "software": f"EpiLENS {epilens.__version__}",
        "patient": localized.patient,
        "about": _about(localized.about),
        **_how_sure(localized.certainty),
        "k": localized.k,
        "seizures": [_seizure(facts) for facts in localized.seizures],
        "leftOut": [[visible(name), visible(why)] for name, why in localized.left_out],
        "dropped": [[visible(name), visible(why)] for name, why in localized.dropped],
        "contacts": _contacts(localized),
        "space": visible(localized.cube.attrs.get("space", "")),
        "brain": _brain(localized),
        "heat": _heat(localized),
        "why": _why(localized),
        "traces": _traces(localized),
        "resection": _resection(localized),
        "comparisons": [
            {"title": c.title, "shared": c.shared, "k": c.k, "correlation": _round(c.correlation)}
            for c in localized.comparisons
        ],
    }


def _about(about: About) -> dict[str, Any]:
    return {
        "source": visible(about.source),
        "title": about.title,
        "isModel": about.is_model,
        "simulated": about.simulated,
        "locked": None if about.threshold is None else _round(1 - about.threshold),
        "card": [[visible(key), visible(value)] for key, value in about.card],
        "plan": about.plan_digest,
    }


def _how_sure(certainty: PatientCertainty) -> dict[str, Any]:
    return {
        "abstains": certainty.abstains,
        "cautions": [{"level": c.level, "text": visible(c.text)} for c in certainty.cautions],
        "agreement": _round(certainty.agreement),
        "sets": [
            {"coverage": s.coverage, "reached": _round(s.reached), "size": int(s.holds.sum())}
            for s in certainty.sets
        ],
        "alike": [
            {"what": a.what, "distance": _round(a.distance), "limit": _round(a.limit)}
            for a in certainty.alike
        ],
    }


def _seizure(facts: SeizureFacts) -> dict[str, Any]:
    return {
        "name": visible(facts.name),
        "rate": _round(facts.rate_hz, 2),
        "contacts": facts.contacts,
        "windows": facts.reference_windows,
        "onset": facts.onset,
    }


def _round(value: Any, digits: int = 4) -> Any:
    if value is None or (isinstance(value, float) and not np.isfinite(value)):
        return None
    return round(float(value), digits)


def _contacts(localized: Localization) -> list[dict[str, Any]]:
    """One object per channel, in the order of the channels; the page ranks them."""
    return [_contact(localized, c, mm) for c, mm in enumerate(localized.positions_mm)]


def _contact(localized: Localization, c: int, mm: tuple[float, ...] | None) -> dict[str, Any]:
    about, timing = localized.about, localized.timing
    of = {column.name: column.values[c] for column in localized.columns}
    recruited_s = np.where(timing.recruited, timing.recruited_s, np.nan)[:, c]
    return {
        "name": visible(of["name"]),
        "shaft": None if of["shaft"] is None else visible(of["shaft"]),
        "number": of["number"],
        "rank": int(of["rank"]),
        "ez": _round(of["ez_score"]),
        "p": _round(of["ez_probability"]),
        "prq": _round(of["prq_ez_score"]),
        "bcr": _round(of["bcr_ez_score"]),
        "decision": of["decision"],
        "called": about.threshold is not None and bool(localized.scores.p_nez[c] < about.threshold),
        "sets": [bool(part.holds[c]) for part in localized.certainty.sets],
        "spread": _round(of["spread"]),
        "alone": [_round(ez[c]) for ez in localized.alone],
        "sd": _round(of["seizure_sd"]),
        "top": _round(of["top_k_share"]),
        "times": [_round(t, 2) for t in recruited_s],
        "first": _round(of["recruited_s"], 2),
        "quality": of["quality"],
        "mm": None if mm is None else [round(v, 2) for v in mm],
        "resected": localized.resection is not None and bool(localized.resection.resected[c]),
        "others": [int(other.ranks[c]) for other in localized.comparisons],
        "words": [visible(line) for line in localized.words[c]],
    }


def base64_of(values: NDArray[Any]) -> str:
    """Bytes of an array, little-endian."""
    little = values.astype(values.dtype.newbyteorder("<"))
    return base64.b64encode(np.ascontiguousarray(little).tobytes()).decode()


def _heat(localized: Localization) -> dict[str, Any]:
    """Z-Δ (descriptor, seizure, window, channel) in steps that are fine near 0."""
    z, valid = localized.timing.z, localized.cube["valid"].values
    descriptors = localized.cube["descriptor"].values.tolist()
    steps = np.round(127 * np.arcsinh(z) / np.arcsinh(LARGEST_Z)).clip(-127, 127)
    coded = np.where(valid[..., None], steps, INVALID).astype(np.int8)
    return {
        "names": list(localized.timing.words),
        "start": next((i for i, d in enumerate(descriptors) if d.endswith("line_length")), 0),
        "largest": LARGEST_Z,
        "windows": localized.cube.sizes["window"],
        "middle": np.round(localized.timing.middle_s, 3).tolist(),
        "coded": base64_of(np.moveaxis(coded, -1, 0)),
    }


def _why(localized: Localization) -> dict[str, Any] | None:
    why = localized.why
    if why is None:
        return None
    return {
        "contacts": why.contacts.tolist(),
        "views": [VIEW_WORDS[view] for view in why.views],
        "average": why.average,
        "others": why.others,
        "baseline": np.round(why.baseline, 4).tolist(),
        "features": base64_of(why.by_feature.astype(np.float32)),
        "windows": base64_of(why.by_window.astype(np.float32)),
        "residual": _round(why.residual, 6),
    }


def _brain(localized: Localization) -> dict[str, Any]:
    """The surface, or the reason why there is none."""
    space = str(localized.cube.attrs.get("space", ""))
    if not any(localized.positions_mm):
        return {"why": "no contact has a position"}
    if not is_mni_like(space):
        return {
            "why": "positions are not in a template space, so no brain surface fits around them"
        }
    surface = pial_surface(space)
    if surface is None:
        return {"why": "nilearn is not installed, so no brain surface is drawn"}
    return {"vertices": base64_of(surface[0]), "faces": base64_of(surface[1])}


def _traces(localized: Localization) -> dict[str, Any] | None:
    """Lowest and highest sample of short bins: fast activity keeps its height."""
    signals = localized.signals
    if signals is None:
        return None
    S, C = len(localized.seizures), len(localized.channels)
    length_s = TRACE_S[1] - TRACE_S[0]
    rate = int(np.clip(TRACE_BYTES // (S * C * length_s * 2), 20, 100))
    coded = np.zeros((S, C, int(length_s * rate), 2), np.int8)
    scale = np.zeros((S, C))
    for s in range(S):
        low, high, recorded = _envelope(localized, s, rate)
        largest = np.maximum(np.abs(low).max(axis=1), np.abs(high).max(axis=1))
        scale[s] = np.where(localized.shown[s], largest, 0)
        step = np.maximum(largest, 1e-9)[:, None] / 127
        pair = np.stack([np.floor(low / step), np.ceil(high / step)], axis=-1).clip(-127, 127)
        coded[s] = np.where(recorded[None, :, None], pair, INVALID)
    return {
        "from": TRACE_S[0],
        "rate": rate,
        "bins": coded.shape[2],
        "scale": np.round(scale, 2).tolist(),
        "coded": base64_of(coded),
    }


def _envelope(
    localized: Localization, s: int, rate: int
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.bool_]]:
    """Lowest and highest sample (channel, bin), and which bins the recording reaches."""
    signals = localized.signals
    assert signals is not None
    x = signal_of(signals, s)
    fs, start_s = (float(signals[k].values[s]) for k in ("signal_rate_hz", "signal_start_s"))
    bins = int((TRACE_S[1] - TRACE_S[0]) * rate)
    edges = np.round((TRACE_S[0] + np.arange(bins + 1) / rate - start_s) * fs).astype(int)
    recorded = (edges[:-1] >= 0) & (edges[1:] <= x.shape[1]) & (edges[1:] > edges[:-1])
    low, high = np.zeros((len(x), bins)), np.zeros((len(x), bins))
    if recorded.any():
        first, last = np.flatnonzero(recorded)[[0, -1]]
        inside = x[:, : edges[last + 1]]
        low[:, first : last + 1] = np.minimum.reduceat(inside, edges[first : last + 1], axis=1)
        high[:, first : last + 1] = np.maximum.reduceat(inside, edges[first : last + 1], axis=1)
    return low, high, recorded


def _resection(localized: Localization) -> dict[str, Any] | None:
    cut = localized.resection
    if cut is None:
        return None
    return {
        "k": cut.k,
        "covered": _round(cut.covered),
        "count": int(cut.resected.sum()),
        "leftBehind": list(cut.left_behind),
        "withoutEvidence": list(cut.without_evidence),
        "unknown": [visible(name) for name in cut.unknown],
    }
