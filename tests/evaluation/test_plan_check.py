"""A plan's names are checked against what there is, with the nearest name."""

from __future__ import annotations

import pytest

from epilens.core.errors import PlanError
from epilens.evaluation.plan_check import check_cubes, check_names, lacking
from epilens.evidence.describe import describe
from epilens.evidence.files import SUFFIX, open_cohort, save, store_path
from epilens.evidence.traces import make_traces
from epilens.evidence.zip_store import save_store
from epilens.plan import Plan, shipped_plans
from epilens.testing import make_cohort, make_recording


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


OTHER = {
    "cohort": {"ez": "soz"},
    "montage": {"scheme": "bipolar"},
    "quality": {"drop": ["flat"]},
    "filter": {"low_hz": 4.0, "high_hz": 70.0},
    "windows": {"start_s": -20.0, "stop_s": 20.0, "length_s": 4.0, "reference_gap_s": 2.0},
}
"""Sections that change the evidence, with other values."""


@pytest.fixture(scope="module")
def cohort(tmp_path_factory):
    return make_cohort(tmp_path_factory.mktemp("cubes"), patients=2)


def without_plan(cohort, folder):
    """Cubes of the cohort as an earlier version wrote them."""
    for name, cube in cohort.items():
        del cube.attrs["plan"]
        save(cube, folder / f"{name}{SUFFIX}")
    return open_cohort(folder)


@pytest.mark.parametrize(("section", "changes"), [*OTHER.items(), ("descriptors", ("rms",))])
def test_cubes_of_another_plan_are_refused(cohort, section, changes):
    check_cubes(Plan(), cohort)
    with pytest.raises(PlanError, match="expected cubes that were described with") as raised:
        check_cubes(Plan().override(**{section: changes}), cohort)
    assert raised.value.code == "cubes-of-another-plan"


def test_all_fields_that_differ_are_named_with_both_values(cohort):
    with pytest.raises(PlanError) as raised:
        check_cubes(Plan(descriptors=("rms",)).override(**OTHER), cohort)
    text = str(raised.value)
    for part in (
        "another in sub-01: montage.scheme is 'as-recorded', the plan's 'bipolar'",
        "cohort.ez is '', the plan's 'soz'",
        "filter.high_hz is 150.0, the plan's 70.0",
        "windows.length_s is 2.0, the plan's 4.0",
        "windows.reference_gap_s is 0.0, the plan's 2.0",
        "quality.drop is [], the plan's ['flat']",
        "descriptors are the paper's nine, the plan's rms",
    ):
        assert part in text


def test_a_plan_with_the_same_evidence_uses_the_cubes(cohort):
    other = Plan(name="mine", seeds=(1,), methods=("lens",)).override(
        splits={"folds": 2},
        training={"epochs": 2},
        cohort={"labels": "ez.csv", "outcomes": ["S"]},
        quality={"keep": ["01:A3"]},
    )
    check_cubes(other, cohort)


@pytest.mark.parametrize("name", shipped_plans())
def test_shipped_plans_use_the_same_cubes(cohort, name):
    check_cubes(Plan.load(name), cohort)


def test_of_older_cubes_only_what_they_state_is_compared(cohort, tmp_path):
    older = without_plan(cohort, tmp_path)
    check_cubes(Plan().override(filter=OTHER["filter"], quality=OTHER["quality"]), older)
    for changes in (
        {"montage": {"scheme": "bipolar"}},
        {"filter": {"band": "none"}},
        {"cohort": {"ez": "soz"}},
        {"windows": {"reference_gap_s": 2.0}},
    ):
        with pytest.raises(PlanError, match="expected cubes that were described with"):
            check_cubes(Plan().override(**changes), older)


def test_traces_of_another_plan_are_refused_where_they_are_read(tmp_path):
    recordings = [make_recording(fs=128.0)]
    cube = describe(recordings)
    path = tmp_path / f"sub-01{SUFFIX}"
    save(cube, path)
    save_store(make_traces(recordings, Plan()), store_path(path, "traces"))
    other = Plan().override(traces={"rate_hz": 100.0})
    check_cubes(other, open_cohort(tmp_path))
    with pytest.raises(PlanError, match=r"traces\.rate_hz is 200\.0, the plan's 100\.0"):
        check_cubes(other, open_cohort(tmp_path), ["traces"])
