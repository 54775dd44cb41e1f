"""Every number that the paper sets: its line, what it is, where it is used. None may drift."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from epilens.analyses import (
    bootstrap,
    cross_seizure,
    fusion_sweep,
    hard_channels,
    loco_bootstrap,
    permutation,
    reinference,
)
from epilens.core.decisions import GRID, LOCKED_WEIGHT
from epilens.core.provenance import plain
from epilens.evidence import descriptors
from epilens.evidence.views import VIEWS
from epilens.evidence.windows import MAINS_Q
from epilens.methods import METHODS
from epilens.networks import bcr, prq
from epilens.plan import PAPER_NINE, Plan, Section

PLAN = Plan()
PAPER = Path(__file__).parents[2] / "shared" / "paper" / "epilens.tex"


def setting(name: str, *keys: str) -> Any:
    """A setting of a method's row: what its fit uses."""
    tree = plain(METHODS[name].settings)
    for key in keys:
        tree = tree[key]
    return tree


class Number(NamedTuple):
    """A number of the paper: line of epilens.tex, words on that line, value, value in use."""

    line: int
    words: str
    value: Any
    used: Any


NUMBERS = {
    # The networks and their training
    "D of PRQ-Net": Number(682, "32-dimensional", 32, setting("prq", "encoder", "D")),
    "D of BCR-Net": Number(682, "32-dimensional", 32, setting("bcr", "encoder", "D")),
    "heads of PRQ-Net": Number(682, "two attention heads", 2, setting("prq", "encoder", "heads")),
    "heads of BCR-Net": Number(682, "two attention heads", 2, setting("bcr", "encoder", "heads")),
    "dropout of PRQ-Net": Number(683, "dropout 0.4", 0.4, setting("prq", "encoder", "dropout")),
    "dropout of BCR-Net": Number(683, "dropout 0.4", 0.4, setting("bcr", "encoder", "dropout")),
    "learning rate": Number(683, "10^{-4}", 1e-4, PLAN.training.learning_rate),
    "weight decay": Number(683, "10^{-3}", 1e-3, PLAN.training.weight_decay),
    "patients per step": Number(684, "batches of four", 4, PLAN.training.batch),
    "quantile": Number(323, "Q_{0.10}", 0.10, setting("prq", "quantile")),
    "clipping of the tail": Number(330, "[-4,4]", 4, prq.TAIL_CLIP),
    "bound of the residual": Number(338, "0.2", 0.2, prq.MOST_RESIDUAL),
    "weakest EZ": Number(350, "0.3", (3, 10), bcr.WEAKEST_EZ),
    "most hard NEZ": Number(351, "16", 16, bcr.MOST_HARD_NEZ),
    "margin": Number(401, "0.05", 0.05, bcr.MARGIN),
    "weight of the boundary": Number(421, "0.05", 0.05, setting("bcr", "boundary")),
    "weight of the coverage": Number(421, "0.08", 0.08, setting("bcr", "coverage")),
    "tau_r": Number(424, "0.10", 0.10, bcr.TAU_R),
    "tau_k": Number(424, "0.25", 0.25, bcr.TAU_K),
    "weight of BCR-Net in CDEL": Number(685, "0.2p", 0.2, setting("cdel", "weight")),
    "weight of fused arrays": Number(960, "0.20", 0.20, LOCKED_WEIGHT),
    "lower quantile": Number(2051, "0.05,0.20", 0.05, setting("prq/q05", "quantile")),
    "upper quantile": Number(2051, "0.05,0.20", 0.20, setting("prq/q20", "quantile")),
    # The protocol
    "seeds": Number(657, "42, 52, and 62", (42, 52, 62), PLAN.seeds),
    "folds": Number(657, "five-fold", 5, PLAN.splits.folds),
    "validation": Number(659, "20\\%", 0.2, PLAN.splits.validation),
    "thresholds": Number(2015, "0.005", 0.005, float(np.diff(GRID)[0].round(12))),
    "thresholds in all": Number(2015, "1", 201, len(GRID)),
    # The evidence
    "lower band edge": Number(1391, "1", 1.0, PLAN.filter.low_hz),
    "upper band edge": Number(1391, "150", 150.0, PLAN.filter.high_hz),
    "window": Number(1392, "2", 2.0, PLAN.windows.length_s),
    "stride": Number(1392, "1", 1.0, PLAN.windows.stride_s),
    "least Welch segment": Number(1406, "64", 64, descriptors.welch_samples(10**6, 1.0)),
    "Welch segment": Number(1406, "2f_s", 200, descriptors.welch_samples(10**6, 100.0)),
    "delta": Number(1441, "1}^{4}", (1, 4), descriptors.DESCRIPTORS["log_delta_power"].band_hz),
    "theta": Number(1451, "4}^{8}", (4, 8), descriptors.DESCRIPTORS["log_theta_power"].band_hz),
    "beta": Number(1461, "13}^{30}", (13, 30), descriptors.DESCRIPTORS["log_beta_power"].band_hz),
    "low gamma": Number(
        1470, "30}^{80}", (30, 80), descriptors.DESCRIPTORS["log_low_gamma_power"].band_hz
    ),
    "high gamma": Number(
        1479, "80}^{150}", (80, 150), descriptors.DESCRIPTORS["log_high_gamma_power"].band_hz
    ),
    "descriptors": Number(1620, "9", 9, len(PAPER_NINE)),
    "features": Number(1659, "36", 36, len(VIEWS) * len(PLAN.descriptors)),
    # Feature-based baselines
    "C of logistic": Number(1740, "C=1", 1.0, setting("logistic", "arguments", "C")),
    "solver": Number(1740, "liblinear", "liblinear", setting("logistic", "arguments", "solver")),
    "iterations": Number(1740, "2,000", 2000, setting("logistic", "arguments", "max_iter")),
    "C of SVM": Number(1741, "C=1", 1.0, setting("rbf-svm", "arguments", "C")),
    "gamma": Number(1741, "scale", "scale", setting("rbf-svm", "arguments", "gamma")),
    "trees": Number(1742, "300", 300, setting("random-forest", "arguments", "n_estimators")),
    "depth": Number(1743, "depth 5", 5, setting("random-forest", "arguments", "max_depth")),
    "leaf": Number(
        1743, "leaf size 2", 2, setting("random-forest", "arguments", "min_samples_leaf")
    ),
    "features of a split": Number(
        1743, "square-root", "sqrt", setting("random-forest", "arguments", "max_features")
    ),
    "rounds": Number(1744, "300", 300, setting("lightgbm", "arguments", "n_estimators")),
    "leaves": Number(1744, "7 leaves", 7, setting("lightgbm", "arguments", "num_leaves")),
    "depth of boosting": Number(1745, "depth 3", 3, setting("lightgbm", "arguments", "max_depth")),
    "rate of boosting": Number(
        1745, "0.05", 0.05, setting("lightgbm", "arguments", "learning_rate")
    ),
    "child size": Number(
        1745, "size 10", 10, setting("lightgbm", "arguments", "min_child_samples")
    ),
    # Neural controls
    "hidden of DeepSets": Number(1800, "96", 96, setting("deepsets", "layers", "hidden")),
    "embedding of DeepSets": Number(1800, "64", 64, setting("deepsets", "layers", "embedded")),
    "dropout of DeepSets": Number(1800, "0.15", 0.15, setting("deepsets", "layers", "dropout")),
    "hidden of the MLP": Number(1858, "96", 96, setting("mlp-rank", "layers", "hidden")),
    "dropout of the MLP": Number(1858, "0.15", 0.15, setting("mlp-rank", "layers", "dropout")),
    **{
        f"{what} of {name}": Number(line, words, value, setting(name, "training", field))
        for name in ("deepsets", "mlp-rank")
        for what, line, words, value, field in (
            ("rate", 1826, "10^{-3}", 1e-3, "learning_rate"),
            ("decay", 1827, "10^{-4}", 1e-4, "weight_decay"),
            ("clipping", 1827, "1.0", 1.0, "clip_norm"),
            ("patients per step", 1827, "one complete patient", 1, "batch"),
            ("patience", 1829, "patience 6", 6, "patience"),
            ("least epochs", 1829, "epoch 6", 6, "least_epochs"),
        )
    },
    "epochs of baselines": Number(1828, "30 epochs", 30, PLAN.baselines.epochs),
    # Raw-iEEG baselines
    "segments": Number(1876, "five", 5, PLAN.traces.segments),
    "length of a segment": Number(1876, "4-s", 4.0, PLAN.traces.length_s),
    "lower edge": Number(1879, "0.5", 0.5, PLAN.traces.low_hz),
    "upper edge": Number(1879, "80", 80.0, PLAN.traces.high_hz),
    "mains": Number(1879, "50", 50.0, PLAN.traces.mains_hz),
    "mains of all centers": Number(1879, "50", "fixed", PLAN.traces.mains),
    "each segment is filtered": Number(
        1878, "Each channel segment", "segment", PLAN.traces.filtered
    ),
    "quality factor": Number(1879, "factor 30", 30, MAINS_Q),
    "rate": Number(1880, "200", 200.0, PLAN.traces.rate_hz),
    "samples": Number(1880, "800", 800, PLAN.traces.samples),
    "clipping of segments": Number(1882, "[-8,8]", 8.0, PLAN.traces.clip),
    **{
        f"{what} of {name}": Number(line, words, value, setting(name, "training", field))
        for name in ("seegnet", "timeconv-cnn", "clap")
        for what, line, words, value, field in (
            ("decay", 1888, "10^{-4}", 1e-4, "weight_decay"),
            ("clipping", 1889, "1.0", 1.0, "clip_norm"),
            ("patience", 1931, "patience 6", 6, "patience"),
            ("least epochs", 1932, "epoch 6", 6, "least_epochs"),
        )
    },
    "scales": Number(
        1901, "(51,4)", [[51, 4], [17, 2], [3, 1]], setting("seegnet", "layers", "scales")
    ),
    "width of SEEGNet": Number(1901, "24 channels", 24, setting("seegnet", "layers", "width")),
    "mixed": Number(1903, "96 channels", 96, setting("seegnet", "layers", "mixed")),
    "dropout of SEEGNet": Number(1903, "0.5", 0.5, setting("seegnet", "layers", "dropout")),
    "steps": Number(1904, "32", 32, setting("seegnet", "layers", "steps")),
    "hidden of SEEGNet": Number(1904, "64", 64, setting("seegnet", "layers", "hidden")),
    "rate of SEEGNet": Number(1907, "10^{-3}", 1e-3, setting("seegnet", "layers", "rate")),
    "batch of SEEGNet": Number(1907, "128", 128, setting("seegnet", "training", "batch")),
    "last epochs": Number(
        1937, "final three", 3, setting("seegnet", "training", "extension", "last")
    ),
    "gain for more epochs": Number(
        1938, "0.002", 0.002, setting("seegnet", "training", "extension", "gain")
    ),
    "more epochs": Number(
        1936, "30 to 50", [5, 3], setting("seegnet", "training", "extension", "factor")
    ),
    "STFT": Number(1912, "128", 128, setting("timeconv-cnn", "layers", "n_fft")),
    "hop": Number(1912, "20", 20, setting("timeconv-cnn", "layers", "hop")),
    "widths": Number(1914, "16", [16, 32], setting("timeconv-cnn", "layers", "widths")),
    "rate of new layers": Number(1918, "10^{-3}", 1e-3, setting("timeconv-cnn", "layers", "rate")),
    "rate of ResNet": Number(
        1918, "10^{-4}", 1e-4, setting("timeconv-cnn", "layers", "pretrained_rate")
    ),
    "batch of TimeConv-CNN": Number(1919, "128", 128, setting("timeconv-cnn", "training", "batch")),
    "mel bins": Number(1924, "64 mel", 64, setting("clap", "layers", "mels")),
    "highest mel": Number(1925, "100", 100, setting("clap", "layers", "high_hz")),
    "FFT of CLAP": Number(1925, "256-point", 256, setting("clap", "layers", "n_fft")),
    "hop of CLAP": Number(1925, "20", 20, setting("clap", "layers", "hop")),
    "rate of audio": Number(1926, "10^{-5}", 1e-5, setting("clap", "layers", "pretrained_rate")),
    "rate of CLAP's head": Number(1928, "10^{-3}", 1e-3, setting("clap", "layers", "rate")),
    "batch of CLAP": Number(1929, "8", 8, setting("clap", "training", "batch")),
    "lowest bin": Number(1948, "0.5", 0.5, setting("seegformer", "layers", "low_hz")),
    "highest bin": Number(1948, "80", 80.0, setting("seegformer", "layers", "high_hz")),
    "width of SEEGformer": Number(1950, "64", 64, setting("seegformer", "layers", "width")),
    "blocks": Number(1950, "two masked", 2, setting("seegformer", "layers", "blocks")),
    "heads of SEEGformer": Number(1950, "four", 4, setting("seegformer", "layers", "heads")),
    "MLP ratio": Number(1951, "ratio 2", 2, setting("seegformer", "layers", "mlp_ratio")),
    "dropout of SEEGformer": Number(1951, "0.2", 0.2, setting("seegformer", "layers", "dropout")),
    "inner folds": Number(1955, "four", 4, setting("seegformer", "folds")),
    "rate of SEEGformer": Number(
        1956, "5\\times10^{-4}", 5e-4, setting("seegformer", "training", "rate")
    ),
    "decay of SEEGformer": Number(
        1957, "10^{-4}", 1e-4, setting("seegformer", "training", "weight_decay")
    ),
    "batch of SEEGformer": Number(1957, "size 8", 8, setting("seegformer", "training", "batch")),
    "accumulation": Number(1957, "two steps", 2, setting("seegformer", "training", "together")),
    "clipping of SEEGformer": Number(
        1958, "1.0", 1.0, setting("seegformer", "training", "clip_norm")
    ),
    "patience of SEEGformer": Number(
        1959, "patience 6", 6, setting("seegformer", "training", "patience")
    ),
    # Statistics
    "permutations": Number(969, "1,000", 1000, permutation.PERMUTATIONS),
    "bootstrap": Number(972, "10,000", 10_000, bootstrap.DRAWS),
    "bootstrap over seizures": Number(972, "10,000", 10_000, cross_seizure.DRAWS),
    "hard channels": Number(997, "10\\%, 20\\%, and 30\\%", (10, 20, 30), hard_channels.PERCENTS),
    "repeats": Number(1008, "ten times", 10, reinference.REPEATS),
    "bootstrap of centers": Number(2279, "2,000", 2000, loco_bootstrap.DRAWS),
    "weight that was locked": Number(960, "0.20", True, 0.2 in fusion_sweep.WEIGHTS),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_of_the_paper_is_the_one_that_is_used(name):
    number = NUMBERS[name]
    assert number.used == number.value


# Where the paper is silent, NOTES decide; these must not drift either.
DECIDED = {
    "training.epochs": 30,
    "training.patience": 6,
    "training.least_epochs": 6,
    "training.clip_norm": 1.0,
    "windows.start_s": -30.0,
    "windows.stop_s": 30.0,
    "windows.min_reference": 5,
    "windows.min_ictal": 5,
    "windows.reference": "ends-before",
    "filter.order": 4,
    "filter.notch": "none",
    "montage.scheme": "as-recorded",
    # Training-free scores: as they were measured on recorded seizures (docs/reference/methods.md).
    "epileptogenicity_index.baseline_s": (-30.0, -5.0),
    "epileptogenicity_index.threshold": 3.75,
    "epileptogenicity_index.bias": 0.5,
    "epileptogenicity_index.sustained_s": 5.0,
    "fragility.radius": 1.5,
    "line_length_spread.window_s": 12.0,
    "shaft.own": 0.5,
    "shaft.neighbours": 0.25,
    "shaft.shaft": 0.25,
}


@pytest.mark.parametrize("field", DECIDED)
def test_what_was_decided_is_the_default(field):
    section, name = field.split(".")
    assert getattr(getattr(PLAN, section), name) == DECIDED[field]


@pytest.mark.data
@pytest.mark.parametrize("name", NUMBERS)
def test_the_line_of_the_paper_says_so(name):
    if not PAPER.exists():
        pytest.skip("the paper is not beside the project (../shared/paper)")
    number = NUMBERS[name]
    text = PAPER.read_text(encoding="utf-8").splitlines()[number.line - 1]
    assert number.words in text


def plan_fields():
    """Name, documentation and value of every field of the paper's plan."""
    for name, field in Plan.model_fields.items():
        value = getattr(PLAN, name)
        if isinstance(value, Section):
            for inner, of_section in type(value).model_fields.items():
                yield f"{name}.{inner}", of_section.description, getattr(value, inner)
        else:
            yield name, field.description, value


def test_a_line_that_a_field_names_is_one_that_its_value_is_held_to():
    """`epilens plan init` writes these lines as comments."""
    held = {(number.line, str(number.value)) for number in NUMBERS.values()}
    named = [
        (int(line), str(len(value) if name == "descriptors" else value), name)
        for name, text, value in plan_fields()
        for line in re.findall(r"paper, line (\d+)", text)
    ]
    assert len(named) > 15
    assert [name for line, value, name in named if (line, value) not in held] == []
