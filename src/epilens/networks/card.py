"""The model card: what people must know of a model before they use it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from epilens.evidence.released_descriptors import which_descriptors
from epilens.networks.kinds import KINDS

_SIMULATED = ("**Trained on simulated patients: no result of it is clinical evidence.**", "")


def card(tree: Mapping[str, Any]) -> str:
    """The model card: what people must know before they use it."""
    about = tree["about"]
    cohort = about.get("cohort", {})
    lines = [
        "# EpiLENS model",
        "",
        "**For research, not for diagnosis.**",
        "",
        *(_SIMULATED if about.get("simulated") else ()),
        *(f"- {title}: {text}" for title, text in describe_members(tree)),
        f"- flagged where the EZ score is above {1 - tree['threshold']:g}",
        f"- source: {about.get('source', 'unknown')}",
        f"- trained on the {describe_input(tree['kind'], tree['descriptors'])}",
        f"- plan digest: {about.get('plan_digest', 'none')}",
        *(f"- training cohort, {key}: {value}" for key, value in cohort.items()),
        *(f"- {line}" for line in describe_performance(about)),
        *(f"- {line}" for line in describe_certainty(tree.get("assurance", {}))),
        *(f"- note: {note}" for note in about.get("notes", [])),
    ]
    return "\n".join(lines) + "\n"


def describe_members(tree: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Members of a model, and how their parts are fused, as (title, text)."""
    kind = KINDS[tree["kind"]]
    lines = [("members", f"{len(tree['members'])} ({kind.over}), each {kind.member}")]
    if len(kind.parts) > 1:
        weights = zip(kind.weights(tree["weight"]), kind.parts, strict=True)
        fusion = " + ".join(f"{weight:.2f} {part.title}" for weight, part in weights)
        lines.append(("fusion", fusion))
    return lines


def describe_input(kind: str, descriptors: Sequence[str]) -> str:
    """What the scores of a model are computed from."""
    if KINDS[kind].input == "features":
        return "33 contact features of each seizure"
    return f"descriptors: {which_descriptors(descriptors)}"


def describe_performance(about: Mapping[str, Any]) -> list[str]:
    """AUROC and EZ-AUPRC: on patients not used in development, then cross-validated."""
    external, crossed = about.get("external"), about.get("out_of_fold")
    titles = (
        (external, "external validation, mean over {} patients not used in development"),
        (crossed, "cross-validated, mean over {} patients"),
    )
    return [
        f"{title.format(figures['patients'])}: AUROC {figures['auroc']:.3f}, EZ-AUPRC "
        f"{figures['ez_auprc']:.3f}"
        for figures, title in titles
        if figures
    ]


def describe_certainty(assurance: Mapping[str, Any]) -> list[str]:
    """What is known about the certainty of a model, one line each."""
    if not assurance:
        return ["no calibration, no set of stated coverage, no distance to a training cohort"]
    calibration = assurance["calibration"]
    lines = [
        f"calibrated on {assurance['patients']} cross-validated patients (Platt): Brier score "
        f"{calibration['brier_raw']:.3f} before, {calibration['brier']:.3f} after"
    ]
    for stored in assurance["sets"]:
        coverage, cut = f"set for coverage {100 * stored['coverage']:.0f} %", stored["cut"]
        if cut is None:
            lines.append(f"{coverage}: too few patients, all contacts")
        else:
            lines.append(
                f"{coverage}: EZ score of at least {1 - cut:.3f}; contained "
                f"{100 * stored['reached']:.0f} % of EZ contacts in cross-validation, "
                f"{100 * stored['share']:.0f} % of all contacts"
            )
    return lines
