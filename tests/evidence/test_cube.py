"""The cube: rules, blindness, the store on disk, and what describing a patient promises."""

from __future__ import annotations

import json

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from zarr.storage import ZipStore

from epilens.core.errors import CubeError, DataError, PlanError
from epilens.data.recording import LABEL_FIELDS
from epilens.data.recording import ZONES as PATIENT_LABELS
from epilens.evidence.cube import blind, check, target_only
from epilens.evidence.describe import audit_of, describe
from epilens.evidence.files import open_cohort, open_cube, save
from epilens.plan import Plan
from epilens.testing import make_cube, make_recording

HOSTILE = ["A1", "<script>alert(1)</script>", "B\"2'", "x/../y", "naïve µ", "A'10"]


def test_opening_what_was_saved_gives_the_identical_dataset(tmp_path):
    cube = make_cube(channels=HOSTILE)
    save(cube, tmp_path / "cube.zarr")
    xr.testing.assert_identical(open_cube(tmp_path / "cube.zarr"), cube)
    # And by the library itself, not only by our reader.
    place = ZipStore(tmp_path / "cube.zarr", mode="r")
    with place, xr.open_zarr(place, chunks=None) as there:
        xr.testing.assert_identical(there.load(), cube)


@given(
    seizures=st.integers(1, 3),
    channels=st.lists(
        st.text(min_size=1, max_size=8).filter(lambda s: "\0" not in s),
        min_size=1,
        max_size=4,
        unique=True,
    ),
)
@settings(deadline=None, max_examples=15)
def test_any_names_survive_the_store(tmp_path_factory, seizures, channels):
    path = tmp_path_factory.mktemp("store") / "cube.zarr"
    cube = make_cube(seizures=seizures, channels=channels, ez=1, fs=128.0)
    save(cube, path)
    xr.testing.assert_identical(open_cube(path), cube)


def test_saving_again_replaces_the_store(tmp_path):
    path = tmp_path / "cube.zarr"
    save(make_cube(seizures=3), path)
    save(make_cube(seizures=1), path)
    assert open_cube(path).sizes["seizure"] == 1
    assert [p.name for p in tmp_path.iterdir()] == ["cube.zarr"]


def test_blind_cubes_know_neither_label_nor_center_nor_how_many_are_ez():
    cube = make_cube()
    cube.attrs |= {"ez_channels": 2, "outcome": "S", "audit": ["is labelled EZ"]}
    cube.attrs["participant"] = {"age": 31.0, "engel": "I-A", "outcome": "S"}
    bare = blind(cube)
    assert "is_ez" not in bare.variables
    assert not {"participant", "center", "outcome", "ez_channels", "audit", "modality"} & set(
        bare.attrs
    )
    xr.testing.assert_equal(bare["x"], cube["x"])
    assert "is_ez" in cube.variables, "the cube itself is not changed"


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda c: c.drop_vars("valid"), "expected a variable 'valid'"),
        (lambda c: c.transpose("window", ...), r"expected 'x' over \('seizure', 'window'"),
        (lambda c: c.assign_coords(channel=["A1"] * 6), "unique names of channels"),
        (lambda c: c.assign(x=c["x"] * np.nan), "expected finite numbers"),
        (lambda c: c.assign(valid=c["valid"] & (c["channel"] != "A2")), "expected 0 wherever"),
        (lambda c: c.isel(descriptor=[0, 1, 0]), "unique names of descriptors"),
        (
            lambda c: c.assign(
                x=c["x"].where(c["start_s"] > 0, 0), valid=c["valid"] & (c["start_s"] > 0)
            ),
            r"12 of 12 seizure-channels have no valid window before onset, e.g. seizure 'run-01'",
        ),
    ],
)
def test_a_cube_that_breaks_a_rule_gets_one_clear_sentence(damage, message):
    with pytest.raises(CubeError, match=message):
        check(damage(make_cube()))


def test_a_damaged_store_is_refused(tmp_path):
    path = save(make_cube(), tmp_path / "sub-01.zarr")
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(CubeError, match="expected a cube, found a store that cannot be read"):
        open_cube(tmp_path / "sub-01.zarr")


def test_a_cohort_is_lazy_ordered_and_names_what_it_does_not_have(tmp_path):
    for name in ("sub-10", "sub-2", "sub-1"):
        save(make_cube(name), tmp_path / f"{name}.zarr.zip")
    cohort = open_cohort(tmp_path)
    assert list(cohort) == ["sub-1", "sub-2", "sub-10"]
    assert cohort["sub-2"].attrs["patient"] == "sub-2"
    with pytest.raises(CubeError, match=r"found 'sub-3'. Did you mean"):
        cohort["sub-3"]
    (tmp_path / "sub-10.zarr.zip").unlink()
    assert len(cohort) == 3, "what was there when it was opened"


def test_a_folder_without_cubes_is_refused(tmp_path):
    with pytest.raises(CubeError, match="expected a folder with cubes"):
        open_cohort(tmp_path)
    with pytest.raises(CubeError, match="expected a folder with cubes"):
        open_cohort(tmp_path / "nowhere")


def test_rates_can_differ_and_low_ones_are_visible_in_cube_and_audit():
    parts = [make_recording(run="run-01", fs=250.0), make_recording(run="run-02", fs=999.41)]
    cube = describe(parts, Plan())
    rows = audit_of(cube)
    np.testing.assert_allclose(cube["sampling_rate_hz"], [250.0, 999.41])
    np.testing.assert_allclose(cube["high_gamma_covered"], [45 / 70, 1.0])
    assert [(row.run, row.effect) for row in rows] == [("run-01", "noted")]
    assert "high gamma (80-150 Hz) is covered to 64%" in rows[0].why


def test_a_seizure_channel_with_too_few_reference_windows_is_masked_with_a_row():
    missing = np.zeros((6, 70 * 256), bool)
    missing[2, : 34 * 256] = True  # until one second before onset
    cube = describe([make_recording(missing=missing, fs=256.0)], Plan())
    rows = audit_of(cube)
    assert not cube["valid"].sel(channel="A3").any()
    assert cube["valid"].sel(channel="A1").all()
    told = [row for row in rows if row.what == "channel"]
    assert [(row.channel, row.effect) for row in told] == [("A3", "excluded")]
    assert "fewer than 5 valid baseline windows" in told[0].why


def test_a_seizure_without_reference_is_masked_and_the_patient_goes_on():
    late = make_recording(run="run-02", start_s=-4.0)
    cube = describe([make_recording(), late], Plan())
    rows = audit_of(cube)
    assert not cube["valid"].sel(seizure="run-02").any()
    assert [(row.what, row.run) for row in rows if row.effect == "excluded"] == [
        ("seizure", "run-02")
    ]


def test_a_patient_without_any_reference_is_refused():
    with pytest.raises(DataError, match="expected a seizure with 5 or more valid baseline windows"):
        describe([make_recording(start_s=-4.0)])


def test_a_seizure_channel_with_too_few_windows_after_onset_is_masked_with_a_row():
    missing = np.zeros((6, 70 * 256), bool)
    missing[2, 40 * 256 :] = True  # from five seconds after onset on
    cube = describe([make_recording(missing=missing, fs=256.0)], Plan())
    rows = audit_of(cube)
    assert not cube["valid"].sel(channel="A3").any()
    assert cube["valid"].sel(channel="A1").all()
    told = [row for row in rows if row.what == "channel"]
    assert [(row.channel, row.effect) for row in told] == [("A3", "excluded")]
    assert "has fewer than 5 valid windows after onset" in told[0].why


@pytest.mark.parametrize(("stop_s", "used"), [(5.9, False), (6.0, True)])
def test_a_seizure_without_anything_ictal_is_masked_and_the_patient_goes_on(stop_s, used):
    early = make_recording(run="run-02", stop_s=stop_s, fs=250.0)
    cube = describe([make_recording(fs=250.0), early], Plan())
    rows = audit_of(cube)
    assert bool(cube["valid"].sel(seizure="run-02").any()) is used
    lost = [(row.what, row.run) for row in rows if row.effect == "excluded"]
    assert lost == ([] if used else [("seizure", "run-02")])


def test_a_patient_without_anything_ictal_is_refused():
    with pytest.raises(
        DataError,
        match=r"with 5 or more valid windows after onset, found none\. Export recordings that end",
    ):
        describe([make_recording(stop_s=1.55)])


def test_a_plan_can_ask_for_fewer_windows_after_onset():
    plan = Plan().override(windows={"min_ictal": 0})
    assert describe([make_recording(stop_s=1.55)], plan)["valid"].any()


def test_windows_of_a_fractional_rate_that_start_at_onset_count():
    assert describe([make_recording(fs=199.7, stop_s=6.2)])["valid"].any()


def test_a_plan_without_room_for_ictal_windows_is_refused():
    with pytest.raises(PlanError, match=r"room for 5 windows from onset on .* has room for 3"):
        Plan().override(windows={"stop_s": 4.0})


def test_two_patients_are_not_one():
    with pytest.raises(DataError, match="expected recordings of one patient, found sub-01, sub-02"):
        describe([make_recording("sub-01"), make_recording("sub-02", run="run-02")])
    with pytest.raises(DataError, match="expected every run once"):
        describe([make_recording(), make_recording()])
    with pytest.raises(DataError, match="found none"):
        describe([])


def test_labels_are_absent_when_unknown():
    assert "is_ez" not in describe([make_recording(is_ez=None)])


def test_the_ez_stands_out_in_high_frequency_after_onset():
    """A known answer: the simulated EZ of the testing module bursts at 40 Hz."""
    from epilens.evidence.views import views

    cube = make_cube(fs=512.0)
    z = views(cube).sel(view="z_delta", descriptor="log_low_gamma_power").values
    late = (cube["start_s"].values[0] > 2) & (cube["stop_s"].values[0] < 28)
    mean = z[:, late].mean(axis=(0, 1))
    assert mean[cube["is_ez"].values].min() > 10 * np.abs(mean[~cube["is_ez"].values]).max()


def test_attributes_are_plain_json():
    assert json.loads(json.dumps(make_cube().attrs)) == make_cube().attrs


ZONES = {"is_soz": (True, True, False, False, False, False), "is_resected": (False,) * 6}


def test_onset_zone_and_resection_are_kept_next_to_the_ez():
    cube = make_cube(**ZONES)
    for name, flags in ZONES.items():
        assert tuple(cube[name].values) == flags


def test_a_zone_that_is_not_known_is_absent():
    assert not {"is_soz", "is_resected"} & set(make_cube().variables)


@pytest.mark.parametrize("flag", PATIENT_LABELS)
def test_a_zone_that_one_seizure_does_not_tell_is_absent(flag):
    parts = [make_recording(run="run-01", **ZONES), make_recording(run="run-02", **ZONES)]
    untold = make_recording(run="run-02", **(ZONES | {flag: None}))
    assert flag in describe(parts)
    assert flag not in describe([parts[0], untold])


def test_a_blind_cube_has_no_label_of_any_kind():
    cube = make_cube(**ZONES, is_onset_contact=ZONES["is_soz"])
    assert set(LABEL_FIELDS) <= set(cube.variables)
    assert not set(LABEL_FIELDS) & set(blind(cube).variables)


def test_a_fit_is_given_the_ez_and_no_other_label():
    cube = make_cube(**ZONES, is_onset_contact=ZONES["is_soz"])
    assert set(LABEL_FIELDS) & set(target_only(cube).variables) == {"is_ez"}


def test_zones_survive_the_store(tmp_path):
    cube = make_cube(**ZONES)
    save(cube, tmp_path / "cube.zarr")
    xr.testing.assert_identical(open_cube(tmp_path / "cube.zarr"), cube)
