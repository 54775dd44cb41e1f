"""One person under two names in a cohort: recognised, named, and refused."""

from __future__ import annotations

import pytest

from epilens.core.errors import CubeError
from epilens.evaluation.novelty import check_apart, shared_patients
from epilens.evaluation.protocol import run
from epilens.evaluation.train import train
from epilens.evidence.files import SUFFIX, open_cohort, save
from epilens.plan import Plan, Runtime
from epilens.testing import make_cohort, make_cube

QUICK = Plan(name="quick", seeds=(1,), methods=("logistic-z",)).override(splits={"folds": 2})


def copied(cube, name, center):
    return cube.assign_attrs(patient=name, center=center, key=f"{name}-copy")


@pytest.fixture(scope="module")
def cohort(tmp_path_factory):
    """Eight patients, of whom the second is also a ninth one at another center."""
    cohort = make_cohort(tmp_path_factory.mktemp("cubes"), channels=4, ez=1)
    again = copied(cohort["sub-02"], "sub-09", "Elsewhere")
    save(again, cohort.path("sub-02").with_name(f"sub-09{SUFFIX}"))
    return open_cohort(cohort.path("sub-02").parent)


@pytest.mark.parametrize("work", [lambda c, out: run(QUICK, c, Runtime(out=out)), None])
def test_a_run_or_training_on_one_person_with_two_names_is_refused(cohort, tmp_path, work):
    work = work or (lambda c, _: train(QUICK, c))
    said = r"same seizure in sub-02 \(Center 2\) and sub-09 \(Elsewhere\)"
    with pytest.raises(CubeError, match=said):
        work(cohort, tmp_path)


def test_other_contacts_and_other_seizures_do_not_hide_it():
    first = make_cube("sub-1", seizures=2, seed=1)
    part = first.isel(seizure=[1], channel=[0, 2, 3])
    other = make_cube("sub-2", seizures=2, seed=7)
    assert shared_patients([("a", first), ("b", other), ("c", part)]) == [("a", "c")]


def test_patients_that_share_nothing_pass():
    check_apart((f"sub-{seed}", make_cube(f"sub-{seed}", seed=seed)) for seed in (1, 5, 9))
