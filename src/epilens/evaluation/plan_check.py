"""Check that what a plan names exists: methods, descriptors, and the files of its tables."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from epilens.core.errors import PlanError, did_you_mean
from epilens.core.extras import package_error
from epilens.evidence.descriptors import DESCRIPTORS
from epilens.evidence.files import Cohort, store_path
from epilens.evidence.plan_match import EVIDENCE, plan_differences, stated_fields
from epilens.evidence.zip_store import attributes_of
from epilens.io.remote import local_file
from epilens.methods import METHODS
from epilens.networks.raw.pretrained import FILES
from epilens.plan import Plan

_SECTIONS = (*EVIDENCE, "traces", "cohort")


def check_names(plan: Plan, who: str) -> None:
    """Raise an error for an unknown method or descriptor, with the nearest known name."""
    for kind, names, registry in (
        ("methods", plan.methods, METHODS),
        ("descriptors", plan.descriptors, DESCRIPTORS),
    ):
        for name in names:
            if name not in registry:
                raise PlanError(
                    f"{who}: {kind}: expected a name of `epilens list {kind}`, found {name!r}. "
                    f"{did_you_mean(name, registry)}"
                )


def check_cubes(plan: Plan, cohort: Cohort, stores: Collection[str] = ()) -> None:
    """Raise an error if the cubes, or stores next to them, were described with another plan."""
    for patient in cohort:
        path = cohort.path(patient)
        abouts = [cohort.attributes(patient)]
        files = [local_file(store_path(path, store)) for store in stores]
        abouts += [attributes_of(file) for file in files if file.exists()]
        differences = dict.fromkeys(
            difference
            for about in abouts
            for difference in plan_differences(plan, stated_fields(about, plan), _SECTIONS)
        )
        if differences:
            listed = "; ".join(difference.text() for difference in differences)
            raise PlanError(
                f"plan {plan.name}: expected cubes that were described with this plan, found "
                f"another in {patient}: {listed}. Describe the cohort with this plan (`epilens "
                "describe ROOT --plan PLAN --out NEW`), or change the plan.",
                code="cubes-of-another-plan",
            )


def lacking(plan: Plan) -> list[str]:
    """What is missing to run the plan; one sentence each."""
    sentences = []
    for name in plan.methods:
        method = METHODS[name]
        if package := method.missing():
            sentences.append(str(package_error(name, package)))
        folder = Path(plan.baselines.pretrained) / method.pretrained
        gone = [file for file in FILES if not (folder / file).is_file()]
        if method.pretrained and gone:
            sentences.append(f"{name} needs weights: {folder} has no {' and no '.join(gone)}.")
    tables = {
        "cohort.labels": plan.cohort.labels,
        "cohort.onsets": plan.cohort.onsets,
        "splits.file": plan.splits.file,
    }
    for field, path in tables.items():
        if path and not Path(path).is_file():
            sentences.append(f"{field} names {path}, which does not exist here.")
    return sentences
