"""The plan: TOML in, one frozen tree out, clear words for what does not fit."""

from __future__ import annotations

import pytest

from epilens.core.errors import PlanError
from epilens.methods import METHODS
from epilens.plan import Plan, shipped_plans


def test_the_default_is_the_paper_s_plan():
    plan = Plan()
    assert (plan.filter.low_hz, plan.filter.high_hz, plan.filter.order) == (1.0, 150.0, 4)
    assert (plan.windows.length_s, plan.windows.stride_s) == (2.0, 1.0)
    assert (plan.windows.start_s, plan.windows.stop_s) == (-30.0, 30.0)
    assert plan.windows.min_reference == 5
    assert plan.montage.scheme == "as-recorded"
    assert plan.filter.notch == "none"


def test_a_plan_survives_its_own_toml(tmp_path):
    plan = Plan().override(montage={"scheme": "bipolar"}, quality={"drop": ["flat"]})
    path = tmp_path / "plan.toml"
    path.write_text(plan.to_toml(), encoding="utf-8")
    assert Plan.load(path) == plan
    assert Plan.load(path).digest == plan.digest


def test_the_digest_changes_with_every_field():
    digests = {
        Plan().digest,
        Plan().override(filter={"low_hz": 0.5}).digest,
        Plan().override(windows={"stop_s": 20.0}).digest,
        Plan().override(montage={"scheme": "bipolar"}).digest,
        Plan().override(cohort={"labels": "x.csv"}).digest,
    }
    assert len(digests) == 5


def test_a_plan_is_frozen():
    with pytest.raises(ValueError, match="frozen"):
        Plan().montage.scheme = "bipolar"  # ty: ignore


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[montage]\nsheme = 'bipolar'", r"unknown key 'montage.sheme'. Did you mean 'scheme'\?"),
        ("[montag]\nscheme = 'bipolar'", r"toml: unknown key 'montag'. Did you mean 'montage'\?$"),
        ("[montage]\nscheme = 'bipola'", r"montage.scheme: .*bipolar.*found 'bipola'"),
        ("[windows]\nstart_s = 3", r"windows: .*start_s must lie before onset"),
        ("[windows]\nstop_s = -29", r"windows: .*room for at least one window"),
        ("[filter]\nlow_hz = nan", r"filter.low_hz"),
        ("[windows\n", r"expected TOML, found"),
    ],
)
def test_a_plan_that_does_not_fit_gets_one_clear_sentence(tmp_path, text, message):
    path = tmp_path / "plan.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(PlanError, match=message):
        Plan.load(path)


def test_a_missing_plan_is_named(tmp_path):
    with pytest.raises(PlanError, match=r"nothing\.toml: expected a TOML file, found none"):
        Plan.load(tmp_path / "nothing.toml")


def test_differences_are_named_by_field():
    other = Plan().override(montage={"scheme": "bipolar"}, windows={"stop_s": 20.0})
    assert Plan().differences(other) == [
        ("montage.scheme", "as-recorded", "bipolar"),
        ("windows.stop_s", 30.0, 20.0),
    ]
    assert Plan().differences(Plan()) == []


def test_an_empty_list_is_shown_as_such():
    kept = Plan().override(quality={"keep": ["01:RA5"]})
    assert kept.differences(Plan()) == [("quality.keep", ["01:RA5"], [])]


def test_every_shipped_plan_loads():
    from pathlib import Path

    joins = {"raw": "paper", "loco-raw": "loco"}  # their cells belong to the same run
    for path in (Path(__file__).parents[1] / "plans").glob("*.toml"):
        plan = Plan.load(path)
        assert plan.name == joins.get(path.stem, path.stem)
        assert all(name in METHODS for name in plan.methods)


@pytest.mark.parametrize("name", list(shipped_plans()))
def test_a_shipped_plan_is_found_by_its_name(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert Plan.load(name) == Plan.load(shipped_plans()[name])
    (tmp_path / name).write_text('name = "mine"')
    assert Plan.load(name).name == "mine", "a file of that name comes first"


def test_a_folder_with_the_name_of_a_shipped_plan_does_not_hide_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "demo").mkdir()
    assert Plan.load("demo").name == "demo"


def test_the_demo_trains_the_networks_as_the_paper_does():
    plan = Plan.load("demo")
    assert plan.training == Plan.load("paper").training == Plan.load("demo-all").training
    assert not plan.smoke
    assert set(plan.methods) < set(Plan.load("demo-all").methods)


def test_a_misspelt_plan_gets_the_shipped_names():
    with pytest.raises(
        PlanError,
        match="name a shipped plan: best, demo, demo-all, loco, loco-raw, paper, public, raw",
    ):
        Plan.load("papper")


def test_the_shipped_plans_have_every_row_of_the_paper_s_tables():
    from epilens.analyses import ablation, loco, main

    plans = {name: Plan.load(name) for name in shipped_plans()}
    joined = {
        run: {m for plan in plans.values() if plan.name == run for m in plan.methods}
        for run in ("paper", "loco")
    }
    assert {*main.PAPER["method"], *ablation.PAPER["method"]} <= joined["paper"]
    assert {name for name in METHODS if name.startswith("rich/")} <= joined["paper"]
    assert set(loco.PAPER["method"]) <= joined["loco"]


@pytest.mark.parametrize(
    ("tree", "what"),
    [
        ({"filter": {"low_hz": 200.0, "high_hz": 100.0}}, "low_hz and high_hz: the first must be"),
        ({"traces": {"low_hz": 90.0}}, "low_hz and high_hz: the first must be below"),
        ({"epileptogenicity_index": {"baseline_s": (5.0, -5.0)}}, "two times of baseline_s"),
        ({"fragility": {"start_s": 10.0, "stop_s": -10.0}}, "start_s and stop_s"),
        ({"line_length_spread": {"start_s": 10.0, "stop_s": 10.0}}, "start_s and stop_s"),
        ({"seeds": [7, 8, 7]}, "every seed must be listed once, got 7 twice"),
        ({"seeds": []}, "seeds: expected a list of 1 or more; found"),
        ({"methods": ["prq", "prq"]}, "every method must be listed once, got 'prq' twice"),
        ({"seeds": [-1]}, "greater than or equal to 0; found -1"),
        ({"seeds": [2**32]}, "less than 4294967296"),
        ({"splits": {"seed": -1}}, "greater than or equal to 0"),
        ({"seeds": [10**4000]}, r"found 1000000000.*… \(4001 characters\)"),
        ({"windows": {"length_s": 1e-7}}, "greater than or equal to 0.01"),
        ({"windows": {"stride_s": 1e-7}}, "greater than or equal to 0.01"),
        ({"fragility": {"step_s": 1e-7}}, "greater than or equal to 0.01"),
        ({"windows": {"start_s": -1e9}}, "at most 1000000 windows"),
        ({"traces": {"segments": 10**9}}, "less than or equal to 10000"),
        ({"filter": {"low_hz": float("nan")}}, "finite number"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(tree, what):
    with pytest.raises(PlanError, match=what) as refused:
        Plan.of(tree)
    assert len(str(refused.value)) < 400


@pytest.mark.parametrize(
    "text",
    [
        "seeds = [" + "9" * 5000 + "]",
        "seeds = " + "[" * 5000,
        "a." * 5000 + "b = 1",
        "a = {b = " * 900,
    ],
)
def test_numbers_and_nesting_that_nobody_writes_are_refused(tmp_path, text):
    (tmp_path / "plan.toml").write_text(text)
    with pytest.raises(PlanError, match=r"^plan .*plan\.toml: ") as refused:
        Plan.load(tmp_path / "plan.toml")
    assert len(str(refused.value)) < 20_000


def test_a_device_or_a_heap_of_data_is_no_plan(tmp_path):
    (tmp_path / "large.toml").write_text("#" * 2_000_000)
    for path in (tmp_path / "large.toml", tmp_path):
        with pytest.raises(PlanError, match="expected a TOML file of at most 1000 kB"):
            Plan.load(path)


def test_a_gap_before_the_reference_changes_digests_only_if_there_is_one():
    assert "reference_gap_s" not in Plan().model_dump()["windows"]
    gapped = Plan().override(windows={"reference_gap_s": 10.0})
    assert gapped.digest != Plan().digest
    assert gapped.override(windows={"reference_gap_s": 0.0}).digest == Plan().digest
    assert gapped.differences(Plan()) == [("windows.reference_gap_s", 10.0, 0.0)]
    assert Plan.of(gapped.model_dump(mode="json")) == gapped


def test_a_gap_must_leave_room_for_a_reference():
    with pytest.raises(PlanError, match="reference_gap_s must leave room"):
        Plan.of({"windows": {"reference_gap_s": 29.0}})
