"""Every registered analysis keeps the contract: a new one is tested by being registered."""

from __future__ import annotations

import json
import re

import pandas as pd
import pytest
from matplotlib.figure import Figure

from epilens.analyses import ANALYSES, ablation, analyse, loco, main, run_analysis, sentence
from epilens.analyses.figures import FIGURES, figure_of
from epilens.core.errors import CubeError, EpilensError, LedgerError
from epilens.evaluation.run import Run, open_run
from epilens.methods import METHODS

NAMES = (
    *("cohort", "demographics", "main", "ablation", "quantile", "objective-variants"),
    *("fusion-sweep", "permutation", "bootstrap", "hard-channels", "cross-seizure", "loco"),
    *("loco-bootstrap", "per-seed", "ranking", "centers", "rich-inputs", "audit"),
)


@pytest.fixture(scope="module")
def results(full):
    return {name: run_analysis(name, full) for name in ANALYSES}


def test_the_contract_s_names_are_there():
    assert set(NAMES) <= set(ANALYSES)


@pytest.mark.parametrize("name", ANALYSES)
def test_a_frame_is_plain_and_has_the_paper_s_values(name, results):
    frame, analysis = results[name].frame, ANALYSES[name]
    assert frame.attrs == {}
    assert len(frame)
    assert frame.index.tolist() == list(range(len(frame)))
    assert all(isinstance(column, str) for column in frame.columns)
    assert not frame.duplicated(list(analysis.keys) or None).any()
    if analysis.paper is not None:
        values = [c for c in analysis.paper if c not in analysis.keys]
        assert set(analysis.keys) <= set(frame)
        assert {f"paper_{column}" for column in values} <= set(frame)


@pytest.mark.parametrize("name", ANALYSES)
def test_every_column_belongs_to_one_quantity_that_can_be_printed(name, results):
    frame, described = results[name].frame, []
    for column in results[name].columns:
        for part in filter(None, (column, column.paper)):
            described += [part.name, *([part.sd] if part.sd else [])]
            assert part.title
            if pd.api.types.is_numeric_dtype(frame[part.name]):
                assert format(1.0, part.format)
                assert format(1.0, part.sd_format)
    assert sorted(described) == sorted(frame.columns)


@pytest.mark.parametrize("name", NAMES)
def test_a_sentence_says_whether_the_cohort_agrees(name, results, full):
    text = sentence(results[name], full)
    assert text.startswith("The paper: ")
    assert text.endswith(results[name].outcome.value)
    assert "nan" not in text
    assert not re.search(r"\b0 of (the )?0\b", text)
    assert not re.search(r"macro_f1|ez_auprc|ndcg_ez", text)


@pytest.mark.parametrize("name", sorted(set(ANALYSES) - set(NAMES)))
def test_what_is_beyond_the_paper_has_no_outcome(name, results, full):
    assert results[name].outcome is None
    assert sentence(results[name], full)


@pytest.mark.parametrize("name", ANALYSES)
def test_what_is_marked_and_sorted_is_in_the_table(name, results):
    analysis = ANALYSES[name]
    frame = results[name].frame
    assert set(analysis.higher) <= set(frame)
    assert {analysis.interval, "low", "high"} <= set(frame) or not analysis.interval
    shown = analysis.wide(frame) if analysis.wide else frame
    assert analysis.sorted_by in {"", *shown}
    assert not any(analysis.sorted_by == column for column in ("method", "title"))


def test_simulated_patients_prove_nothing(results, tampered, cubes):
    setting = tampered / "small" / "run.json"
    setting.write_text(setting.read_text().replace('"simulated": false', '"simulated": true'))
    text = sentence(results["per-seed"], open_run(tampered / "small"))
    assert text.endswith("Simulated patients: this is not clinical evidence.")


@pytest.mark.parametrize("name", [name for name in ANALYSES if ANALYSES[name].draw])
def test_drawing_fills_the_axes_and_changes_nothing_else(name, results):
    frame = results[name].drawn.copy()
    axes = Figure().subplots(1, ANALYSES[name].panels, squeeze=False)[0]
    ANALYSES[name].draw(frame, axes)
    pd.testing.assert_frame_equal(frame, results[name].drawn)
    for ax in axes:
        assert ax.get_xlabel()
        assert ax.has_data()
        assert ax.get_ylabel() or ax.get_yticklabels()


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_has_a_letter_for_each_panel(name, results):
    figure = figure_of({part: results[part] for part in FIGURES[name].analyses}, "A note.")
    letters = [ax.get_title(loc="left") for ax in figure.axes]
    several = len(letters) > 1
    assert letters == ([f"({c})" for c in "abc"[: len(letters)]] if several else [""])
    assert figure.get_supxlabel() == "A note."
    figure.canvas.draw()


@pytest.mark.parametrize("name", FIGURES)
def test_a_long_note_is_never_clipped(name, results):
    words = "Quick test with shortened training: it shows that every step works. " * 4
    figure = figure_of({part: results[part] for part in FIGURES[name].analyses}, words)
    figure.canvas.draw()
    note = figure._supxlabel.get_window_extent()
    assert note.x0 >= 0
    assert note.y0 >= 0
    assert note.x1 <= figure.bbox.x1
    assert " ".join(figure.get_supxlabel().split()) == words.strip()


def test_a_table_cannot_be_drawn(results):
    with pytest.raises(ValueError, match="main: expected an analysis with a figure"):
        figure_of({"main": results["main"]})


def test_each_column_of_the_paper_stands_behind_its_own(results):
    columns = results["ablation"].frame.columns.tolist()
    at = columns.index("macro_f1")
    assert columns[at : at + 4] == [
        "macro_f1",
        "macro_f1_sd",
        "paper_macro_f1",
        "paper_macro_f1_sd",
    ]


def test_the_folder_of_a_run_is_enough(small):
    pd.testing.assert_frame_equal(analyse("ranking", small.folder), analyse("ranking", small))


def test_a_misspelt_name_is_answered_with_the_nearest(small):
    with pytest.raises(EpilensError, match="Did you mean 'cohort'"):
        analyse("cohrt", small)


def test_missing_methods_are_refused_with_the_command_that_adds_them(small):
    message = "ablation: .* found no prq/base, .*--only prq/base --only prq/temporal"
    with pytest.raises(LedgerError, match=message):
        analyse("ablation", small)
    with pytest.raises(LedgerError, match="rich-inputs: expected methods named rich/"):
        analyse("rich-inputs", small)


def test_missing_cubes_and_runs_are_refused_with_what_to_do(runs, tampered, cubes):
    (tampered / "loco" / "ledger.parquet").unlink()
    alone = open_run(tampered / "small", cubes)
    assert alone.loco is None
    with pytest.raises(LedgerError, match=r"expected a leave-one-center-out run .*splits\.kind"):
        analyse("loco", alone)
    with pytest.raises(LedgerError, match=r"cohort: expected the cubes.*--cubes CUBES"):
        analyse("cohort", Run(runs / "small"))


def test_the_run_remembers_its_cubes_as_long_as_they_are_there(tampered, cubes):
    setting = tampered / "small" / "run.json"
    told = json.loads(setting.read_text())
    setting.write_text(json.dumps(told | {"cubes": str(cubes)}))
    assert open_run(tampered / "small").cubes == cubes
    setting.write_text(json.dumps(told | {"cubes": str(cubes / "gone")}))
    assert open_run(tampered / "small").cubes is None


def test_an_unfinished_run_is_refused(tampered):
    (tampered / "small" / "ledger.parquet").unlink()
    with pytest.raises(LedgerError, match=r"expected a finished run with ledger\.parquet"):
        open_run(tampered / "small")


def test_the_loco_run_in_the_next_folder_is_found_and_another_cohort_s_is_refused(tampered, cubes):
    assert open_run(tampered / "small").loco.name == "loco"
    setting = tampered / "loco" / "run.json"
    digest = open_run(tampered / "small").setting["cohort_digest"]
    setting.write_text(setting.read_text().replace(digest, "another"))
    assert open_run(tampered / "small").loco is None
    with pytest.raises(LedgerError, match=r"expected the cohort of .* found another one"):
        open_run(tampered / "small", loco=tampered / "loco")


def test_cubes_of_another_description_are_refused(tampered, cubes):
    setting = tampered / "small" / "run.json"
    setting.write_text(setting.read_text().replace("sub-01-0", "other"))
    with pytest.raises(CubeError, match=r"expected the cube of sub-01 that .* was made from"):
        analyse("cohort", open_run(tampered / "small", cubes))


def test_the_methods_of_the_paper_s_tables_are_registered():
    named = {*main.PAPER["method"], *ablation.PAPER["method"], *loco.METHODS}
    named |= {name for analysis in ANALYSES.values() for name in analysis.needs}
    assert named <= set(METHODS)
