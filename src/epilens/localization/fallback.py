"""Scores of a patient, by another method where the default one cannot rank its recordings."""

from __future__ import annotations

import numpy as np

from epilens.core.errors import MethodError
from epilens.core.types import Floats
from epilens.evidence.contact_features import NEEDS, features_shown, has_features
from epilens.localization import DEFAULT, FALLBACK, Request
from epilens.localization.certainty import Caution
from epilens.localization.prepare import Evidence
from epilens.localization.sources import MethodSource, Scores, Source, open_source
from epilens.plan import Plan

FALLBACKS = (FALLBACK, "epileptogenicity-index", "line-length-change")
"""Methods that replace the default one, best first; the last needs the shortest recordings."""


def score_patient(
    request: Request, source: Source, evidence: Evidence
) -> tuple[Source, Scores, tuple[Caution, ...]]:
    """Scores, what computed them, and a caution if that is not what is used by default.

    Raises
    ------
    MethodError
        Where all contacts get the same score, which would be shown in the order of the channels as
        if that were a ranking.
    """
    method_input = evidence.method_input
    can_use_default = has_features(method_input) and bool(features_shown(method_input).any())
    if request.model is not None or can_use_default:
        scores = source.score(method_input)
        if is_ranking(scores.p_nez):
            return source, scores, ()
        raise _same_score(evidence, source)
    for name in FALLBACKS:
        method = open_source(name, source.plan)
        scores = method.score(method_input)
        if is_ranking(scores.p_nez):
            return method, scores, (_not_default(method),)
    raise _same_score(evidence, open_source(FALLBACKS[-1], source.plan))


def is_ranking(p_nez: Floats) -> bool:
    """Whether scores differ between contacts."""
    return len(p_nez) < 2 or bool(np.ptp(p_nez) > 0)


def _not_default(method: Source) -> Caution:
    return Caution(
        "caution",
        f"The model {DEFAULT} is not used, because it needs {NEEDS}. Contacts are ranked by "
        f"{method.title} ({method.name}), which needs no training.",
    )


def _same_score(evidence: Evidence, source: Source) -> MethodError:
    """The error if a method cannot rank the contacts, with what it needs and what works."""
    start_s = min(facts.interval_s[0] for facts in evidence.seizures)
    stop_s = max(facts.interval_s[1] for facts in evidence.seizures)
    works = [name for name in FALLBACKS if name != source.name and _works(name, source, evidence)]
    return MethodError(
        f"{evidence.patient}: expected different scores, found the same score for all "
        f"{len(evidence.channels)} contacts by {source.name}, which needs "
        f"{_needs(source.name, source.plan)}. The recordings contain {-start_s:.0f} s before and "
        f"{stop_s:.0f} s after onset: export longer ones"
        + (f", or use {' or '.join(works)}." if works else ".")
    )


def _works(name: str, source: Source, evidence: Evidence) -> bool:
    method = open_source(name, source.plan)
    if not isinstance(method, MethodSource) or (
        method.store != "cube" and evidence.signals is None
    ):
        return False
    return is_ranking(method.p_nez(evidence.method_input))


def _needs(name: str, plan: Plan) -> str:
    """How long a recording must be for a method."""
    if name.startswith("line-length-spread"):
        return f"two whole windows of {plan.line_length_spread.window_s:g} s"
    if name.startswith("epileptogenicity-index"):
        first_s, last_s = plan.epileptogenicity_index.baseline_s
        return f"a baseline between {first_s:g} and {last_s:g} s from onset"
    return f"{plan.windows.min_reference} windows before and {plan.windows.min_ictal} after onset"
