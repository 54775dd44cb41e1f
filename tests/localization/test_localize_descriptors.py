"""Which descriptors a model is given: its own, unless others are forced upon it, and then told."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from checkpoints import checkpoint
from new_patients import FS, cohort_cubes, make_model, the_files, the_model
from typer.testing import CliRunner

from epilens.cli import app
from epilens.core.errors import ModelError
from epilens.evidence.describe import describe
from epilens.evidence.released_descriptors import RELEASED_NINE
from epilens.networks.model import Model, save_model
from epilens.networks.released import RELEASED_PLAN, import_released
from epilens.plan import PAPER_NINE, Plan
from epilens.report.patient.derivative import sidecar
from epilens.report.patient.localize import localize
from epilens.report.patient.payload import payload
from epilens.testing import make_cube, make_recording

FORCED = (
    "model was applied to evidence that it was not trained on: filter.band is 'butterworth', the "
    "model's 'none'; descriptors are the paper's nine, the model's the released code's nine. Its "
    "scores may mean nothing."
)


@pytest.fixture(scope="module")
def imported(tmp_path_factory) -> Model:
    folder = tmp_path_factory.mktemp("released")
    # Means and scales as of a cohort, so that scores differ between contacts.
    ones = {"standardizer_mean": np.zeros(36), "standardizer_scale": np.ones(36)}
    for name in ("prq", "bcr"):
        checkpoint(folder / f"{name}.pt", name, **ones)
    return import_released([folder / "prq.pt", folder / "bcr.pt"])


@pytest.fixture(scope="module")
def parts():
    return [make_recording(run=f"run-{i}", seed=i, fs=FS, channels=8) for i in range(2)]


def cautions(found) -> list[str]:
    return [c.text for c in found.certainty.cautions if c.level == "caution"]


def test_an_imported_model_is_given_the_released_descriptors(imported, parts):
    found = localize(parts, imported)
    assert tuple(found.cube["descriptor"].values) == RELEASED_NINE
    wanted = describe(parts, Plan(descriptors=RELEASED_NINE).override(filter={"band": "none"}))
    np.testing.assert_array_equal(found.cube["x"], wanted["x"])
    np.testing.assert_allclose(
        found.scores.p_nez, imported.predict(wanted)["p_nez"], rtol=0, atol=1e-4
    )
    texts = " ".join(c.text for c in found.certainty.cautions)
    assert "no plan" not in texts
    assert "forced" not in texts
    assert ("trained on", "descriptors: the released code's nine") in found.source.card()


def test_its_page_shows_them(imported, parts):
    page = payload(localize(parts, imported))
    assert page["heat"]["names"][0] == "delta power (released code)"
    assert page["heat"]["names"][page["heat"]["start"]] == "line length (released code)"
    assert ["trained on", "descriptors: the released code's nine"] in page["about"]["card"]
    assert page["about"]["plan"] == RELEASED_PLAN.digest


def test_the_page_of_a_trained_model_names_the_paper_s():
    found = localize(make_cube(fs=FS), the_model())
    assert ("trained on", "descriptors: the paper's nine") in found.source.card()


def test_a_cube_with_other_descriptors_is_refused_with_what_to_do(imported):
    message = (
        "sub-01: expected evidence as model was trained on, found: filter.band is .*; descriptors "
        "are the paper's nine, the model's the released code's nine. Describe the patient with "
        "the model's plan. To apply the model nevertheless: --force-descriptors"
    )
    with pytest.raises(ModelError, match=message):
        localize(make_cube(fs=FS), imported)


def test_a_plan_with_other_descriptors_is_refused_with_what_to_do(imported, parts):
    message = (
        "expected the plan that it was trained with, found another: filter.band is 'butterworth', "
        "the model's 'none'; descriptors are the paper's nine, the model's the released code's "
        "nine. Leave the plan out, .* To apply the model nevertheless: --force-descriptors"
    )
    with pytest.raises(ModelError, match=message):
        localize(parts, imported, plan=Plan())


def test_filtered_released_descriptors_are_not_what_the_model_was_trained_on(imported, parts):
    cube = describe(parts, RELEASED_PLAN.override(filter={"band": "butterworth"}))
    with pytest.raises(ModelError, match=r"found: filter\.band is 'butterworth', the model's"):
        localize(cube, imported)
    texts = cautions(localize(cube, imported, force_descriptors=True))
    expected = "trained on: filter.band is 'butterworth', the model's 'none'. Its scores"
    assert sum(expected in text for text in texts) == 1


def test_a_cube_that_is_forced_upon_a_model_is_told_on_page_and_table(imported):
    found = localize(make_cube(fs=FS, channels=8), imported, force_descriptors=True)
    assert FORCED in cautions(found)
    assert tuple(found.cube["descriptor"].values) == PAPER_NINE
    assert {"level": "caution", "text": FORCED} in payload(found)["cautions"]
    assert FORCED in sidecar(found)["Cautions"]


def test_a_plan_that_is_forced_upon_a_model_describes_the_evidence(imported, parts):
    found = localize(parts, imported, plan=Plan(), force_descriptors=True)
    assert FORCED in cautions(found)
    np.testing.assert_array_equal(found.cube["x"], describe(parts)["x"])
    assert found.source.plan.digest == Plan().digest


def test_other_band_limits_are_forced_and_told_too(parts):
    plan = Plan().override(filter={"low_hz": 0.5})
    found = localize(parts, the_model(), plan=plan, force_descriptors=True)
    assert any("filter.low_hz is 0.5, the model's 1.0" in text for text in cautions(found))


def test_force_changes_nothing_where_the_evidence_is_the_model_s():
    cube = make_cube(fs=FS, channels=8)
    plain, forced = (localize(cube, the_model(), force_descriptors=f) for f in (False, True))
    assert cautions(forced) == cautions(plain)
    np.testing.assert_array_equal(forced.scores.p_nez, plain.scores.p_nez)


def test_another_number_of_descriptors_cannot_be_forced(imported, parts):
    few = Plan(descriptors=PAPER_NINE[:5])
    message = "Only filters and other descriptors of the same number can be forced"
    with pytest.raises(ModelError, match=message):
        localize(parts, imported, plan=few, force_descriptors=True)
    with pytest.raises(ModelError, match=message):
        localize(describe(parts, few), imported, force_descriptors=True)


def test_other_windows_cannot_be_forced(imported, parts):
    plan = RELEASED_PLAN.override(windows={"start_s": -25.0})
    with pytest.raises(ModelError, match=r"windows\.start_s is -25.0.*Only filters and other desc"):
        localize(parts, imported, plan=plan, force_descriptors=True)


def test_a_cube_says_by_which_plan_it_was_described(parts):
    cube = describe(parts, Plan().override(windows={"stop_s": 20.0}, filter={"low_hz": 4.0}))
    message = (
        r"found: filter\.low_hz is 4\.0, the model's 1\.0; windows\.stop_s is 20\.0, the model's"
    )
    with pytest.raises(ModelError, match=message):
        localize(cube, the_model())


def test_of_an_older_cube_what_it_states_is_compared():
    cube = make_cube(fs=FS, channels=8)
    del cube.attrs["plan"]
    assert localize(cube, the_model()).patient == "sub-01"
    with pytest.raises(
        ModelError, match=r"montage\.scheme is 'bipolar', the model's 'as-recorded'"
    ):
        localize(cube.assign_attrs(montage="bipolar"), the_model())


def test_a_model_that_is_compared_is_forced_and_told_too(imported, parts):
    with pytest.raises(ModelError, match="expected the plan that it was trained with"):
        localize(parts, the_model(), compare=[imported])
    found = localize(parts, the_model(), compare=[imported], force_descriptors=True)
    assert FORCED in cautions(found)
    assert "rank_model" in found.contacts


def test_a_model_of_other_descriptors_without_a_plan_is_given_its_own(parts):
    cubes = [cube.assign_coords(descriptor=list(RELEASED_NINE)) for cube in cohort_cubes(2)]
    bare = make_model(cubes, members=1, assured=False)
    found = localize(parts, replace(bare, descriptors=RELEASED_NINE))
    assert tuple(found.cube["descriptor"].values) == RELEASED_NINE


def test_the_command_line_forces(imported, tmp_path):
    path = save_model(imported, tmp_path / "model")
    (tmp_path / "paper.toml").write_text(Plan().to_toml())
    arguments = ["localize", str(path), *(str(file) for file in the_files()[:2])]
    arguments += [
        "--onset",
        "40",
        "--onset",
        "40",
        "--patient",
        "P1",
        "--out",
        str(tmp_path / "out"),
    ]
    arguments += ["--plan", str(tmp_path / "paper.toml")]
    refused = CliRunner().invoke(app, arguments)
    assert refused.exit_code != 0
    assert "expected the plan that it was trained with" in str(refused.exception)
    done = CliRunner().invoke(app, [*arguments, "--force-descriptors"])
    assert done.exit_code == 0, done.output
    assert FORCED in (tmp_path / "out" / "sub-P1.html").read_text(encoding="utf-8")
