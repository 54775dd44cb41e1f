"""A plan's names are checked against what there is, with the nearest name."""

from __future__ import annotations

import pytest

from epilens.core.errors import PlanError
from epilens.evaluation.plan_check import check_cubes, check_names, lacking
from epilens.plan import Plan, shipped_plans
from epilens.testing import make_cohort


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"methods": ("prq", "fragilty")},
            r"methods: .*found 'fragilty'. Did you mean 'fragility'",
        ),
        (
            {"methods": ("fragilty/shaft",)},
            r"methods: .*found 'fragilty'. Did you mean 'fragility'",
        ),
        ({"descriptors": ("line_lenght",)}, r"descriptors: .*Did you mean 'line_length'"),
    ],
)
def test_a_misspelt_name_is_answered_with_the_nearest(changes, message):
    with pytest.raises(PlanError, match=message):
        check_names(Plan().override(**changes), "plan mine.toml")


@pytest.mark.parametrize("name", shipped_plans())
def test_shipped_plans_name_what_there_is(name):
    check_names(Plan.load(name), name)


def test_what_is_lacking_is_said(tmp_path):
    plan = Plan(methods=("clap", "cdel")).override(
        cohort={"labels": str(tmp_path / "none.csv")}, baselines={"pretrained": str(tmp_path)}
    )
    weights, table = [text for text in lacking(plan) if "package" not in text]
    assert "clap needs weights" in weights
    assert "model.safetensors" in weights
    assert table.startswith("cohort.labels names")
    assert lacking(Plan()) == []


@pytest.mark.parametrize(
    "changes",
    [{"montage": {"scheme": "bipolar"}}, {"filter": {"band": "none"}}, {"cohort": {"ez": "soz"}}],
)
def test_cubes_of_another_plan_are_refused(tmp_path, changes):
    cohort = make_cohort(tmp_path / "cubes", patients=2)
    check_cubes(Plan(), cohort)
    with pytest.raises(PlanError) as raised:
        check_cubes(Plan().override(**changes), cohort)
    assert raised.value.code == "cubes-of-another-plan"
