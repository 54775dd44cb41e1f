"""Scores, certainty, explanation, timing and comparisons of one patient, put together."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import xarray as xr

from epilens.arrays import Bools
from epilens.data.audit import AuditRow
from epilens.data.recording import Recording
from epilens.errors import DataError
from epilens.evaluation.deploy import seizure_keys
from epilens.evidence.signals import has_signals, without_signals
from epilens.localize.certainty import (
    Caution,
    calibrated,
    cautions_of,
    contact_sets,
    likeness,
    reference_windows,
    seizure_agreement,
    top_share,
)
from epilens.localize.compare import compare_with, ranking, resection, top_k
from epilens.localize.explain import Explanation, explain
from epilens.localize.gather import Evidence
from epilens.localize.intake import patient_code
from epilens.localize.result import About, Certainty, Localization, SeizureFacts
from epilens.localize.sources import ModelSource, Scores, Source
from epilens.localize.timing import Timing, time_evidence
from epilens.localize.words import tell, tell_agreement, tell_score
from epilens.progress import Ticks


def assemble(
    evidence: Evidence,
    source: Source,
    others: Sequence[Source],
    resected: str | Collection[str] | None,
    tick: Ticks,
) -> Localization:
    """Score a patient and say everything about it."""
    patient = evidence.patient
    code = patient_code(str(patient.attrs["patient"]))
    scores = source.score(patient)
    cube = without_signals(patient)
    channels = tuple(str(name) for name in cube["channel"].values)
    there, k = cube["valid"].any("window").values, top_k(scores.p_nez, source.threshold)
    tick("explaining", 1)
    timing, why = time_evidence(cube), None
    if isinstance(source, ModelSource):
        why = explain(source.model, cube, ranking(scores.p_nez))
    tick("comparing", 1)
    cut = None
    if resected is not None:
        cut = resection(_resected(resected, cube), channels, scores.p_nez, k)
    dropped, quality = _channels_left_out(evidence.rows, channels)
    return Localization(
        patient=code,
        channels=channels,
        cube=cube,
        about=_about(source, cube),
        seizures=_facts(cube, evidence.intake.recordings),
        left_out=_seizures_left_out(evidence),
        quality=quality,
        dropped=dropped,
        scores=scores,
        certainty=_certainty(cube, source, scores, evidence),
        timing=timing,
        k=k,
        why=why,
        words=_words(scores, timing, there, why, k),
        resection=cut,
        comparisons=tuple(
            compare_with(o.name, o.title, o.score(patient).p_nez, scores.p_nez, k) for o in others
        ),
        problems=evidence.intake.problems,
        signals=patient if has_signals(patient) else None,
    )


def _resected(given: str | Collection[str], cube: xr.Dataset) -> str | Collection[str]:
    if given != "labels":
        return given
    if "is_ez" not in cube:
        raise DataError(
            f"{cube.attrs['patient']}: expected EZ labels to compare with, found none. Give the "
            "contacts as a list."
        )
    return cube["channel"].values[cube["is_ez"].values].tolist()


def _about(source: Source, cube: xr.Dataset) -> About:
    is_model = isinstance(source, ModelSource)
    simulated = is_model and bool(source.model.about.get("simulated"))
    return About(
        source.name,
        source.title,
        is_model,
        source.threshold,
        tuple(source.card()),
        source.plan.digest,
        simulated or "(simulated)" in str(cube.attrs.get("center", "")),
    )


def _certainty(cube: xr.Dataset, source: Source, scores: Scores, evidence: Evidence) -> Certainty:
    known, there = source.assurance, cube["valid"].any("window").values
    alike = likeness(cube, scores.p_nez, source.threshold or 0.0, known)
    agreement = seizure_agreement(scores.per_seizure, there)
    cautions = cautions_of(cube, alike, agreement)
    again = set(seizure_keys(cube).values()) & set(known.get("seizures", ()))
    if again:
        text = f"{len(again)} of {cube.sizes['seizure']} seizures are in the model's training "
        cautions.append(Caution("caution", text + "cohort: scores look better than they are."))
    if left_out := len(_seizures_left_out(evidence)):
        many = "1 seizure was" if left_out == 1 else f"{left_out} seizures were"
        cautions.append(Caution("note", f"{many} left out; the list of seizures says why."))
    if "has_position" in cube and not cube["has_position"].values.all():
        text = f"{int(cube['has_position'].sum())} of {cube.sizes['channel']} contacts have a "
        text += "position; the others are in the shaft diagram only."
        cautions.append(Caution("note", text))
    cautions += [Caution("note", note) for note in source.notes()]
    return Certainty(
        calibrated(scores.p_nez, known),
        contact_sets(scores.p_nez, known),
        alike,
        agreement,
        tuple(cautions),
    )


def _facts(cube: xr.Dataset, recordings: Sequence[Recording]) -> tuple[SeizureFacts, ...]:
    windows, rules = reference_windows(cube), {r.run: r.onset.rule for r in recordings}
    there = cube["valid"].any("window").values
    rates = cube["sampling_rate_hz"].values if "sampling_rate_hz" in cube.coords else None
    return tuple(
        SeizureFacts(
            name=str(name),
            rate_hz=None if rates is None else float(rates[s]),
            contacts=int(there[s].sum()),
            reference_windows=int(np.median(windows[s][there[s]])),
            onset=rules.get(str(name), "as described"),
        )
        for s, name in enumerate(cube["seizure"].values)
    )


def _seizures_left_out(evidence: Evidence) -> tuple[tuple[str, str], ...]:
    """Seizures that were not read, and those whose reference is too short."""
    known = dict(evidence.intake.left_out)
    used = set(evidence.patient["seizure"].values.tolist()) | set(known)
    extra = {r.run: r.why for r in evidence.rows if r.what == "seizure" and r.run not in used}
    return (*known.items(), *extra.items())


def _channels_left_out(
    rows: Sequence[AuditRow], channels: Sequence[str]
) -> tuple[tuple[tuple[str, str], ...], dict[str, tuple[str, ...]]]:
    """Channels that no seizure could use, with a reason; quality flags of those that are used."""
    used, dropped, flags = set(channels), {}, {}
    for row in (row for row in rows if row.what == "channel"):
        if row.channel not in used:
            dropped.setdefault(row.channel, row.why)
        elif row.why.startswith("signal is "):
            flags.setdefault(row.channel, {})[row.why.removeprefix("signal is ")] = None
    return tuple(dropped.items()), {name: tuple(found) for name, found in flags.items()}


def _words(
    scores: Scores, timing: Timing, there: Bools, why: Explanation | None, k: int
) -> tuple[tuple[str, ...], ...]:
    share = top_share(scores.per_seizure, there, k)
    explained = {} if why is None else {int(c): i for i, c in enumerate(why.contacts)}
    told = []
    for c in range(there.shape[1]):
        i = explained.get(c)
        weight = None if why is None or i is None else why.by_feature[i].sum(axis=0)
        lines = tell(c, timing, there, weight)
        if why is not None and i is not None:
            lines += tell_score(i, why, timing.middle_s, timing.words)
        spread = None if scores.spread is None else float(scores.spread[c])
        lines += tell_agreement(float(share[c]), k, int(there[:, c].sum()), spread)
        told.append(tuple(lines))
    return tuple(told)
