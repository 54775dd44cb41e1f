"""Every registered method keeps the contract: a new method is tested by being registered."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from epilens.core.errors import MethodError, PackageError
from epilens.core.provenance import digest_of
from epilens.evidence.cube import blind
from epilens.methods import METHODS, Training, stores_of
from epilens.methods.inputs import method_inputs
from epilens.plan import Plan
from epilens.testing import METHOD_CHECKS, QUICK, Trial, contract_patients

# What starts from pretrained weights is tested with checkpoints of its own (test_pretrained.py).
FITTED = [n for n, m in METHODS.items() if m.fitter is not None and not m.pretrained]
LEARNED = [name for name in FITTED if not METHODS[name].training_free]
CONTRACT = """prq bcr cdel prq/base prq/temporal prq/absolute prq/q05 prq/q20 prq/released bcr/base
bcr/q10 bcr/q10-residual bcr/boundary bcr/coverage bcr/released logistic rbf-svm random-forest
lightgbm deepsets mlp-rank logistic-z rbf-svm-z seegnet timeconv-cnn clap seegformer
epileptogenicity-index epileptogenicity-index/published fragility fragility/unit line-length-spread
line-length-change high-frequency-change random""".split()  # noqa: SIM905


@pytest.fixture(scope="module")
def trial():
    """Every method once; several tests look at the same fit."""
    trials = {}
    return lambda name: trials.setdefault(name, Trial(METHODS[name]))


@pytest.fixture
def patients():
    return contract_patients()


def test_the_contract_s_rows_are_there():
    assert set(CONTRACT) <= set(METHODS)
    inputs = {digest_of(method_inputs(name, Plan())) for name in METHODS}
    assert len(inputs) == len(METHODS), "rows differ in something"
    sections = {section for method in METHODS.values() for section in method.sections}
    assert sections <= set(Plan.model_fields)


def test_a_plan_s_methods_say_which_stores_they_read():
    assert stores_of(["prq", "logistic", "random"]) == []
    assert stores_of(["fragility", "seegnet", "cdel"]) == ["signals", "traces"]


@pytest.mark.parametrize("check", METHOD_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", FITTED)
def test_a_method_keeps_the_contract(check, name, trial):
    tried = trial(name)
    before = len(tried.confirmed)
    check(tried)
    confirmed = tried.confirmed[before:]
    applies_to_some = ("keeps_what_chose_its_threshold", "survives_storage")
    assert confirmed or check.__name__ in applies_to_some, "the check expects something"


@pytest.mark.parametrize("name", LEARNED)
def test_one_patient_is_too_few_to_learn_from(name, patients):
    with pytest.raises(MethodError, match=f"{name}: expected 2 or more patients to learn from"):
        METHODS[name].fit(Training(patients[:1], patients[2:3], 0, QUICK))
    with pytest.raises(MethodError, match="expected 1 or more patients to choose a threshold on"):
        METHODS[name].fit(Training(patients[:2], [], 0, QUICK))


@pytest.mark.parametrize("name", ["logistic", "prq", "seegnet"])
def test_labels_of_both_classes_are_needed(name, patients):
    one_class = [p.assign(is_ez=p["is_ez"] | True) for p in patients[:2]]
    with pytest.raises(MethodError, match="expected EZ and NEZ channels among the fit patients"):
        METHODS[name].fit(Training(one_class, patients[2:3], 0, QUICK))
    with pytest.raises(MethodError, match="expected EZ labels for every fit patient"):
        METHODS[name].fit(Training([patients[0], blind(patients[1])], patients[2:3], 0, QUICK))


@pytest.mark.parametrize("name", [n for n in LEARNED if n.startswith(("prq", "bcr"))])
def test_the_history_tells_every_epoch_and_which_was_kept(name, trial):
    history = trial(name).fitted.history
    assert history["epoch"].tolist() == [1, 2]
    assert np.isfinite(history["loss"]).all()
    assert history["selected"].iloc[0]
    assert history["threshold"].between(0, 1).all()


def test_a_missing_package_is_named(monkeypatch, patients):
    extras = {"clap": ("transformers", "raw"), "prq": ("torch", "networks")}
    extras |= {"bcr": ("numba", "networks"), "lens": ("sklearn", "cohort")}
    for method, (package, extra) in extras.items():
        with monkeypatch.context() as blocked:
            blocked.setitem(sys.modules, package, None)
            sentence = (
                rf"{method}: expected the package {package}, found none.*'epilens\[{extra}\]'"
            )
            with pytest.raises(PackageError, match=sentence):
                METHODS[method].fit(Training(patients[:2], patients[2:3], 0, QUICK))


def test_patients_with_other_descriptors_are_not_mixed(patients):
    fewer = patients[1].isel(descriptor=slice(3))
    with pytest.raises(MethodError, match=r"prq: expected the descriptors .* in sub-01"):
        METHODS["prq"].fit(Training([patients[0], fewer], patients[2:3], 0, QUICK))


def test_a_method_that_is_fused_is_not_fitted(patients):
    with pytest.raises(MethodError, match=r"cdel: .* found one that is fused from prq and bcr"):
        METHODS["cdel"].fit(Training(patients[:2], patients[2:3], 0, QUICK))
