"""What a method's results are keyed by: settings that the fit uses, and the code that runs."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import epilens
from epilens.core.decisions import LOCKED_WEIGHT
from epilens.core.errors import MethodError
from epilens.methods import METHODS, Training
from epilens.methods.epilens import untrained
from epilens.methods.inputs import method_inputs
from epilens.networks.bcr import BCRNet
from epilens.networks.controls import DeepSets, Hybrid, RankedMLP
from epilens.networks.prq import PRQNet
from epilens.plan import Plan, TrainingPlan
from epilens.testing import make_cube


def all_inputs():
    return {name: json.dumps(method_inputs(name, Plan()), sort_keys=True) for name in METHODS}


@pytest.fixture
def change(monkeypatch):
    """Give a row other settings, as an edit of its file would."""

    def set_row(name, **fields):
        changed = replace(METHODS[name], **fields)
        monkeypatch.setitem(METHODS._rows, name, (changed, METHODS.origin(name)))
        return changed

    return set_row


def differing(before, after):
    return {name for name in before if before[name] != after[name]}


# Settings


def test_another_c_is_another_method_and_another_fit(change):
    cubes = [make_cube(f"sub-{i}", seed=7 * i, fs=128.0, channels=8, ez=3) for i in range(4)]
    training = Training(cubes[:3], cubes[3:])
    before = all_inputs(), METHODS["logistic"].fit(training).predict(cubes[3:])
    settings = METHODS["logistic"].settings
    change("logistic", settings=replace(settings, arguments={**settings.arguments, "C": 1e-4}))
    after = all_inputs(), METHODS["logistic"].fit(training).predict(cubes[3:])
    assert differing(before[0], after[0]) == {"logistic"}
    assert np.abs(before[1]["p_nez"] - after[1]["p_nez"]).max() > 0.01


@pytest.mark.parametrize("name", [n for n in METHODS if METHODS[n].fitter is not None])
def test_every_setting_of_a_row_changes_its_inputs_and_those_of_rows_made_of_it(name, change):
    before, tree = all_inputs(), METHODS[name].settings
    fields = dict(tree) if isinstance(tree, dict) else dict(vars(tree))
    assert fields
    for field, value in fields.items():
        changed = {"another": 1} if isinstance(value, dict) else f"{value} changed"
        settings = {**tree, field: changed} if isinstance(tree, dict) else None
        change(name, settings=settings or replace(tree, **{field: changed}))
        made_of_it = {other for other in METHODS if name in METHODS[other].parts}
        assert differing(before, all_inputs()) == {name} | made_of_it, field


def test_the_sections_of_the_plan_that_a_method_reads_are_among_its_inputs():
    other = Plan().override(fragility={"ridge": 1e-3}, training={"batch": 2})
    before, after = all_inputs(), {n: json.dumps(method_inputs(n, other)) for n in METHODS}
    changed = {n for n in METHODS if json.loads(before[n]) != json.loads(after[n])}
    trained = {n for n in METHODS if METHODS[n].sections == ("training",)}
    fused = {n for n in METHODS if trained & set(METHODS[n].parts)}
    assert changed == {n for n in METHODS if n.startswith("fragility")} | trained | fused
    assert {"prq", "bcr/q10"} <= trained


def test_other_pretrained_files_are_other_inputs(tmp_path):
    plan = Plan().override(baselines={"pretrained": str(tmp_path)})
    before = method_inputs("clap", plan), method_inputs("timeconv-cnn", plan)
    (tmp_path / "clap-htsat-fused").mkdir()
    (tmp_path / "clap-htsat-fused" / "config.json").write_text("{}")
    after = method_inputs("clap", plan), method_inputs("timeconv-cnn", plan)
    assert before[0] != after[0]
    assert before[1] == after[1]


@pytest.mark.parametrize("fitter", [lambda settings, training: None, partial(print, 1)])
def test_a_fitter_that_cannot_be_named_cannot_be_hashed(change, fitter):
    change("random", fitter=fitter)
    with pytest.raises(MethodError, match="random: expected a fitter that is a function of a mod"):
        method_inputs("random", Plan())


def test_settings_that_are_not_plain_cannot_be_hashed(change):
    change("random", settings={"make": print})
    with pytest.raises(TypeError, match="expected plain values, found builtin_function_or_method"):
        method_inputs("random", Plan())


def test_the_inputs_are_readable():
    inputs = method_inputs("prq", Plan())
    assert set(inputs) == {"fitter", "settings", "plan", "code", "pretrained"}
    assert inputs["settings"]["encoder"]["D"] == 32
    assert inputs["plan"]["training"]["learning_rate"] == 1e-4


# The rows are the paper's: what stands in them is what the networks are by themselves


@pytest.mark.parametrize(("name", "network"), [("prq", PRQNet), ("bcr", BCRNet)])
def test_the_full_rows_are_the_networks_as_they_are(name, network):
    assert untrained(METHODS[name].settings, 36).spec == network().spec
    assert network.of(asdict(network().spec)).spec == network().spec


@pytest.mark.parametrize(
    ("name", "network"),
    [("deepsets", DeepSets), ("mlp-rank", RankedMLP), ("rich/hybrid", Hybrid)],
)
def test_the_controls_rows_are_the_networks_as_they_are(name, network):
    settings = METHODS[name].settings
    assert str(network(88, **settings.layers)) == str(network())
    assert set(settings.training) == set(TrainingPlan.model_fields) - {"epochs"}


def test_cdel_s_weight_is_the_locked_one():
    assert METHODS["cdel"].settings == {"weight": LOCKED_WEIGHT}


# Code


@pytest.fixture(scope="module")
def edited(tmp_path_factory):
    """Inputs of all methods in a fresh interpreter, after an edit of a copy of the package."""
    place = tmp_path_factory.mktemp("copy")
    shutil.copytree(Path(epilens.__file__).parent, place / "epilens")
    code = (
        "import json\nfrom epilens.methods import METHODS\n"
        "from epilens.methods.inputs import method_inputs\n"
        "from epilens.plan import Plan\n"
        "print(json.dumps({n: json.dumps(method_inputs(n, Plan())) for n in METHODS}))"
    )

    def inputs(file="", old="", new=""):
        path = place / "epilens" / file
        text = path.read_text(encoding="utf-8") if file else ""
        assert old in text
        if file:
            path.write_text(text.replace(old, new, 1), encoding="utf-8")
        command = [sys.executable, "-c", code]
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, env={"PYTHONPATH": str(place)}
        )
        if file:
            path.write_text(text, encoding="utf-8")
        return json.loads(done.stdout)

    return inputs


@pytest.fixture(scope="module")
def untouched(edited):
    return edited()


def starting(*prefixes):
    return {name for name in METHODS if name.startswith(prefixes)}


RAW = {"seegnet", "timeconv-cnn", "clap"}
ON_COLUMNS = {"deepsets", "mlp-rank", "rich/hybrid"}


@pytest.mark.parametrize(
    ("file", "old", "new", "rows"),
    [
        ("networks/bcr.py", "MARGIN = 0.05", "MARGIN = 0.06", starting("bcr")),
        ("networks/encoder.py", "BLOCK = 64", "BLOCK = 32", starting("prq", "bcr") | ON_COLUMNS),
        ("methods/fragility.py", "BLOCK = 16", "BLOCK = 8", starting("fragility")),
        ("networks/raw/clap.py", "VIEWS = 4", "VIEWS = 5", {"clap"}),
        ("networks/raw/segments.py", "batch: int = 256", "batch: int = 128", RAW),
        ("methods/classical.py", '"C": 1.0, "gamma"', '"C": 2.0, "gamma"', starting("rbf-svm")),
        ("methods/epilens.py", '{"quantile": 0.05}', '{"quantile": 0.06}', {"prq/q05"}),
        ("networks/bcr.py", "import annotations", "import annotations  # and more", set()),
        ("networks/gradients.py", "self.n = ", "self.n = 1 * ", set()),
    ],
)
def test_an_edit_changes_the_inputs_of_the_rows_behind_it(edited, untouched, file, old, new, rows):
    changed = differing(untouched, edited(file, old, new))
    assert changed - {"cdel"} == rows  # CDEL has no fit, but stands in the file of its parts
