"""The single-channel raw-iEEG baselines: segments, SEEGNet, the training loop, its epoch rules."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn

from epilens.core.errors import MethodError
from epilens.evidence.cube import blind
from epilens.methods import METHODS, Training, seen_channels
from epilens.methods import raw as rows
from epilens.methods.raw import SingleChannel, fit_single_channel
from epilens.methods.segments import PatientSegments
from epilens.networks.loop import Extension
from epilens.networks.raw.seegnet import SEEGNet
from epilens.networks.raw.segments import SegmentNetwork
from epilens.networks.raw.steps import Steps, nez_weight, weighted_bce
from epilens.networks.specs import SegmentTraining
from epilens.plan import Plan
from epilens.testing import make_patient

SMOKE = Plan(smoke=True).override(baselines={"epochs": 1})


@pytest.fixture(scope="module")
def patients():
    """Two seizures, one seizure, another number of channels."""
    kinds = [{"seizures": 2}, {"seizures": 1}, {"seizures": 2, "channels": 4, "ez": 1}]
    return [make_patient(f"sub-{i}", seed=10 * i, fs=220.0, **kind) for i, kind in enumerate(kinds)]


@pytest.fixture(scope="module")
def seegnet(patients):
    return METHODS["seegnet"].fit(Training(patients[:2], patients[2:], 0, SMOKE))


def with_holes(patient):
    """Channel 1 is never there, channel 0 not in seizure 0, a segment of seizure 1 not whole."""
    valid, whole = patient["valid"].copy(), patient["trace_valid"].copy()
    valid[:, :, 1] = False
    valid[0, :, 0] = False
    whole[1, 3] = False
    return patient.assign(valid=valid, trace_valid=whole, x=patient["x"].where(valid, 0))


def test_segments_are_those_that_are_whole_and_whose_channel_is_there(patients):
    holes = with_holes(patients[0])
    segments = PatientSegments.of([holes, patients[2]])
    x, channel, number = [], [], 0
    for patient in (holes, patients[2]):
        seen = seen_channels(patient)
        names = dict(zip(np.flatnonzero(seen), range(number, number + seen.sum()), strict=True))
        number += seen.sum()
        for s in range(patient.sizes["seizure"]):
            for k in range(patient.sizes["segment"]):
                for c in range(patient.sizes["channel"]):
                    shown = bool(patient["valid"][s, :, c].any())
                    if shown and bool(patient["trace_valid"][s, k, c]):
                        x.append(patient["trace"].values[s, k, c])
                        channel.append(names[c])
    assert segments.sizes == (5, 4)
    np.testing.assert_array_equal(segments.x, x)
    np.testing.assert_array_equal(segments.channel, channel)
    np.testing.assert_array_equal(segments.is_ez, [1, 0, 0, 0, 0, 1, 0, 0, 0])
    assert len(x) == 4 * 5 + 5 * 4 + 2 * 5 * 4  # of 6 channels × 10 segments, and of 4 × 10
    assert segments.x.dtype == np.float32


def test_a_channel_s_score_is_the_mean_of_its_segments(patients):
    segments = PatientSegments.of([with_holes(patients[0]), patients[2]])
    p = np.random.default_rng(0).random(len(segments.x))
    first, second = segments.channel_means(p)
    assert (len(first), len(second)) == (5, 4)
    for c, mean in enumerate([*first, *second]):
        mine = [v for v, channel in zip(p, segments.channel, strict=True) if channel == c]
        assert mean == pytest.approx(sum(mine) / len(mine), rel=1e-12)


def without(patient, *channels):
    """The patient without a whole segment of some channels."""
    whole = patient["trace_valid"].copy()
    whole[:, :, list(channels)] = False
    return patient.assign(trace_valid=whole)


def test_a_channel_without_a_whole_segment_gets_the_median_of_the_others(patients):
    segments = PatientSegments.of([without(patients[0], 4), without(patients[2], 0, 1, 2, 3)])
    p = np.random.default_rng(0).random(len(segments.x))
    first, second = segments.channel_means(p)
    by_hand = [p[segments.channel == c].mean() for c in (0, 1, 2, 3, 5)]
    np.testing.assert_allclose(first, np.insert(by_hand, 4, sorted(by_hand)[2]), rtol=1e-12)
    np.testing.assert_array_equal(second, [0.5] * 4)


def test_a_channel_without_a_whole_segment_is_scored_but_not_learned_from(patients):
    short, unheard = without(patients[0], 4), without(patients[1], *range(6))
    fitted = METHODS["seegnet"].fit(Training([short, patients[1]], patients[2:], 0, SMOKE))
    assert fitted.notes["segments"] == {"ez": 2 * 15, "nez": 3 * 10 + 4 * 5}
    assert fitted.notes["without_segments"] == {"sub-0": ["A5"]}
    scores = fitted.predict([blind(short)])
    others = scores.loc[scores["channel"] != "A5", "p_nez"]
    assert scores["channel"].tolist() == [f"A{i}" for i in range(1, 7)]
    assert scores["p_nez"][4] == np.median(others)
    assert fitted.predict([blind(unheard)])["p_nez"].tolist() == [0.5] * 6
    told = json.loads(json.dumps(fitted.notes))["without_segments"]
    assert told == {"sub-0": ["A5"], "sub-1": [f"A{i}" for i in range(1, 7)]}


def test_validation_patients_without_a_segment_choose_with_the_others(patients):
    held = [without(patients[0], *range(6)), patients[2]]
    fitted = METHODS["seegnet"].fit(Training(patients[1:], held, 0, SMOKE))
    assert fitted.predict(held)["p_nez"].notna().all()


@pytest.mark.parametrize(("method", "least"), [("seegnet", 1), ("seegformer", 2)])
def test_patients_without_any_segment_are_too_few_to_learn_from(patients, method, least):
    unheard = [without(patient, *range(patient.sizes["channel"])) for patient in patients]
    training = Training(unheard[:2], unheard[2:], 0, SMOKE)
    with pytest.raises(
        MethodError, match=rf"patients: expected {least} or more with a whole segment .* found 0 of"
    ):
        METHODS[method].fit(training)


def test_a_cube_without_traces_is_refused(patients):
    with pytest.raises(MethodError, match="sub-0: expected traces next to the cube, found none"):
        PatientSegments.of([patients[0].drop_vars(["trace", "trace_valid"])])


def test_the_weight_of_nez_is_ez_over_nez():
    assert nez_weight(np.array([True, False, False, False])) == pytest.approx(1 / 3)
    assert nez_weight(np.array([True, True])) == 1.0


def test_the_loss_weighs_nez_as_the_positive_class():
    logit, is_nez = torch.tensor([0.3, -1.2, 2.0]), torch.tensor([True, True, False])
    p = 1 / (1 + np.exp(-logit.numpy()))
    by_hand = (-0.25 * np.log(p[:2]).sum() - np.log(1 - p[2])) / 3
    assert float(weighted_bce(logit, is_nez, 0.25)) == pytest.approx(by_hand, rel=1e-6)


# A best value at epoch 28, 29 or 30 that lies 0.002 above the value three epochs before it.
FLAT = [0.5] * 30


def curve(**at):
    return [at.get(f"e{epoch}", value) for epoch, value in enumerate(FLAT, start=1)]


@pytest.mark.parametrize(
    ("macro_f1", "epochs"),
    [
        (curve(e30=0.502), 50),
        (curve(e28=0.502), 50),
        (curve(e30=0.5019), 30),  # too little
        (curve(e27=0.6), 30),  # too early
        (curve(e27=0.6, e30=0.6), 30),  # reached before
        (curve(e27=0.6, e30=0.601), 30),  # three epochs before it was nearly as good
        (curve(e26=0.6, e27=0.6, e28=0.601, e29=0.61), 50),  # three before 29: epoch 26, 0.6
        (curve(e26=0.6095, e29=0.61), 30),
        (FLAT, 30),
    ],
)
def test_seegnet_goes_on_only_while_it_improves(macro_f1, epochs):
    assert Extension().epochs(macro_f1, 30) == epochs


def test_the_extension_keeps_its_proportion_and_needs_three_earlier_epochs():
    assert Extension().epochs([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], 6) == 10
    assert Extension().epochs([0.1, 0.2, 0.3], 3) == 3


def test_seegnet_has_the_layers_of_the_appendix():
    network, seen = SEEGNet().eval(), {}
    for name, module in network.named_modules():
        module.register_forward_hook(lambda _m, a, _o, name=name: seen.update({name: a[0].shape}))
    x = torch.randn(3, 800)
    with torch.no_grad():
        assert network(x).shape == (3,)
        assert network.summary(x).shape == (3, 128)
    assert [seen[f"branches.{i}.1"] for i in range(3)] == [(3, 24, 200), (3, 24, 400), (3, 24, 800)]
    assert seen["mix"] == (3, 72, 200)
    assert seen["dropout"] == (3, 96, 200)
    assert seen["lstm"] == (3, 32, 96)
    assert network.dropout.p == 0.5
    convolutions = sum(24 * kernel + 24 for kernel in (51, 17, 3))
    lstm = 2 * (4 * 64 * (96 + 64) + 2 * 4 * 64)
    attention = 128 * 128 + 128 + 128 + 1
    total = convolutions + 3 * 2 * 24 + 72 * 96 + 96 + lstm + attention + 128 + 1
    assert sum(p.numel() for p in network.parameters()) == total


def test_attention_is_a_weighted_mean_over_time():
    network, seen = SEEGNet().eval(), {}
    network.lstm.register_forward_hook(lambda _m, _a, out: seen.update(h=out[0]))
    with torch.no_grad():
        summary = network.summary(torch.randn(2, 800))
        score = network.attention(seen["h"]).squeeze(-1).numpy()  # (2, 32)
    weight = np.exp(score) / np.exp(score).sum(1, keepdims=True)
    by_hand = np.einsum("nt,ntd->nd", weight, seen["h"].numpy())
    np.testing.assert_allclose(summary, by_hand, rtol=0, atol=1e-5)


class Line(SegmentNetwork):
    """A logistic regression on the samples; `rate` 0 learns nothing."""

    def __init__(self, rate):
        super().__init__(rate)
        self.line = nn.Linear(800, 1)

    def forward(self, x):
        return self.line(x).squeeze(-1)


def fit_line(patients, epochs=1, rate=1e-3, **changes):
    plan = Plan(smoke=True).override(baselines={"epochs": epochs})
    settings = SingleChannel(f"{__name__}:Line", rate, SegmentTraining(32, **changes))
    return fit_single_channel(settings, Training(patients[:2], patients[2:], 0, plan))


def scripted(monkeypatch, macro_f1):
    """Validation says what the script says, whatever the network does."""
    script = iter(macro_f1)
    judge = lambda p_nez, is_ez: (0.5, (next(script), 0.0, 0.0))  # noqa: E731
    monkeypatch.setattr(rows, "select_threshold", judge)


def test_the_loss_is_that_of_the_fit_segments(patients):
    settings = SingleChannel(f"{__name__}:Line", 0.0, SegmentTraining(128))
    fitted = fit_single_channel(settings, Training(patients[:2], patients[2:], 0, SMOKE))
    w, b = (fitted.weights()[f"line.{part}"].numpy() for part in ("weight", "bias"))
    losses = []
    for patient in patients[:2]:
        p = 1 / (1 + np.exp(-(patient["trace"].values.astype(float) @ w[0] + b)))
        losses.append(np.where(patient["is_ez"], -np.log(1 - p), -0.5 * np.log(p)).ravel())
    assert fitted.history["loss"][0] == pytest.approx(np.concatenate(losses).mean(), rel=1e-5)


def test_training_stops_after_six_epochs_without_improvement(patients):
    history = fit_line(patients, epochs=30, rate=0.0).history
    assert history["epoch"].tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert history["selected"].tolist() == [True] + [False] * 6


def test_training_runs_its_schedule_while_validation_improves(patients, monkeypatch):
    scripted(monkeypatch, np.arange(1, 99) / 100)
    assert len(fit_line(patients, epochs=6).history) == 6
    assert len(fit_line(patients, epochs=6, extension=Extension()).history) == 10


def test_patience_also_ends_an_extended_schedule(patients, monkeypatch):
    scripted(monkeypatch, [*(np.arange(1, 13) / 100), *[0.01] * 20])
    assert len(fit_line(patients, epochs=12, extension=Extension()).history) == 12 + 6


def test_the_epoch_that_validation_prefers_is_kept(patients, monkeypatch):
    scripted(monkeypatch, [0.5, 0.7, 0.6, 0.7])
    four = fit_line(patients, epochs=4)
    assert four.history["selected"].tolist() == [True, True, False, False]
    scripted(monkeypatch, [0.5, 0.7])
    two = fit_line(patients, epochs=2)
    scripted(monkeypatch, [0.5])
    one = fit_line(patients, epochs=1)
    scores = [fitted.predict(patients)["p_nez"].to_numpy() for fitted in (four, two, one)]
    np.testing.assert_array_equal(scores[0], scores[1])
    assert not np.array_equal(scores[0], scores[2])
    torch.testing.assert_close(four.weights(), two.weights(), rtol=0, atol=0)


def test_gradients_are_clipped_to_norm_one():
    network = Line(1e-3)
    steps = Steps(network, network.groups())
    steps.step([1e3 * network(torch.randn(4, 800)).sum()])
    norm = torch.cat([p.grad.flatten() for p in network.parameters()]).norm()
    assert float(norm) == pytest.approx(1.0, abs=1e-4)


def test_two_parts_of_a_step_make_one_whole():
    whole, parts = Line(1e-3), Line(1e-3)
    parts.load_state_dict(whole.state_dict())
    x = torch.randn(6, 800)
    one = Steps(whole, whole.groups()).step([1e-3 * whole(x).square().mean()])
    halves = (1e-3 * parts(half).square().mean() for half in x.split(3))
    two = Steps(parts, parts.groups()).step(halves, parts=2)
    assert one == pytest.approx(two, rel=1e-5)
    torch.testing.assert_close(whole.line.weight.grad, parts.line.weight.grad)


def test_the_history_has_the_columns_of_the_other_networks(seegnet):
    columns = "epoch loss threshold macro_f1 ez_f1 balanced_accuracy selected"
    assert seegnet.history.columns.tolist() == columns.split()


def test_the_notes_count_what_was_learned_from(seegnet):
    assert json.loads(json.dumps(seegnet.notes)) == {
        "segments": {"ez": 2 * 15, "nez": 4 * 15},
        "pos_weight": 0.5,
        "epochs": {"scheduled": 1, "run": 1},
        "smoke": True,
        "without_segments": {},
        "parameters": 108642,
        "device": "cuda" if torch.cuda.is_available() else "cpu",
        "mixed_precision": torch.cuda.is_available(),
    }
    assert all(t.is_contiguous() for t in seegnet.weights().values())
    assert set(seegnet.weights()) == set(SEEGNet().state_dict())


def test_the_same_seed_gives_the_same_bits_and_leaves_the_random_state_alone(patients, seegnet):
    torch.rand(3), np.random.rand(3)  # noqa: NPY002
    torch_state, numpy_state = torch.get_rng_state(), np.random.get_state()  # noqa: NPY002
    again = METHODS["seegnet"].fit(Training(patients[:2], patients[2:], 0, SMOKE))
    assert again.predict(patients).equals(seegnet.predict(patients))
    assert torch.equal(torch.get_rng_state(), torch_state)
    np.testing.assert_equal(np.random.get_state(), numpy_state)  # noqa: NPY002


def test_scores_follow_their_channels_and_need_no_label(patients, seegnet):
    patient = with_holes(patients[0])
    ours = seegnet.predict([patient])
    assert ours["channel"].tolist() == ["A1", "A3", "A4", "A5", "A6"]
    assert seegnet.predict([blind(patient)]).equals(ours)
    order = seegnet.predict([patient.isel(channel=[4, 0, 5, 2, 1, 3])])
    assert order["channel"].tolist() == ["A5", "A1", "A6", "A3", "A4"]
    order = order.set_index("channel")["p_nez"][ours["channel"]]
    np.testing.assert_allclose(order, ours["p_nez"], rtol=0, atol=1e-6)


def test_seegnet_learns_which_channels_burst(patients):
    plan = SMOKE.override(baselines={"epochs": 8})
    scores = METHODS["seegnet"].fit(Training(patients[:2], patients[2:], 0, plan)).predict(patients)
    is_ez = np.concatenate([patient["is_ez"].values for patient in patients])
    assert scores["p_nez"][is_ez].max() < scores["p_nez"][~is_ez].min()


def test_the_rows_are_known_without_torch():
    code = (
        "import sys; from epilens.methods import METHODS; print(*METHODS, 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    names = done.stdout.split()
    assert {"seegnet", "timeconv-cnn", "clap", "seegformer"} <= set(names)
    assert names[-1] == "False"
