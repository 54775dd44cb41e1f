"""What the page of a localized patient shows, as one tree of plain values and coded arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

import epilens
from epilens.core.console import visible
from epilens.core.glossary import PATIENT_TERMS, explain
from epilens.data.channels.contacts import short_names
from epilens.localization.anatomy import NEAR_MM, Region, is_mni_like, pial_surface
from epilens.localization.certainty import PatientCertainty
from epilens.localization.maps import TimeMap
from epilens.localization.narrative import VIEW_WORDS
from epilens.localization.result import Localization
from epilens.localization.run_metadata import SeizureFacts
from epilens.report.markup import INVALID, base64_of
from epilens.report.patient.traces import traces

LARGEST_Z = 60.0
"""Z-Δ beyond this look the same in the heatmap."""


def payload(localized: Localization) -> dict[str, Any]:
    """Everything that the page shows."""
    return {
        "software": f"EpiLENS {epilens.__version__}",
        "patient": localized.patient,
        "about": _about(localized),
        **_how_sure(localized.certainty),
        "summary": [visible(sentence) for sentence in localized.summary],
        "implausible": localized.is_implausible,
        "caveats": [visible(sentence) for sentence in localized.caveats],
        "analysed": localized.analysed,
        "k": localized.k,
        "seizures": [_seizure(facts) for facts in localized.seizures],
        "leftOut": [[visible(name), visible(why)] for name, why in localized.left_out],
        "dropped": [[visible(row.channel), visible(row.why)] for row in localized.dropped],
        "contacts": _contacts(localized),
        "space": visible(localized.space),
        "brain": _brain(localized),
        "anatomy": {
            "atlases": list(localized.anatomy.regions),
            "near": NEAR_MM,
            "why": localized.anatomy.why,
        },
        "heat": _heat(localized),
        "maps": [_map(time_map) for time_map in localized.maps],
        "why": _why(localized),
        "traces": traces(localized),
        "resection": _resection(localized),
        "zones": [
            {
                "title": zone.title,
                "count": int(zone.members.sum()),
                "hits": zone.hits,
                "byChance": _round(zone.by_chance, 1),
            }
            for zone in localized.zones
        ],
        "comparisons": [
            {"title": c.title, "shared": c.shared, "k": c.k, "correlation": _round(c.correlation)}
            for c in localized.comparisons
        ],
        "glossary": explain(PATIENT_TERMS),
    }


def _about(localized: Localization) -> dict[str, Any]:
    source = localized.source
    return {
        "source": visible(source.name),
        "title": source.title,
        "isModel": source.is_model,
        "simulated": localized.is_simulated,
        "trainedOnSimulated": source.simulated,
        "threshold": None if source.threshold is None else _round(1 - source.threshold),
        "card": [[visible(key), visible(value)] for key, value in source.card()],
        "plan": source.plan.digest,
    }


def _how_sure(certainty: PatientCertainty) -> dict[str, Any]:
    return {
        "abstains": certainty.abstains,
        "cautions": [{"level": c.level, "text": visible(c.text)} for c in certainty.cautions],
        "agreement": _round(certainty.agreement),
        "sets": [
            {"coverage": s.coverage, "reached": _round(s.reached), "size": int(inside.sum())}
            for s, inside in certainty.sets
        ],
        "distances": [
            {"what": d.what, "distance": _round(d.distance), "limit": _round(d.limit)}
            for d in certainty.distances
        ],
    }


def _seizure(facts: SeizureFacts) -> dict[str, Any]:
    return {
        "name": visible(facts.name),
        "rate": _round(facts.rate_hz, 2),
        "contacts": facts.contacts,
        "windows": facts.reference_windows,
        "ictal": facts.ictal_windows,
        "file": facts.file,
        "onset": visible(facts.onset),
        "at": _round(facts.onset_s, 3),
        "uncertainty": _round(facts.uncertainty_s, 3),
        "interval": list(facts.interval_s),
    }


def _round(value: Any, digits: int = 4) -> Any:
    if value is None or (isinstance(value, float) and not np.isfinite(value)):
        return None
    return round(float(value), digits)


def _contacts(localized: Localization) -> list[dict[str, Any]]:
    """One object per channel, in the order of the channels; the page ranks them."""
    short = short_names(localized.channels)
    return [
        {
            "short": visible(short[c]),
            "regions": [_region(regions[c]) for regions in localized.anatomy.regions.values()],
            **_contact(localized, c, mm),
        }
        for c, mm in enumerate(localized.positions_mm)
    ]


def _region(region: Region | None) -> dict[str, Any] | None:
    if region is None:
        return None
    return {"name": region.name, "side": region.side, "share": _round(region.share, 2)}


def _contact(localized: Localization, c: int, mm: tuple[float, ...] | None) -> dict[str, Any]:
    timing, threshold = localized.timing, localized.source.threshold
    row = {column.name: column.values[c] for column in localized.columns}
    recruited_s = np.where(timing.recruited, timing.recruited_s, np.nan)[:, c]
    return {
        "name": visible(row["name"]),
        "shaft": None if row["shaft"] is None else visible(row["shaft"]),
        "number": row["number"],
        "rank": int(row["rank"]),
        "ez": _round(row["ez_score"]),
        "p": _round(row["ez_probability"]),
        "prq": _round(row["prq_ez_score"]),
        "bcr": _round(row["bcr_ez_score"]),
        "decision": row["decision"],
        "flagged": threshold is not None and bool(localized.scores.p_nez[c] < threshold),
        "sets": [bool(inside[c]) for _, inside in localized.certainty.sets],
        "ensembleSd": _round(row["spread"]),
        "alone": [_round(ez[c]) for ez in localized.alone],
        "aloneRanks": [places[c] for places in localized.alone_ranks],
        "sd": _round(row["seizure_sd"]),
        "top": _round(row["top_k_share"]),
        "times": [_round(t, 2) for t in recruited_s],
        "first": _round(row["recruited_s"], 2),
        "quality": row["quality"],
        "mm": None if mm is None else [round(v, 2) for v in mm],
        "resected": localized.resection is not None and bool(localized.resection.members[c]),
        "zones": [bool(zone.members[c]) for zone in localized.zones],
        "statedIn": int(row["onset_stated_in"]) if "onset_stated_in" in row else None,
        "others": [int(other.ranks[c]) for other in localized.comparisons],
        "words": [visible(line) for line in localized.words[c]],
    }


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


LARGEST_CHANGE = 5.0
"""Ratios beyond 2 to this power look the same."""


def _map(time_map: TimeMap) -> dict[str, Any]:
    """A map (seizure, window, channel): ratios by their logarithm, shares as they are."""
    if time_map.kind == "ratio":
        share = np.log2(np.maximum(time_map.values, 1e-9)) / LARGEST_CHANGE
    else:
        share = 2 * time_map.values - 1
    steps = np.round(127 * share).clip(-127, 127)
    return {
        "title": time_map.title,
        "kind": time_map.kind,
        "largest": LARGEST_CHANGE,
        "middle": np.round(time_map.middle_s, 3).tolist(),
        "coded": base64_of(np.where(np.isnan(steps), INVALID, steps).astype(np.int8)),
    }


def _why(localized: Localization) -> dict[str, Any] | None:
    why = localized.why
    if why is None:
        return None
    return {
        "contacts": why.contacts.tolist(),
        "views": [VIEW_WORDS[view] for view in why.views],
        "words": list(why.words or localized.timing.words),
        "timed": why.timed,
        "average": why.average,
        "others": why.others,
        "baseline": np.round(why.baseline, 4).tolist(),
        "features": base64_of(why.by_feature.astype(np.float32)),
        "windows": base64_of(why.by_window.astype(np.float32)),
        "steady": np.round(why.steady, 5).tolist(),
        "seizures": np.round(why.by_seizure, 5).tolist(),
        "together": np.round(why.together, 5).tolist(),
        "residual": _round(why.residual, 6),
    }


def _brain(localized: Localization) -> dict[str, Any]:
    """The surface, or the reason why there is none."""
    space = localized.space
    if not any(localized.positions_mm):
        return {"why": "no contact has a position"}
    if not is_mni_like(space):
        return {"why": "the positions are not in a template space"}
    surface = pial_surface(space)
    if surface is None:
        return {"why": "the package nilearn is not installed"}
    return {"vertices": base64_of(surface[0]), "faces": base64_of(surface[1])}


def _resection(localized: Localization) -> dict[str, Any] | None:
    cut = localized.resection
    if cut is None:
        return None
    return {
        "k": cut.k,
        "covered": _round(cut.hits / cut.k),
        "count": int(cut.members.sum()),
        "notResected": list(cut.not_resected),
        "outside": list(cut.outside),
        "byChance": _round(cut.by_chance, 1),
        "unranked": [visible(name) for name in cut.unranked],
        "unknown": [visible(name) for name in cut.unknown],
    }
