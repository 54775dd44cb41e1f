"""What the page of a localized patient shows, as one tree of plain values and coded arrays."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray

import epilens
from epilens.evidence.signals import signal_of
from epilens.localize.result import Localization
from epilens.localize.words import VIEW_WORDS
from epilens.report.brain import is_mni_like, pial_surface
from epilens.terminal import visible

LARGEST_Z = 60.0
"""Z-Δ beyond this look the same in the heatmap."""
INVALID = -128
TRACE_S = (-10.0, 20.0)
TRACE_BYTES = 4_000_000


def payload(found: Localization) -> dict[str, Any]:
    """Everything that the page shows."""
    about, sure = found.about, found.certainty
    mm = _positions(found)
    return {
        "software": f"EpiLENS {epilens.__version__}",
        "patient": found.patient,
        "about": {
            "source": visible(about.source),
            "title": about.title,
            "isModel": about.is_model,
            "simulated": about.simulated,
            "locked": None if about.threshold is None else _round(1 - about.threshold),
            "card": [[visible(key), visible(value)] for key, value in about.card],
            "plan": about.plan_digest,
        },
        "abstains": sure.abstains,
        "cautions": [{"level": c.level, "text": visible(c.text)} for c in sure.cautions],
        "agreement": _round(sure.agreement),
        "sets": [
            {"coverage": s.coverage, "reached": _round(s.reached), "size": int(s.holds.sum())}
            for s in sure.sets
        ],
        "alike": [
            {"what": a.what, "distance": _round(a.distance), "limit": _round(a.limit)}
            for a in sure.alike
        ],
        "k": found.k,
        "seizures": [
            {
                "name": visible(s.name),
                "rate": _round(s.rate_hz, 2),
                "contacts": s.contacts,
                "windows": s.reference_windows,
                "onset": s.onset,
            }
            for s in found.seizures
        ],
        "leftOut": [[visible(name), visible(why)] for name, why in found.left_out],
        "dropped": [[visible(name), visible(why)] for name, why in found.dropped],
        "contacts": _contacts(found, mm),
        "space": visible(found.cube.attrs.get("space", "")),
        "brain": _brain(found, mm),
        "heat": _heat(found),
        "why": _why(found),
        "traces": _traces(found),
        "resection": _resection(found),
        "comparisons": [
            {
                "title": c.title,
                "shared": c.shared,
                "k": c.k,
                "correlation": _round(c.correlation),
            }
            for c in found.comparisons
        ],
    }


def _round(value: Any, digits: int = 4) -> Any:
    if value is None or (isinstance(value, float) and not np.isfinite(value)):
        return None
    return round(float(value), digits)


def _positions(found: Localization) -> list[list[float] | None]:
    cube = found.cube
    if "position_mm" not in cube:
        return [None] * len(found.channels)
    return [
        [round(float(v), 2) for v in at] if known else None
        for at, known in zip(cube["position_mm"].values, cube["has_position"].values, strict=True)
    ]


def _contacts(found: Localization, mm: list[list[float] | None]) -> list[dict[str, Any]]:
    """One object per channel, in the order of the channels; the page ranks them."""
    table = found.contacts.set_index("name").loc[list(found.channels)]
    sets = [name for name in table if str(name).startswith("in_set_")]
    others = [name for name in table if str(name).startswith("rank_")]
    alone = [name for name in table if str(name).startswith("ez_score_s")]
    timing = found.timing
    rows = []
    for c, row in enumerate(table.to_dict("records")):
        times = [
            _round(timing.recruited_s[s, c], 2) if timing.recruited[s, c] else None
            for s in range(len(found.seizures))
        ]
        rows.append(
            {
                "name": visible(found.channels[c]),
                "shaft": None if row["shaft"] is None else visible(row["shaft"]),
                "number": row["number"],
                "rank": int(row["rank"]),
                "ez": _round(row["ez_score"]),
                "p": _round(row["ez_probability"]),
                "prq": _round(row["prq_ez_score"]),
                "bcr": _round(row["bcr_ez_score"]),
                "decision": row["decision"],
                "called": found.about.threshold is not None
                and bool(found.scores.p_nez[c] < found.about.threshold),
                "sets": [row[name] == "yes" for name in sets],
                "spread": _round(row["spread"]),
                "alone": [_round(row[name]) for name in alone],
                "sd": _round(row["seizure_sd"]),
                "top": _round(row["top_k_share"]),
                "times": times,
                "first": _round(row["recruited_s"], 2),
                "quality": row["quality"],
                "mm": mm[c],
                "resected": row.get("resected") == "yes",
                "others": [int(row[name]) for name in others],
                "words": [visible(line) for line in found.words[c]],
            }
        )
    return rows


def base64_of(values: NDArray[Any]) -> str:
    """Bytes of an array, little-endian."""
    little = values.astype(values.dtype.newbyteorder("<"))
    return base64.b64encode(np.ascontiguousarray(little).tobytes()).decode()


def _heat(found: Localization) -> dict[str, Any]:
    """Z-Δ (descriptor, seizure, window, channel) in steps that are fine near 0."""
    z, valid = found.timing.z, found.cube["valid"].values
    descriptors = found.cube["descriptor"].values.tolist()
    steps = np.round(127 * np.arcsinh(z) / np.arcsinh(LARGEST_Z)).clip(-127, 127)
    coded = np.where(valid[..., None], steps, INVALID).astype(np.int8)
    return {
        "names": list(found.timing.words),
        "start": descriptors.index("line_length") if "line_length" in descriptors else 0,
        "largest": LARGEST_Z,
        "windows": found.cube.sizes["window"],
        "middle": np.round(found.timing.middle_s, 3).tolist(),
        "coded": base64_of(np.moveaxis(coded, -1, 0)),
    }


def _why(found: Localization) -> dict[str, Any] | None:
    why = found.why
    if why is None:
        return None
    return {
        "contacts": why.contacts.tolist(),
        "views": list(VIEW_WORDS.values()),
        "baseline": np.round(why.baseline, 4).tolist(),
        "features": base64_of(why.by_feature.astype(np.float32)),
        "windows": base64_of(why.by_window.astype(np.float32)),
        "residual": _round(why.residual, 6),
    }


def _brain(found: Localization, mm: list[list[float] | None]) -> dict[str, Any]:
    """The surface, or the reason why there is none."""
    space = str(found.cube.attrs.get("space", ""))
    if not any(mm):
        return {"why": "no contact has a position"}
    if not is_mni_like(space):
        return {
            "why": "positions are not in a template space, so no brain surface fits around them"
        }
    surface = pial_surface(space)
    if surface is None:
        return {"why": "nilearn is not installed, so no brain surface is drawn"}
    return {"vertices": base64_of(surface[0]), "faces": base64_of(surface[1])}


def _traces(found: Localization) -> dict[str, Any] | None:
    """Lowest and highest sample of short bins: fast activity keeps its height."""
    signals = found.signals
    if signals is None:
        return None
    S, C = len(found.seizures), len(found.channels)
    length_s = TRACE_S[1] - TRACE_S[0]
    rate = int(np.clip(TRACE_BYTES // (S * C * length_s * 2), 20, 100))
    coded = np.zeros((S, C, int(length_s * rate), 2), np.int8)
    scale = np.zeros((S, C))
    for s in range(S):
        low, high, known = _envelope(found, s, rate)
        largest = np.maximum(np.abs(low).max(axis=1), np.abs(high).max(axis=1))
        scale[s] = np.where(found.there[s], largest, 0)
        step = np.maximum(largest, 1e-9)[:, None] / 127
        pair = np.stack([np.floor(low / step), np.ceil(high / step)], axis=-1).clip(-127, 127)
        coded[s] = np.where(known[None, :, None], pair, INVALID)
    return {
        "from": TRACE_S[0],
        "rate": rate,
        "bins": coded.shape[2],
        "scale": np.round(scale, 2).tolist(),
        "coded": base64_of(coded),
    }


def _envelope(
    found: Localization, s: int, rate: int
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.bool_]]:
    """Lowest and highest sample (channel, bin), and which bins the recording reaches."""
    signals = found.signals
    assert signals is not None
    x = signal_of(signals, s)
    fs, start_s = (float(signals[k].values[s]) for k in ("signal_rate_hz", "signal_start_s"))
    bins = int((TRACE_S[1] - TRACE_S[0]) * rate)
    edges = np.round((TRACE_S[0] + np.arange(bins + 1) / rate - start_s) * fs).astype(int)
    known = (edges[:-1] >= 0) & (edges[1:] <= x.shape[1]) & (edges[1:] > edges[:-1])
    low, high = np.zeros((len(x), bins)), np.zeros((len(x), bins))
    if known.any():
        first, last = np.flatnonzero(known)[[0, -1]]
        inside = x[:, : edges[last + 1]]
        low[:, first : last + 1] = np.minimum.reduceat(inside, edges[first : last + 1], axis=1)
        high[:, first : last + 1] = np.maximum.reduceat(inside, edges[first : last + 1], axis=1)
    return low, high, known


def _resection(found: Localization) -> dict[str, Any] | None:
    cut = found.resection
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
