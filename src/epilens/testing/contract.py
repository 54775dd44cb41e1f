"""The contract of methods as a check: what the author of one runs (`check_method`)."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from epilens.core.decisions import selected_threshold
from epilens.core.errors import MethodError
from epilens.core.provenance import digest_of, is_base, modules_behind
from epilens.evidence.cube import blind
from epilens.methods import METHODS, VALIDATION, Method, Scorer, Training, seen_channels
from epilens.methods.inputs import code_modules
from epilens.networks.kinds import KINDS
from epilens.networks.predictor import Layout
from epilens.plan import SECTIONS, Plan
from epilens.testing.patients import make_patient

QUICK = Plan(smoke=True).override(
    training={"epochs": 2, "least_epochs": 1}, baselines={"epochs": 2}, traces={"segments": 5}
)
"""A plan with which every method is fitted in seconds."""


@cache
def contract_patients() -> tuple[xr.Dataset, ...]:
    """Unequal rates, one seizure, one class only, a channel that one seizure lacks."""
    kinds: tuple[dict[str, Any], ...] = (
        {"seizures": 2, "fs": 220.0},
        {"seizures": 1, "fs": 220.0},
        {"seizures": 3, "fs": 250.0},
        {"seizures": 2, "fs": 220.0, "ez": 6},
    )
    made = [make_patient(f"sub-{i:02d}", seed=10 * i, **kind) for i, kind in enumerate(kinds)]
    valid = made[2]["valid"].copy()
    valid[0, :, -1] = False
    made[2] = made[2].assign(valid=valid, x=made[2]["x"].where(valid, 0))
    return tuple(made)


@dataclass
class Trial:
    """A method on the patients of the contract: two to fit, one to validate, all to predict."""

    method: Method
    plan: Plan = QUICK
    confirmed: list[str] = field(default_factory=list)
    """What was expected and found, so far."""

    @property
    def patients(self) -> tuple[xr.Dataset, ...]:
        """All four."""
        return contract_patients()

    @property
    def training(self) -> Training:
        """What it is fitted on."""
        return Training(self.patients[:2], self.patients[2:3], 0, self.plan)

    @cached_property
    def fitted(self) -> Scorer:
        """The method, fitted once."""
        return self.method.fit(self.training)

    def fit(self, seed: int = 0) -> Scorer:
        """The method, fitted again."""
        return self.method.fit(
            Training(self.training.fit, self.training.validation, seed, self.plan)
        )

    def expect(self, condition: object, expected: str, found: str) -> None:
        """Fail with the grammar of all messages."""
        assert condition, f"{self.method.name}: expected {expected}, found {found}"
        self.confirmed.append(expected)


def says_what_it_is(trial: Trial) -> None:
    """Settings can be hashed, and what they and the row name is there."""
    method = trial.method
    digest_of(method.settings)  # refuses what is not plain
    stores = ("cube", "features", "traces", "signals")
    trial.expect(method.input in stores, f"an input of {stores}", repr(method.input))
    for section in method.sections:
        sections = [*Plan.model_fields, *SECTIONS]
        trial.expect(section in sections, f"a section of the plan in {sections}", repr(section))
    trial.expect(code_modules(method, _origin(method)), "a module with its code", "none")


def repeats_itself(trial: Trial) -> None:
    """The same seed gives the same bits."""
    blinded = [blind(patient) for patient in trial.patients]
    once, again = (fitted.predict(blinded) for fitted in (trial.fitted, trial.fit()))
    trial.expect(once.equals(again), "the same bits from the same seed", "other scores")


def scores_every_seen_channel_once(trial: Trial) -> None:
    """A probability for each channel that some window shows, in the order of the patients."""
    scores = trial.fitted.predict([blind(patient) for patient in trial.patients])
    wanted = [
        (patient.attrs["patient"], channel)
        for patient in trial.patients
        for channel in patient["channel"].values[seen_channels(patient)]
    ]
    given = list(zip(scores["patient"], scores["channel"], strict=True))
    trial.expect(given == wanted, "a row for every seen channel, in order", f"{given[:3]} …")
    inside = scores["p_nez"].between(0, 1)
    trial.expect(inside.all(), "p_nez in [0, 1]", f"{scores['p_nez'][~inside].tolist()[:3]}")


def uses_the_seed_as_it_says(trial: Trial) -> None:
    """Another seed gives other scores where chance enters, and only there."""
    patient = [blind(trial.patients[2])]
    first, second = (f.predict(patient)["p_nez"] for f in (trial.fitted, trial.fit(seed=1)))
    same = first.equals(second)
    said = f"{'other' if trial.method.seeded else 'the same'} scores from another seed"
    trial.expect(same != trial.method.seeded, f"{said} (seeded={trial.method.seeded})", "not so")


def does_not_look_at_labels(trial: Trial) -> None:
    """Labels of the patients that are predicted change nothing."""
    patient = trial.patients[3]
    flipped = patient.assign(is_ez=~patient["is_ez"])
    ours, other = (trial.fitted.predict([p]) for p in (patient, flipped))
    trial.expect(
        ours.equals(other), "predictions without labels", "that flipped labels change them"
    )


def scores_each_patient_alone(trial: Trial) -> None:
    """A patient's scores do not depend on who is predicted with it."""
    together = trial.fitted.predict([blind(patient) for patient in trial.patients])
    alone = trial.fitted.predict([blind(trial.patients[2])])
    among = together[together["patient"] == "sub-02"].reset_index(drop=True)
    trial.expect(among.equals(alone), "the scores of a patient alone", "that others change them")


def follows_the_channels(trial: Trial) -> None:
    """The order of channels is of no consequence."""
    patient = blind(trial.patients[3])
    order = np.random.default_rng(0).permutation(patient.sizes["channel"])
    ours, other = (
        trial.fitted.predict([p]).set_index("channel")["p_nez"]
        for p in (patient, patient.isel(channel=order))
    )
    close = np.allclose(other[ours.index], ours, rtol=1e-3, atol=1e-4)
    trial.expect(close, "scores that follow their channels", "that another order changes them")


def says_what_it_lacks(trial: Trial) -> None:
    """Too few patients are refused by name; a training-free method needs none."""
    method, (first, second, third, _) = trial.method, trial.patients
    if method.training_free:
        bare = method.fit(Training(plan=trial.plan)).predict([blind(first)])
        same = bare.equals(trial.fitted.predict([first]))
        trial.expect(same, "a training-free method to look at no patient", "that it does")
        return
    for fit, validation in (([first], [third]), ([first, second], [])):
        try:
            method.fit(Training(fit, validation, 0, trial.plan))
        except MethodError as error:
            trial.expect(str(error).startswith(method.name), "its name in messages", f"{error}")
            continue
        raise AssertionError(
            f"{method.name}: expected a MethodError for {len(fit)} fit and {len(validation)} "
            "validation patients, found none"
        )


def notes_are_json(trial: Trial) -> None:
    """What is kept with the result can be written down."""
    json.dumps(dict(trial.fitted.notes))
    trial.expect(trial.fitted.threshold_from, "where the threshold is from", "nothing")
    trial.expect(isinstance(trial.fitted.history, pd.DataFrame), "a history", "none")


def keeps_what_chose_its_threshold(trial: Trial) -> None:
    """A threshold that was not chosen on validation patients can be chosen again."""
    if trial.fitted.threshold_from == VALIDATION:
        return
    kept = getattr(trial.fitted, "threshold_scores", None)
    trial.expect(kept is not None, "the scores that chose its threshold", "none")
    again = selected_threshold(pd.DataFrame(kept), trial.method.prevalence_tolerance)
    found = f"{trial.fitted.threshold}, they select {again}"
    trial.expect(again == trial.fitted.threshold, "the threshold that its scores select", found)


def survives_storage(trial: Trial) -> None:
    """A fitted object that a model stores gives the same scores after it was opened again."""
    parts = {part.method: part for kind in KINDS.values() for part in kind.parts}
    if trial.method.name not in parts:
        return
    make: Any = getattr(trial.fit(), "predictor", None)
    trial.expect(make is not None, "a fit with a predictor that a model can store", "none")
    predictor, patient = make(), blind(trial.patients[2])
    spec = json.loads(json.dumps(predictor.spec()))
    layout = Layout(trial.method.name, spec, tuple(patient["descriptor"].values.tolist()))
    again = parts[trial.method.name].opener.open(predictor.tensors(), layout)
    same = np.array_equal(again.p_nez(patient), predictor.p_nez(patient))
    trial.expect(same, "the same scores after its tensors were opened again", "other scores")


def hashes_the_code_that_runs(trial: Trial) -> None:
    """Whatever runs in a fit and a prediction is behind the key of its results."""
    origin = _origin(trial.method)
    packages = {"epilens", origin.partition(".")[0]}
    patient = blind(trial.patients[2])
    ran = modules_run(lambda: trial.fit().predict([patient]))
    ours = {n for n in ran if n.partition(".")[0] in packages and not is_base(n)} - {__name__}
    missed = sorted(ours - modules_behind(*code_modules(trial.method, origin)))
    trial.expect(
        not missed, "all code behind the row (imported, or named in its settings)", f"{missed} too"
    )


def modules_run(work: Callable[[], object]) -> set[str]:
    """Names of the modules whose functions are called while `work` is done."""
    names: set[str] = set()

    def note(frame: Any, event: str, _: Any) -> None:
        if event == "call":
            names.add(frame.f_globals.get("__name__", ""))

    before = sys.getprofile()
    sys.setprofile(note)
    threading.setprofile(note)
    try:
        work()
    finally:
        threading.setprofile(None)
        sys.setprofile(before)
    return names


def _origin(method: Method) -> str:
    """The module of a row; of one that is not registered, that of its fitter."""
    if method.name in METHODS and METHODS[method.name] == method:
        return METHODS.origin(method.name).module
    return getattr(method.fitter, "__module__", "")


METHOD_CHECKS: tuple[Callable[[Trial], None], ...] = (
    says_what_it_is,
    repeats_itself,
    scores_every_seen_channel_once,
    uses_the_seed_as_it_says,
    does_not_look_at_labels,
    scores_each_patient_alone,
    follows_the_channels,
    says_what_it_lacks,
    notes_are_json,
    keeps_what_chose_its_threshold,
    survives_storage,
    hashes_the_code_that_runs,
)
"""The contract, one sentence each."""


def check_method(method: Method | str, plan: Plan | None = None) -> None:
    """Assert that a method keeps the contract; its author runs this in a test.

    It is fitted a few times on small synthetic patients with all stores. The
    first sentence of the contract that is violated is an AssertionError that says what was
    expected.

    Parameters
    ----------
    method : Method or str
        A row, registered or not, or the name of a registered one.
    plan : Plan, optional
        Where it needs another than one with few epochs, e.g. for a folder of pretrained weights.
    """
    row = METHODS[method] if isinstance(method, str) else method
    trial = Trial(row, plan or QUICK)
    for check in METHOD_CHECKS:
        check(trial)
