"""A plan's names are checked against what there is, with the nearest name."""

from __future__ import annotations

import pytest

from epilens.core.errors import PlanError
from epilens.evaluation.plan_check import check_names, lacking
from epilens.plan import Plan, shipped_plans


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
