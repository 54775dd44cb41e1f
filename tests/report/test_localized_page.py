"""The page as text: self-contained, safe, small; the BIDS derivative beside it is valid."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
import sys
import zipfile
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from localized_patients import HOSTILE, NAMES, hostile, largest, usual

from epilens.cli.localize import read_onset_list, read_resection, run_localize, split_names
from epilens.core.errors import DataError, OnsetError
from epilens.evidence.signals import signal_of
from epilens.io.delimited import to_tsv
from epilens.localization import Request, anatomy
from epilens.localization.certainty import Caution
from epilens.report.markup import as_data
from epilens.report.patient import payload, traces
from epilens.report.patient.bids_text import cell
from epilens.report.patient.derivative import as_tsv, sidecar, write_derivative
from epilens.report.patient.page import page, page_digest, write_report


class Elements(HTMLParser):
    """Every element and attribute of a page, and what stands in its scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.inside, self._open = [], [], {}, None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        self._open = (tag, dict(attrs).get("id", ""))

    def handle_endtag(self, tag):
        self._open = None

    def handle_data(self, text):
        if self._open and self._open[0] in ("script", "style"):
            self.inside[self._open] = self.inside.get(self._open, "") + text


def data_of(text):
    return json.loads(Elements(text).inside["script", "data"])


@pytest.fixture(scope="module")
def text():
    return page(usual())


def test_the_page_needs_nothing_from_anywhere(text):
    found = Elements(text)
    assert not {"link", "img", "iframe", "object", "base", "form"} & set(found.tags)
    assert not [a for a in found.attributes if a[0] in ("src", "href", "style", "srcset")]
    assert not [a for a in found.attributes if a[0].startswith("on")]
    script = found.inside["script", ""]
    assert not re.search(
        r"https?://(?!www\.w3\.org/2000/svg|schemas\.openxmlformats\.org/)", script
    )
    assert not re.search(r"fetch\(|XMLHttpRequest|WebSocket|import\(|sendBeacon", script)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", script)


def test_the_policy_allows_this_script_and_this_style_only(text):
    found = Elements(text)
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)[1]
    assert policy.startswith("default-src 'none'; ")
    for tag in ("script", "style"):
        content = found.inside[tag, ""].encode()
        digest = base64.b64encode(hashlib.sha256(content).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert "unsafe" not in policy


def test_the_disclaimer_comes_first_and_the_model_card_is_there(text):
    body = text[text.index("<body>") :]
    assert body.split(">", 2)[2].startswith("Research use only. Not for diagnosis")
    tree = data_of(text)
    assert ["members", "2 (seeds × folds), each PRQ-Net and BCR-Net"] in tree["about"]["card"]
    assert tree["about"]["trainedOnSimulated"], "the model's patients are simulated"
    assert not tree["about"]["simulated"], "the patient is not"


def test_hostile_names_stay_text():
    text = page(hostile())
    assert Elements(text).tags.count("script") == 2
    assert "<img" not in text
    assert "onerror=alert" in text  # as JSON, where < and > are escaped
    names = [c["name"] for c in data_of(text)["contacts"]]
    assert names[0] == HOSTILE[0]
    assert names[1] == HOSTILE[1]
    assert names[3] == "A\\t\\u2028\\x1b[31m4"
    assert names[4] == "{{DATA}}5"


def test_data_cannot_leave_its_element():
    text = as_data({"</script>": "<!--<script> & \u2028\u2029"})
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == {"</script>": "<!--<script> & \u2028\u2029"}
    with pytest.raises(ValueError, match="not JSON compliant"):
        as_data({"x": float("nan")})


def test_everything_is_in_the_data(text):
    tree = data_of(text)
    assert len(tree["contacts"]) == 24
    assert tree["contacts"][0]["name"] == NAMES[0]
    assert sorted(c["rank"] for c in tree["contacts"]) == list(range(1, 25))
    assert tree["resection"]["unknown"] == ["Q9"]
    assert tree["comparisons"][0]["title"] == "Line-length change"
    assert tree["contacts"][NAMES.index("LB3")]["mm"] is None
    assert tree["why"]["residual"] < 1e-3


def test_the_heatmap_can_be_decoded(text):
    tree, found = data_of(text)["heat"], usual()
    coded = np.frombuffer(base64.b64decode(tree["coded"]), np.int8).reshape(9, 3, 59, 24)
    z = np.sinh(coded / 127 * np.arcsinh(tree["largest"]))
    wanted = np.moveaxis(found.timing.z, -1, 0).clip(-60, 60)
    np.testing.assert_allclose(z, wanted, rtol=0.03, atol=0.03)


def test_windows_without_signal_are_marked():
    found = usual()
    valid = found.cube["valid"].copy()
    valid[0, 3, 2] = False
    coded = payload._heat(replace(found, cube=found.cube.assign(valid=valid)))["coded"]
    values = np.frombuffer(base64.b64decode(coded), np.int8).reshape(9, 3, 59, 24)
    assert (values[:, 0, 3, 2] == -128).all()
    assert (values == -128).sum() == 9


def test_traces_keep_the_height_of_fast_activity(text):
    tree, found = data_of(text)["traces"], usual()
    coded = np.frombuffer(base64.b64decode(tree["coded"]), np.int8)
    coded = coded.reshape(3, 24, tree["bins"], 2).astype(float)
    signal = signal_of(found.signals, 1)[0]
    start_s = float(found.signals["signal_start_s"][1])
    fs = float(found.signals["signal_rate_hz"][1])
    first, last = (round((t - start_s) * fs) for t in (-10.0, 20.0))
    microvolts = tree["scale"][1][0] * np.sinh(coded[1, 0] / 127 * np.arcsinh(100)) / 100
    assert microvolts[:, 1].max() == pytest.approx(signal[first:last].max(), rel=0.05)
    assert microvolts[:, 0].min() == pytest.approx(signal[first:last].min(), rel=0.05)
    assert (coded[..., 0] <= coded[..., 1]).all()


def test_low_voltages_keep_their_shape_beside_high_ones():
    largest = np.array([2000.0])
    for low in (5.0, 20.0, 300.0):
        code = np.round(traces.bent(np.array([[low]]), largest))
        back = 2000 * np.sinh(code / 127 * np.arcsinh(100)) / 100
        assert back[0, 0] == pytest.approx(low, rel=0.1)


def test_a_slow_recording_beside_a_fast_one_has_no_gaps():
    found = usual()
    rates = found.signals["signal_rate_hz"].values.copy()
    rates[1] = 4 * rates[1]  # half as many bins of it as samples, two for each of the others
    other = found.signals.assign_coords(signal_rate_hz=("seizure", rates))
    tree = traces.traces(replace(found, signals=other))
    coded = np.frombuffer(base64.b64decode(tree["coded"]), np.int8).reshape(3, 24, tree["bins"], 2)
    assert tree["rate"] == 250
    assert (coded[0] != -128).all()


def test_a_recording_that_ends_early_has_gaps_not_zeros():
    found = usual()
    samples = found.signals["signal_samples"].values.copy()
    samples[0] = 35 * 128
    cut = found.signals.assign_coords(signal_samples=("seizure", samples))
    tree = traces.traces(replace(found, signals=cut))
    coded = np.frombuffer(base64.b64decode(tree["coded"]), np.int8).reshape(3, 24, tree["bins"], 2)
    assert (coded[0, :, -100:] == -128).all()
    assert (coded[1] != -128).all()


def test_a_cube_has_no_traces():
    assert traces.traces(replace(usual(), signals=None)) is None


def test_short_names_are_shown_and_whole_ones_kept():
    names = ["EEG LA 01-Ref", "EEG LA 02-Ref", *NAMES[2:]]
    found = replace(usual(), cube=usual().cube.assign_coords(channel=names))
    shown = payload.payload(found)["contacts"]
    assert [c["short"] for c in shown[:3]] == ["LA01", "LA02", "LA3"]
    assert shown[0]["name"] == "EEG LA 01-Ref"
    assert data_of(page(hostile()))["contacts"][0]["short"] == HOSTILE[0]


def test_the_largest_page_is_small_enough():
    assert len(page(largest()).encode()) < 15e6


def test_the_brain_is_drawn_only_where_it_fits(text, monkeypatch):
    pytest.importorskip("nibabel")
    tree = data_of(text)["brain"]
    vertices = np.frombuffer(base64.b64decode(tree["vertices"]), np.int16).reshape(2, -1, 3)
    assert vertices.shape == (2, 10242, 3)
    assert vertices[0, :, 0].mean() < 0 < vertices[1, :, 0].mean()
    faces = np.frombuffer(base64.b64decode(tree["faces"]), np.uint16)
    assert faces.max() == 10241
    moved = anatomy.pial_surface("MNI152Lin")[0].astype(int) - anatomy.pial_surface("fsaverage")[0]
    assert 0 < np.abs(moved).max() < 600  # less than 6 mm
    other = usual().cube.assign_attrs(space="ACPC")
    assert "template" in payload.payload(replace(usual(), cube=other))["brain"]["why"]
    monkeypatch.setattr(anatomy, "find_spec", lambda name: None)
    assert "nilearn is not installed" in payload.payload(usual())["brain"]["why"]
    assert "no contact has a position" in data_of(page(hostile()))["brain"]["why"]


def test_abstention_is_in_the_data_and_the_table():
    found = usual()
    sure = replace(found.certainty, cautions=(Caution("abstain", "because"),))
    changed = replace(found, certainty=sure)
    assert data_of(page(changed))["abstains"]
    assert set(changed.contacts["decision"]) == {"abstained"}


def test_the_derivative_is_valid_bids(tmp_path):
    validator = Path(sys.executable).with_name("bids-validator-deno")
    if not validator.exists():
        pytest.skip("the BIDS validator is not installed")
    out = tmp_path / "out"
    write_report(usual(), out)
    write_report(hostile(), out)
    done = subprocess.run(
        [validator, "--json", out], capture_output=True, text=True, check=False, timeout=600
    )
    issues = json.loads(done.stdout)["issues"]["issues"]
    assert [i for i in issues if i["severity"] == "error"] == []


def test_the_table_is_what_the_sidecar_says(tmp_path):
    table = write_derivative(usual(), tmp_path)
    assert table.name == "sub-Usual_desc-epilens_contacts.tsv"
    lines = table.read_text(encoding="utf-8").splitlines()
    about = json.loads(table.with_suffix(".json").read_text(encoding="utf-8"))
    assert all("Description" in about[name] for name in lines[0].split("\t"))
    assert len({line.count("\t") for line in lines}) == 1
    assert about["TopK"] == usual().k
    assert "run-01" in about["ez_score_s2"]["Description"]
    assert about["Threshold"] == pytest.approx(1 - usual().source.threshold, abs=1e-5)
    assert sidecar(hostile())["Threshold"] is None


def test_no_cell_breaks_the_table_or_runs():
    lines = as_tsv(hostile()).splitlines()
    assert len(lines) == 9
    assert len({line.count("\t") for line in lines}) == 1
    names = [line.split("\t")[0] for line in lines]
    assert "'=HYPERLINK(0)3" in names
    assert cell(float("nan")) == "n/a"
    assert cell(-3) == "-3"
    assert to_tsv(["name"], [["-x"], ["=cmd|' /C calc'!A0"], [-3]]) == (
        "name\n'-x\n'=cmd|' /C calc'!A0\n-3\n"
    )


def test_another_dataset_is_never_written_into(tmp_path):
    (tmp_path / "dataset_description.json").write_text('{"Name": "raw data"}')
    with pytest.raises(DataError, match="or one with localized patients of EpiLENS"):
        write_report(usual(), tmp_path)


def text_of(path):
    """All text of a file, of a workbook's parts too."""
    if path.suffix != ".xlsx":
        return path.read_text(encoding="utf-8") if path.is_file() else ""
    with zipfile.ZipFile(path) as book:
        return "".join(book.read(name).decode() for name in book.namelist())


def test_the_command_writes_page_and_table(tmp_path, capfd):
    from new_patients import CONTACTS, write_edf

    files = [write_edf(tmp_path / f"Mustermann{i}.edf", CONTACTS, i) for i in range(2)]
    request = Request(
        files,
        model="line-length-change",
        onsets=read_onset_list(["40 40"]),
        code="P1",
        resected="A1,A2",
    )
    written = run_localize(request, tmp_path / "out")
    assert written == tmp_path / "out" / "sub-P1.html"
    everything = "".join(map(text_of, (tmp_path / "out").rglob("*.*"))).lower()
    for name in ("mustermann", "erika", "mrn4711", "dr_who", str(tmp_path).lower()):
        assert name not in everything
    assert "localizing" in capfd.readouterr().err


def test_what_is_typed_is_read(tmp_path):
    assert read_onset_list(["60", "61.5; 62", "63, 64"]) == [60, 61.5, 62, 63, 64]
    with pytest.raises(
        DataError, match="expected seconds from the start of the file, found 'soon'"
    ):
        read_onset_list(["soon"])
    assert list(split_names(["A1, A2", "B1"])) == ["A1", "A2", "B1"]
    assert read_resection("") is None
    assert read_resection("A1-4") == "A1-4"
    (tmp_path / "cut.txt").write_text("A1-4\nB2")
    assert read_resection(str(tmp_path / "cut.txt")) == "A1-4\nB2"
    with pytest.raises(DataError, match="expected a list of contacts, found nothing"):
        read_resection(str(tmp_path / "gone.txt"))


@pytest.mark.parametrize("typed", ["44,25", "44,5", "61,62.5"])
def test_a_decimal_comma_is_asked_about(typed):
    wanted = rf"Is {typed.replace(',', '.', 1)} meant\?.*--onset {typed.replace(',', ' --onset ')}"
    with pytest.raises(OnsetError, match=wanted):
        read_onset_list([typed])


def test_the_digest_of_the_page_covers_the_files_of_its_viewer(tmp_path, monkeypatch):
    before = page_digest()
    folder = files("epilens.report.patient") / "viewer"
    shutil.copytree(folder, tmp_path / "viewer")
    monkeypatch.setattr("epilens.report.patient.page.files", lambda package: tmp_path)
    assert page_digest() == before
    (tmp_path / "viewer" / "style.css").write_text("body { color: red; }")
    assert page_digest() != before
