"""The plan: TOML in, one frozen tree out, clear words for what does not fit."""

from __future__ import annotations

import pytest

from epilens.errors import PlanError
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
        ("[montag]\nscheme = 'bipolar'", r"unknown key 'montag'. Did you mean 'montage'\?"),
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


def test_every_shipped_plan_loads():
    from pathlib import Path

    joins = {"raw": "paper", "loco-raw": "loco"}  # their cells belong to the same run
    for path in (Path(__file__).parents[1] / "plans").glob("*.toml"):
        plan = Plan.load(path)
        assert plan.name == joins.get(path.stem, path.stem)
        assert all(name in METHODS for name in plan.methods)


@pytest.mark.parametrize("name", ["paper", "demo", "loco", "loco-raw", "public", "raw", "smoke"])
def test_a_shipped_plan_is_found_by_its_name(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert Plan.load(name) == Plan.load(shipped_plans()[name])
    (tmp_path / name).write_text('name = "mine"')
    assert Plan.load(name).name == "mine", "a file of that name comes first"


def test_a_misspelt_plan_gets_the_shipped_names():
    with pytest.raises(
        PlanError,
        match="name a shipped plan: best, demo, loco, loco-raw, paper, public, raw, smoke",
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
