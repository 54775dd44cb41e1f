"""A localized patient as a whole: model, methods, table, honesty."""

from __future__ import annotations

import inspect
from dataclasses import replace
from types import FunctionType

import numpy as np
import pytest
import xarray as xr
from new_patients import CONTACTS, FS, cohort_cubes, make_model, the_files, the_model, the_patient

from epilens.core.errors import DataError, MethodError, ModelError
from epilens.core.progress import Progress
from epilens.evidence import seizures
from epilens.evidence.cube import joined
from epilens.evidence.describe import describe
from epilens.evidence.signals import make_signals, signal_of
from epilens.evidence.traces import make_traces
from epilens.localization import prepare
from epilens.networks.model import save_model
from epilens.plan import Plan
from epilens.report.patient.localize import localize
from epilens.testing import make_cube, make_patient, make_recording


@pytest.fixture(scope="module")
def model():
    return the_model()


@pytest.fixture(scope="module")
def files():
    return the_files()


@pytest.fixture(scope="module")
def found():
    return the_patient()


def test_localize_is_a_plain_function_of_the_package(model):
    import epilens

    assert type(epilens.localize) is FunctionType
    assert epilens.localize is localize
    assert "Rank the contacts of one patient" in inspect.getdoc(epilens.localize)
    assert {"onsets", "electrodes", "resected"} <= set(
        inspect.signature(epilens.localize).parameters
    )
    assert epilens.localize(make_cube(fs=FS), model).patient == "sub-01"


def test_the_table_is_ranked_and_complete(found):
    table = found.contacts
    assert table["rank"].tolist() == list(range(1, 11))
    assert table["ez_score"].is_monotonic_decreasing
    assert set(table["name"]) == set(CONTACTS)
    for column in ("prq_ez_score", "bcr_ez_score", "ez_probability", "spread", "seizure_sd"):
        assert table[column].map(lambda v: isinstance(v, float)).all()
    best = table.iloc[0]
    mean = 0.8 * best["prq_ez_score"] + 0.2 * best["bcr_ez_score"]
    assert best["ez_score"] == pytest.approx(mean)
    assert best["shaft"] == best["name"][0]
    assert {"ez_score_s1", "ez_score_s2", "ez_score_s3", "in_set_80", "in_set_90"} <= set(table)
    assert {"rank_random", "resected", "recruited_s", "quality"} <= set(table)


def test_decisions_follow_the_locked_threshold(model):
    found = localize(make_cube("sub-9", seizures=2, seed=90, fs=FS), model)
    assert not found.certainty.abstains
    called = found.scores.p_nez < model.threshold
    assert found.decisions == tuple("EZ" if c else "NEZ" for c in called)
    assert found.k == (called.sum() or 3)


def test_an_unlike_patient_gets_no_decision(model):
    cube = make_cube("sub-9", seizures=2, seed=90, fs=FS)
    loud = cube.assign(x=(cube["x"] * 50).where(cube["valid"], 0))
    found = localize(loud, model)
    assert found.certainty.abstains
    assert set(found.decisions) == {"abstained"}
    assert found.certainty.cautions[0].level == "abstain"


def test_a_training_patient_is_recognised(model):
    found = localize(cohort_cubes(2)[1], model)
    assert any(
        "2 of 2 seizures are in the model's training" in c.text for c in found.certainty.cautions
    )


def test_the_models_own_files_are_recognised_with_a_channel_less(model):
    cube = cohort_cubes(2)[1]
    found = localize(cube.isel(channel=[0, 1, 2, 3, 5]), model)
    assert any("2 of 2 seizures are in the model" in c.text for c in found.certainty.cautions)


def test_a_model_that_cannot_tell_says_so(model):
    older = replace(model, assurance=dict(model.assurance) | {"contacts": []})
    found = localize(cohort_cubes(2)[1], older)
    assert any("Train it again" in c.text for c in found.certainty.cautions)


@pytest.mark.parametrize(("factor", "told"), [(60, True), (1 / 60, True), (3, False), (0.3, False)])
def test_an_odd_amplitude_is_a_caution(factor, told):
    part = make_recording(fs=FS, channels=CONTACTS)
    usual_uv = 15 * part.signal  # 45 µV between 1 and 150 Hz
    odd = replace(part, signal=(factor * usual_uv).astype(np.float32))
    found = localize([odd], "line-length-change")
    asked = [c for c in found.certainty.cautions if "Check its unit" in c.text]
    assert bool(asked) == told
    assert all(c.level == "caution" and c.text.startswith("Seizure 1 has") for c in asked)


def test_a_model_refuses_a_seizure_without_anything_ictal(model):
    cube = make_cube(seizures=2, fs=FS)
    valid = cube["valid"].copy()
    valid[1] = valid[1] & (cube["start_s"][1] < 0)
    rest = cube.assign(valid=valid, x=cube["x"].where(valid, 0))
    with pytest.raises(DataError, match=r"expected windows after onset in every seizure, found no"):
        localize(rest, model)


def test_an_imported_model_says_what_it_cannot_tell():
    found = localize(make_cube(fs=FS), make_model(cohort_cubes(2), members=1, assured=False))
    assert found.certainty.probability is None
    assert found.certainty.sets == found.certainty.distances == ()
    texts = " ".join(c.text for c in found.certainty.cautions)
    for phrase in ("no calibration", "no plan", "no SD over members"):
        assert phrase in texts
    assert found.contacts["ez_probability"].isna().all()
    assert found.contacts["spread"].isna().all()


def test_scores_that_are_all_the_same_are_no_ranking():
    """Nineteen seconds have no two windows of twelve: nothing to rank by."""
    short = make_recording(fs=FS, channels=CONTACTS, start_s=-9.0, stop_s=10.0)
    with pytest.raises(MethodError, match="expected different scores, found the same score for"):
        localize([short], "line-length-spread")
    assert localize([short], "line-length-change", compare=["line-length-spread"]).comparisons


@pytest.mark.parametrize(
    "name",
    [
        *("epileptogenicity-index/as-recorded", "fragility", "line-length-change"),
        *("line-length-spread", "line-length-spread/shaft"),
    ],
)
def test_methods_without_training(name):
    parts = [make_recording(run=f"run-{i}", seed=i, fs=FS, channels=CONTACTS) for i in range(2)]
    found = localize(parts, name)
    assert set(found.contacts["name"][:2]) == {"A1", "A2"} or name == "fragility"
    raw = [name.removesuffix("/shaft")] if name.endswith("/shaft") else []
    compared = [one.name for one in found.comparisons]
    assert compared[: len(raw)] == raw, "raw beside smoothed"
    # Others are shown where the ranking disagrees with them.
    doubted = any("it disagrees with" in sentence for sentence in found.caveats)
    assert doubted == (len(compared) > len(raw))
    assert set(found.decisions) == {"none"}
    assert found.why is None
    assert found.contacts["spread"].isna().all()
    assert any("Training-free method" in c.text for c in found.certainty.cautions)
    assert found.scores.per_seizure.shape == (2, 10)


def test_a_seizure_alone_is_the_method_on_that_seizure():
    parts = [make_recording(run=f"run-{i}", seed=i, fs=FS, channels=CONTACTS) for i in range(2)]
    both = localize(parts, "epileptogenicity-index")
    alone = localize(parts[1:], "epileptogenicity-index")
    np.testing.assert_allclose(both.scores.per_seizure[1], alone.scores.p_nez)


def test_a_channel_that_a_seizure_lacks_has_no_score_there(model):
    parts = [make_recording(run="run-1", fs=FS, channels=CONTACTS)]
    parts.append(make_recording(run="run-2", seed=1, fs=FS, channels=CONTACTS[:8]))
    for source in (model, "line-length-change"):
        found = localize(parts, source)
        table = found.contacts.set_index("name")
        assert table.loc["B5", "seizures"] == 1
        assert table.loc["B5", "ez_score_s2"] is None
        assert table.loc["A1", "ez_score_s2"] is not None


def test_seizures_are_picked_with_their_signals():
    patient = make_patient(seizures=3, fs=FS)
    picked = patient.isel(seizure=[2, 0])
    np.testing.assert_array_equal(signal_of(picked, 0), signal_of(patient, 2))
    np.testing.assert_array_equal(signal_of(picked, 1), signal_of(patient, 0))
    assert picked["signal_start_s"].shape == (2,)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("prq", "found one that must be trained"),
        ("fragilty", "found neither. Did you mean 'fragility'"),
        ("recordd", "found neither. Did you mean 'recorded'"),
    ],
)
def test_what_is_neither_model_nor_method(name, message):
    with pytest.raises(MethodError, match=message):
        localize(make_cube(fs=FS), name)


def test_a_method_that_reads_signals_needs_recordings():
    with pytest.raises(DataError, match="because the method reads signals, found a cube"):
        localize(make_cube(fs=FS), "fragility")


def test_a_changed_byte_in_a_model_is_refused(model, tmp_path):
    path = save_model(model, tmp_path / "model")
    localize(make_cube(fs=FS), path)
    for name in ("model.json", "member-00.safetensors", "MODEL_CARD.md"):
        file = path / name
        content = file.read_bytes()
        file.write_bytes(content[:-2] + bytes([content[-2] ^ 1]) + content[-1:])
        with pytest.raises(ModelError, match=r"SHA-256 differs|model\.json, found none"):
            localize(make_cube(fs=FS), path)
        file.write_bytes(content)


def test_a_resection_and_labels(found, model):
    cut = found.resection
    assert cut is not None
    assert cut.members.sum() == 3
    cube = make_cube(fs=FS)
    assert localize(cube, model, resected="labels").resection.members.tolist() == [
        *([True] * 2),
        *([False] * 4),
    ]
    with pytest.raises(DataError, match="expected EZ labels to compare with, found none"):
        localize(cube.drop_vars("is_ez"), model, resected="labels")


def test_others_of_the_same_name_have_columns_of_their_own(model):
    cube = make_cube(fs=FS)
    found = localize(
        cube, model, compare=[make_model([cube], members=1), "line-length-change", model]
    )
    assert found.contacts["rank_model_2"].tolist() == found.contacts["rank"].tolist()
    assert {"rank_model", "rank_line_length_change"} <= set(found.contacts)
    assert len(found.contacts.columns) == len(found.columns)


def test_columns_follow_the_channels_and_rows_the_ranks(found):
    values = {column.name: list(column.values) for column in found.columns}
    assert values["name"] == list(CONTACTS)
    for name in ("rank", "ez_score", "resected"):
        assert found.contacts[name].tolist() == [values[name][c] for c in found.order]
    assert {column.units for column in found.columns} == {"", "s", "mm"}
    assert all(column.description for column in found.columns)


def test_a_model_whose_certainty_is_malformed_is_refused(model):
    broken = replace(model, assurance={"patients": 12})
    with pytest.raises(
        ModelError, match="model: expected what training stores about the certainty"
    ):
        localize(make_cube(fs=FS), broken)


def test_labels_never_change_the_scores(model):
    cube = make_cube(fs=FS)
    bare = localize(cube.drop_vars("is_ez"), model)
    np.testing.assert_array_equal(localize(cube, model).scores.p_nez, bare.scores.p_nez)


def test_the_order_of_channels_does_not_matter(model):
    cube = make_cube(fs=FS)
    mixed = localize(cube.isel(channel=[3, 1, 5, 0, 2, 4]), model)
    plain = localize(cube, model)
    assert mixed.contacts["name"].tolist() == plain.contacts["name"].tolist()
    np.testing.assert_allclose(
        np.sort(mixed.scores.p_nez), np.sort(plain.scores.p_nez), rtol=0, atol=1e-5
    )


def test_progress_is_told(files, model):
    told = []
    tick = Progress(lambda note, steps: told.append((note, steps)))
    localize(files, model, onsets=[40] * 3, tick=tick)
    notes = [note for note, _ in told]
    for note in ("reading seizure-1", "describing", "scoring", "explaining", "comparing"):
        assert note in notes
    assert sum(steps for _, steps in told) == tick.total
    told.clear()
    tick = Progress(lambda note, steps: told.append((note, steps)))
    localize(make_cube(fs=FS), model, tick=tick)
    assert sum(steps for _, steps in told) == tick.total > 0


def test_cube_signals_and_traces_come_from_one_pass(monkeypatch):
    passes = []

    def counted(stores, recordings, plan):
        passes.append([store.name for store in stores])
        return seizures.fill(stores, recordings, plan)

    monkeypatch.setattr(prepare, "fill", counted)
    parts = [make_recording(fs=FS)]
    whole, _ = prepare._describe(parts, Plan(), {"cube", "traces"})
    assert passes == [["cube", "signals", "traces"]]
    alone = joined(describe(parts), make_signals(parts, Plan()), make_traces(parts, Plan()))
    xr.testing.assert_identical(whole.drop_attrs(), alone.drop_attrs())
