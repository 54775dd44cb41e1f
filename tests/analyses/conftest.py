"""A small finished run, its leave-one-center-out run, and a run that has every method's rows."""

from __future__ import annotations

import json
import os
import shutil

import numpy as np
import pandas as pd
import pytest

from epilens.evaluation.ledger import read_ledger, with_thresholds, write_ledger
from epilens.evaluation.protocol import run as go
from epilens.evaluation.run import Run, open_run
from epilens.plan import Plan, Runtime
from epilens.testing import make_cohort

PLAN = Plan(name="small", seeds=(1, 2)).override(
    splits={"folds": 2}, training={"epochs": 1, "least_epochs": 1}
)
OTHERS = (
    *("logistic", "rbf-svm", "logistic-z", "timeconv-cnn", "epileptogenicity-index"),
    *("prq/base", "prq/temporal", "prq/absolute", "prq/q05", "prq/q20"),
    *("bcr/base", "bcr/q10", "bcr/boundary", "bcr/coverage", "rich/hfo", "rich/graph-residual"),
)


@pytest.fixture(scope="session")
def cubes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cubes")
    make_cohort(folder, patients=8, channels=8, ez=3)
    return folder


@pytest.fixture(scope="session")
def runs(cubes, tmp_path_factory):
    """Folder with the runs `small` and `loco`."""
    from epilens.evidence.files import open_cohort

    out = tmp_path_factory.mktemp("runs")
    cohort = open_cohort(cubes)
    go(PLAN, cohort, Runtime(out=out))
    loco = PLAN.override(name="loco", splits={"kind": "leave-one-center-out"})
    go(loco, cohort, Runtime(out=out))
    return out


@pytest.fixture(scope="session")
def small(runs, cubes) -> Run:
    return open_run(runs / "small", cubes)


@pytest.fixture(scope="session")
def many(tmp_path_factory) -> Run:
    """A run whose patients have one to four seizures, so that two of them are not all."""
    folder = tmp_path_factory.mktemp("many")
    cohort = make_cohort(folder / "cubes", patients=8, channels=8, ez=3, seizures=(3, 1, 4, 2))
    return open_run(go(PLAN, cohort, Runtime(out=folder / "runs")), folder / "cubes")


@pytest.fixture(scope="session")
def full(runs, cubes, tmp_path_factory) -> Run:
    """`small` with made-up scores of every other method; prq and bcr keep theirs."""
    out = tmp_path_factory.mktemp("full")
    for name in ("small", "loco"):
        shutil.copytree(runs / name, out / name)
        add_methods(out / name / "ledger.parquet")
    return open_run(out / "small", cubes)


def add_methods(path) -> None:
    ledger = read_ledger(path)
    prq = ledger[ledger["method"] == "prq"]
    parts = [ledger]
    for i, name in enumerate(OTHERS):
        noise = np.random.default_rng(i).normal(0.6 - 0.1 * prq["is_ez"], 0.1, len(prq))
        rows = prq.assign(method=name, p_nez=np.clip(noise, 0, 1))
        parts.append(with_thresholds(rows))
    write_ledger(pd.concat(parts, ignore_index=True), path)


@pytest.fixture
def tampered(runs, cubes, tmp_path):
    """A copy of both runs that a test may change; it finds its cubes from where it is now."""
    shutil.copytree(runs, tmp_path / "runs")
    for path in (tmp_path / "runs").glob("*/run.json"):
        place = os.path.relpath(cubes, path.parent)
        path.write_text(json.dumps(json.loads(path.read_text()) | {"cubes": place}))
    return tmp_path / "runs"
