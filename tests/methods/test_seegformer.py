"""SEEGformer: spectra, masks, medians, inner folds, and where its threshold comes from."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from epilens.core.decisions import selected_threshold
from epilens.evidence.cube import blind
from epilens.methods import METHODS, Training
from epilens.methods import seegformer as rows
from epilens.networks.raw import seegformer as net
from epilens.networks.raw import steps
from epilens.plan import Plan
from epilens.testing import make_patient

SMOKE = Plan(smoke=True).override(baselines={"epochs": 2})


@pytest.fixture(scope="module")
def patients():
    """Five to fit, one more to test; unequal channels, a patient with one seizure, two centers."""
    made = []
    for i in range(6):
        patient = make_patient(
            f"sub-{i}", seizures=1 + i % 2, seed=10 * i, fs=220.0, channels=4 + i % 3, ez=1 + i % 2
        )
        patient.attrs |= {"center": f"Center {i % 2}", "modality": "ECoG" if i == 4 else "SEEG"}
        made.append(patient)
    return made


@pytest.fixture(scope="module")
def fitted(patients):
    return METHODS["seegformer"].fit(Training(patients[:4], patients[4:5], 0, SMOKE))


@pytest.fixture
def network():
    with steps.seeded(0):
        return net.SEEGformer().eval()


def randn(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape)).float()


def test_the_spectra_are_those_of_numpy(network):
    x = randn(2, 3, 800)
    frequency = np.fft.rfftfreq(1600, 1 / 200)
    inside = (frequency >= 0.5) & (frequency <= 80)
    spectrum = np.fft.rfft(x.numpy(), 1600)[..., inside] / np.sqrt(1600)
    assert inside.sum() == 637
    for ours, wanted in zip(
        network.spectra(x), (spectrum.real, spectrum.imag, abs(spectrum)), strict=True
    ):
        np.testing.assert_allclose(ours, wanted, rtol=0, atol=1e-5)


def test_the_layers_are_those_of_the_appendix(network):
    attention = 4 * 64 * 64 + 4 * 64
    mlp = 64 * 128 + 128 + 128 * 64 + 64
    block = attention + mlp + 2 * 2 * 64
    head = 64 * 32 + 32 + 32 + 1
    branch = 637 * 64 + 64 + 2 * block + head
    assert sum(p.numel() for p in network.parameters()) == 3 * branch + 3
    layer = network.branches[0].blocks[0]
    assert (layer.self_attn.num_heads, layer.dropout.p, layer.self_attn.dropout) == (4, 0.2, 0.2)


def test_the_branches_are_combined_by_softmax_weights(network):
    x, there = randn(1, 3, 800), torch.ones(1, 3, dtype=torch.bool)
    with torch.no_grad():
        network.mixture.copy_(torch.tensor([0.3, -1.0, 2.0]))
        alone = [b(s, there) for b, s in zip(network.branches, network.spectra(x), strict=True)]
        weights = np.exp([0.3, -1.0, 2.0]) / np.exp([0.3, -1.0, 2.0]).sum()
        by_hand = sum(w * logit for w, logit in zip(weights.tolist(), alone, strict=True))
        torch.testing.assert_close(network(x, there), by_hand)


@pytest.mark.parametrize("grad", [False, True])  # inference takes another path through torch
def test_padding_changes_no_real_channel(network, grad):
    x, there = randn(2, 5, 800), torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    padded = torch.cat([x, 9 * randn(2, 4, 800, seed=1)], 1)
    padded[1, 3:5] = 100.0
    with torch.set_grad_enabled(grad):
        more = network(padded, torch.cat([there, torch.zeros(2, 4, dtype=torch.bool)], 1))
        torch.testing.assert_close(more[:, :5][there], network(x, there)[there], rtol=0, atol=1e-5)
        short = network(x[1:, :3], there[1:, :3])
        torch.testing.assert_close(more[1:, :3], short, rtol=0, atol=1e-5)


def test_logits_follow_their_channels_and_see_the_others(network):
    x, there = randn(1, 6, 800), torch.ones(1, 6, dtype=torch.bool)
    order = torch.tensor([3, 1, 5, 0, 4, 2])
    with torch.no_grad():
        ours, other = network(x, there), network(x[:, order], there)
        torch.testing.assert_close(other, ours[:, order], rtol=0, atol=1e-5)
        x[0, 5] *= -3
        assert (network(x, there)[0, :5] - ours[0, :5]).abs().min() > 1e-6


def test_windows_are_reduced_by_two_medians():
    nan = np.nan
    p = [
        [[0.1, 0.2, nan], [0.9, 0.4, nan], [0.3, nan, nan], [0.35, 0.8, nan]],
        [[0.6, 0.5, 0.7], [nan, 0.1, 0.9], [nan, 0.2, 0.75], [0.2, 0.3, 0.05]],
        [[0.5, 0.6, nan], [0.7, 0.6, nan], [0.8, 0.9, nan], [nan, nan, nan]],
    ]
    by_hand = []
    for c in range(3):
        columns = [[w[c] for w in seizure if not np.isnan(w[c])] for seizure in p]
        by_hand.append(np.median([np.median(v) for v in columns if v]))
    assert by_hand == pytest.approx([0.4, 0.4, 0.725])
    ours = net.medians(torch.tensor(p, dtype=torch.float64))
    np.testing.assert_allclose(ours, by_hand, rtol=1e-12)


@pytest.mark.parametrize(("patients", "folds"), [(2, 2), (3, 3), (4, 4), (11, 4), (64, 4)])
def test_inner_folds_are_four_of_nearly_equal_size(patients, folds):
    of_patient = rows.inner_folds(patients, seed=3)
    sizes = np.bincount(of_patient)
    assert len(of_patient) == patients
    assert len(sizes) == folds
    assert sizes.max() - sizes.min() <= 1


def test_inner_folds_depend_on_the_seed():
    assert not np.array_equal(rows.inner_folds(20, 0), rows.inner_folds(20, 1))
    np.testing.assert_array_equal(rows.inner_folds(20, 0), rows.inner_folds(20, 0))


@pytest.mark.parametrize(
    ("best", "epochs"), [([3, 4], 4), ([1, 2, 3, 30], 3), ([7, 7, 9], 7), ([2, 3, 4, 5], 4)]
)
def test_the_final_budget_is_the_median_epoch(best, epochs):
    assert rows.final_epochs(best) == epochs


def test_every_patient_is_held_once_and_never_by_a_network_that_learned_from_it(
    patients, monkeypatch
):
    told, original = [], net.fit_windows

    def spy(network, patients, training, epochs, seed):
        firsts = ([w.x[0, 0, 0, 0] for w in part] for part in patients)
        told.append((*firsts, epochs))
        return original(network, patients, training, epochs, seed)

    monkeypatch.setattr(net, "fit_windows", spy)
    METHODS["seegformer"].fit(Training(patients[:4], patients[4:5], 0, SMOKE))
    everyone = sorted(p["trace"].values[0, 0, 0, 0] for p in patients[:5])
    *inner, (final, nobody, _) = told
    assert len(inner) == 4
    assert sorted(final) == everyone
    assert nobody == []
    assert all(sorted(own + held) == everyone for own, held, _ in inner)
    assert sorted(x for _, held, _ in inner for x in held) == everyone
    assert [epochs for *_, epochs in inner] == [2] * 4


def test_the_threshold_is_that_of_the_out_of_fold_scores(patients, monkeypatch):
    told = []

    def spy(p_nez, is_ez, _):
        told.append((p_nez, is_ez))
        return 0.125, (1.0, 1.0, 1.0)

    monkeypatch.setattr("epilens.core.decisions.select_threshold", spy)
    plan = SMOKE.override(baselines={"epochs": 1})
    fitted = METHODS["seegformer"].fit(Training(patients[:3], patients[3:4], 0, plan))
    assert fitted.threshold == 0.125
    [(p_nez, is_ez)] = told
    for i, patient in enumerate(patients[:4]):
        np.testing.assert_array_equal(p_nez[i], fitted.predict([blind(patient)])["p_nez"])
        np.testing.assert_array_equal(is_ez[i], patient["is_ez"].values)


def test_the_scores_that_chose_the_threshold_are_kept(patients, fitted):
    kept = fitted.threshold_scores
    assert kept["patient"].unique().tolist() == [p.attrs["patient"] for p in patients[:5]]
    for patient in patients[:5]:
        own = kept[kept["patient"] == patient.attrs["patient"]]
        again = fitted.predict([blind(patient)])
        assert own["channel"].tolist() == again["channel"].tolist()
        np.testing.assert_array_equal(own["p_nez"], again["p_nez"])
        np.testing.assert_array_equal(own["is_ez"], patient["is_ez"].values)
    assert selected_threshold(kept) == fitted.threshold


def test_a_patient_of_the_fit_is_scored_by_the_network_that_has_not_seen_it(patients, fitted):
    for patient in (patients[0], patients[4]):
        weights = fitted.weights()
        fold = str(fitted.notes["inner_folds"][patient.attrs["patient"]])
        by_hand = {}
        for part in (fold, "all"):
            network = net.SEEGformer()
            state = {k.removeprefix(f"{part}."): v for k, v in weights.items()}
            network.load_state_dict({k: state[k] for k in network.state_dict()})
            by_hand[part] = net.p_nez(network, rows.as_windows(patient))
        np.testing.assert_array_equal(fitted.predict([patient])["p_nez"], by_hand[fold])
        stranger = patient.assign_attrs(patient="somebody else")
        np.testing.assert_array_equal(fitted.predict([stranger])["p_nez"], by_hand["all"])
        assert not np.array_equal(by_hand[fold], by_hand["all"])


def test_the_history_tells_every_fold(fitted):
    history = fitted.history
    assert history.columns.tolist() == ["fold", "epoch", "loss", "held_loss", "selected"]
    best = [
        int(part.loc[part["held_loss"].idxmin(), "epoch"])
        for fold, part in history.groupby("fold")
        if fold != "all"
    ]
    assert fitted.notes["epochs"] == {"best_of_folds": best, "final": rows.final_epochs(best)}
    assert (history["fold"] == "all").sum() == rows.final_epochs(best)
    assert history.loc[history["fold"] != "all", "held_loss"].notna().all()


def windows(patients):
    return [rows.as_windows(patient) for patient in patients]


def fit_scripted(monkeypatch, patients, held_losses, epochs):
    script = iter(held_losses)
    monkeypatch.setattr(net, "mean_loss", lambda *_: next(script))
    with steps.seeded(0):
        network = net.SEEGformer()
        own, held = windows(patients[:2]), windows(patients[2:3])
        told = net.fit_windows(network, (own, held), net.WindowTraining(), epochs, (0,))
    return network, told


def test_patience_is_counted_on_the_loss_of_held_patients(patients, monkeypatch):
    held = [0.9, 0.8, 0.8, *[0.85] * 20]
    network, told = fit_scripted(monkeypatch, patients, held, 30)
    assert [row[0] for row in told] == list(range(1, 9))
    assert [row[3] for row in told] == [True, True] + [False] * 6
    shorter, _ = fit_scripted(monkeypatch, patients, held, 2)
    torch.testing.assert_close(network.state_dict(), shorter.state_dict(), rtol=0, atol=0)
    longer, _ = fit_scripted(monkeypatch, patients, [3.0, 2.0, 1.0], 3)
    assert not torch.equal(longer.mixture, shorter.mixture)


def test_the_loss_of_held_patients_is_over_their_windows_and_channels(patients, network):
    held = windows([patients[1]])
    total, n = 0.0, 0
    logit = net.window_logits(network, held[0]).numpy()
    for s, k, c in np.argwhere(held[0].valid):
        p = 1 / (1 + np.exp(-logit[s, k, c]))
        total -= np.log(1 - p) if held[0].is_ez[c] else 0.3 * np.log(p)
        n += 1
    assert net.mean_loss(network, held, 0.3) == pytest.approx(total / n, rel=1e-5)


def test_batches_of_eight_windows_are_taken_two_by_two(patients, monkeypatch):
    taken, sizes, step, collate = [], [], steps.Steps.step, net.collate

    def spy_step(self, losses, parts):
        taken.append(parts)
        return step(self, losses, parts)

    def spy_collate(examples):
        sizes.append(len(examples))
        return collate(examples)

    monkeypatch.setattr(steps.Steps, "step", spy_step)
    monkeypatch.setattr(net, "collate", spy_collate)
    own = windows([patients[1], patients[3]])  # two seizures of five windows each
    net.fit_windows(net.SEEGformer(), (own, []), net.WindowTraining(), 1, (0,))
    assert sizes == [8, 8, 4]
    assert taken == [2, 1]


def test_a_batch_is_padded_along_channels_only(patients):
    few, many = windows([patients[0], patients[2]])  # four and six channels
    x, there, is_nez = net.collate([(few, 0, 3), (many, 0, 1)])
    assert x.shape == (2, 6, 800)
    np.testing.assert_array_equal(there.sum(1), [4, 6])
    np.testing.assert_array_equal(x[0, :4], few.x[0, 3])
    np.testing.assert_array_equal(x[1], many.x[0, 1])
    assert not x[0, 4:].any()
    np.testing.assert_array_equal(is_nez[1], ~patients[2]["is_ez"].values)


def test_channels_that_are_never_there_get_no_score(patients, fitted):
    valid, whole = patients[5]["valid"].copy(), patients[5]["trace_valid"].copy()
    valid[:, :, 2] = False
    valid[0, :, 0] = False
    whole[1, 4] = False
    holes = patients[5].assign(valid=valid, trace_valid=whole)
    scores = fitted.predict([blind(holes)])
    assert scores["channel"].tolist() == ["A1", "A2", "A4", "A5", "A6"]
    assert np.isfinite(scores["p_nez"]).all()
    loud = holes.assign(trace=holes["trace"].where(holes["channel"] != "A3", 8.0))
    assert fitted.predict([loud]).equals(scores)
    quiet = holes.assign(trace=holes["trace"].where(holes["trace_valid"], 7.0))
    assert fitted.predict([quiet]).equals(scores)


def test_a_channel_that_no_window_shows_gets_the_median_of_the_others(patients):
    whole = [patient["trace_valid"].copy() for patient in patients]
    whole[5][:, :, 2] = False
    whole[1][:, :, 0] = False
    whole[3][:] = False
    given = [p.assign(trace_valid=mask) for p, mask in zip(patients, whole, strict=True)]
    plan = SMOKE.override(baselines={"epochs": 1})
    fitted = METHODS["seegformer"].fit(Training(given[:4], given[4:5], 0, plan))
    assert set(fitted.notes["inner_folds"]) == {"sub-0", "sub-1", "sub-2", "sub-4"}
    p_nez = fitted.predict([blind(given[5])])["p_nez"]
    assert p_nez[2] == np.median(p_nez.drop(2))
    assert fitted.predict([blind(given[3])])["p_nez"].tolist() == [0.5] * 4
    told = json.loads(json.dumps(fitted.notes))["without_segments"]
    assert told == {"sub-1": ["A1"], "sub-3": ["A1", "A2", "A3", "A4"], "sub-5": ["A3"]}


def test_scores_follow_their_channels_and_need_no_label(patients, fitted):
    for patient in (patients[4], patients[5]):  # one seizure, two seizures
        ours = fitted.predict([patient])
        assert fitted.predict([blind(patient)]).equals(ours)
        order = np.random.default_rng(0).permutation(patient.sizes["channel"])
        other = fitted.predict([patient.isel(channel=order)]).set_index("channel")["p_nez"]
        np.testing.assert_allclose(other[ours["channel"]], ours["p_nez"], rtol=0, atol=1e-6)


def test_the_same_seed_gives_the_same_bits_and_leaves_the_random_state_alone(patients, fitted):
    torch.rand(3)
    state = torch.get_rng_state()
    again = METHODS["seegformer"].fit(Training(patients[:4], patients[4:5], 0, SMOKE))
    assert again.predict(patients).equals(fitted.predict(patients))
    assert torch.equal(torch.get_rng_state(), state)


def test_seegformer_learns_which_channels_burst(patients):
    plan = SMOKE.override(baselines={"epochs": 6})
    fitted = METHODS["seegformer"].fit(Training(patients[:4], patients[4:5], 0, plan))
    for patient in patients[4:]:
        p_nez, is_ez = fitted.predict([patient])["p_nez"], patient["is_ez"].values
        assert p_nez[is_ez].max() < p_nez[~is_ez].min()


def test_the_notes_say_what_it_is_and_what_it_was_given(fitted):
    notes = json.loads(json.dumps(fitted.notes))
    assert notes["parameters"] == 329670
    assert notes["architecture"]["layers"]["head"] == [64, 32, 1]
    assert notes["audit"]["patients"]["sub-1"] == {
        "center": "Center 1",
        "modality": "SEEG",
        "seizures": 2,
        "windows": 10,
        "channels": 5,
        "ez_channels": 2,
    }
    # sub-0, sub-2 and sub-4: 4, 6 and 5 channels, one seizure and one EZ channel each
    sums = {"patients": 3, "seizures": 3, "windows": 15, "channels": 15, "ez_channels": 3}
    assert notes["audit"]["centers"]["Center 0"] == sums
    assert notes["audit"]["modalities"]["ECoG"]["channels"] == 5
    # EZ and NEZ windows × channels: 5 × (1 + 1 + 1) + 10 × (2 + 2), 5 × (3 + 5 + 4) + 10 × (3 + 2)
    assert notes["pos_weight"] == pytest.approx(55 / 110)
    assert set(notes["inner_folds"]) == {f"sub-{i}" for i in range(5)}
