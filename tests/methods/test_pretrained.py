"""TimeConv-CNN and CLAP start from a local checkpoint in the true format, or not at all."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
import torch
from safetensors.torch import load, save

from epilens.core.errors import MethodError
from epilens.core.provenance import resolve
from epilens.evidence.cube import blind
from epilens.methods import METHODS, Training
from epilens.plan import Plan
from epilens.testing import make_patient

transformers = pytest.importorskip("transformers")

from epilens.networks.raw import clap, timeconv  # noqa: E402

FOLDERS = {"timeconv-cnn": "resnet-18", "clap": "clap-htsat-fused"}
REPOSITORIES = {"timeconv-cnn": "microsoft/resnet-18", "clap": "laion/clap-htsat-fused"}
BOTH = sorted(FOLDERS)


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory):
    """The two checkpoints with other sizes and random weights, as their makers save them."""
    folder = tmp_path_factory.mktemp("pretrained")
    with torch.random.fork_rng():
        torch.manual_seed(0)
        resnet = transformers.ResNetConfig(
            embedding_size=4, hidden_sizes=[4, 4, 6, 8], depths=[1] * 4, layer_type="basic"
        )
        resnet = transformers.ResNetForImageClassification(resnet)
        text = {"vocab_size": 20, "hidden_size": 8, "num_hidden_layers": 1, "intermediate_size": 8}
        text |= {"num_attention_heads": 2, "max_position_embeddings": 12}
        audio = {"spec_size": 64, "window_size": 4, "patch_embeds_hidden_size": 8}
        audio |= {"hidden_size": 16, "depths": [1, 1], "num_attention_heads": [2, 2]}
        audio |= {"enable_fusion": True, "fusion_type": "aff_2d", "num_hidden_layers": 2}
        both = transformers.ClapConfig(text_config=text, audio_config=audio, projection_dim=6)
        both = transformers.ClapModel(both)
    resnet.save_pretrained(folder / "resnet-18")
    both.save_pretrained(folder / "clap-htsat-fused")
    return folder


@pytest.fixture(scope="module")
def patients():
    return [
        make_patient(f"sub-{i}", seizures=1 + i % 2, seed=10 * i, fs=220.0, channels=4, ez=1)
        for i in range(3)
    ]


def plan_of(folder):
    return Plan(smoke=True).override(baselines={"epochs": 1, "pretrained": str(folder)})


@pytest.fixture(scope="module")
def fitted(patients, checkpoints):
    plan = plan_of(checkpoints)
    return {n: METHODS[n].fit(Training(patients[:2], patients[2:], 0, plan)) for n in BOTH}


def network_of(name, checkpoints):
    settings = METHODS[name].settings
    folder = checkpoints / settings.pretrained
    return resolve(settings.network).start(settings.layers, folder, plan_of(checkpoints).traces)


@pytest.mark.parametrize("name", BOTH)
def test_the_row_says_what_it_needs(name):
    method = METHODS[name]
    assert method.requires == ("torch", "transformers")
    assert method.pretrained == FOLDERS[name]
    assert (method.input, method.sections) == ("traces", ("baselines", "traces"))


def test_the_resnet_starts_from_the_checkpoint(checkpoints):
    network = network_of("timeconv-cnn", checkpoints)
    saved = load((checkpoints / "resnet-18" / "model.safetensors").read_bytes())
    ours = network.backbone.state_dict()
    first = "embedder.embedder.convolution.weight"
    for key in sorted(ours.keys() - {first}):
        torch.testing.assert_close(ours[key], saved[f"resnet.{key}"], rtol=0, atol=0)
    kernel = saved[f"resnet.{first}"]  # (4, 3, 7, 7)
    assert ours[first].shape == (4, 32, 7, 7)
    for channel in range(32):
        mean = (kernel[:, 0] + kernel[:, 1] + kernel[:, 2]) / 3
        torch.testing.assert_close(ours[first][:, channel], mean)
    assert network.head.in_features == 8


def test_the_audio_branch_starts_from_the_checkpoint(checkpoints):
    network = network_of("clap", checkpoints)
    saved = load((checkpoints / "clap-htsat-fused" / "model.safetensors").read_bytes())
    ours = network.audio.state_dict()
    assert {key.split(".")[0] for key in ours} == {"audio_model", "audio_projection"}
    for key, value in ours.items():
        torch.testing.assert_close(value, saved[key], rtol=0, atol=0)
    assert network.head.in_features == 6


def test_timeconv_has_the_layers_of_the_appendix():
    resnet = transformers.ResNetConfig(
        embedding_size=64, hidden_sizes=[64, 128, 256, 512], depths=[2] * 4, layer_type="basic"
    )
    with torch.device("meta"):
        network = timeconv.TimeConv(transformers.ResNetModel(resnet))
    assert [tuple(p.shape) for p in network.stem.parameters()] == [
        (16, 1, 3, 3),
        (16,),
        (32, 16, 3, 3),
        (32,),
    ]
    assert tuple(network.head.weight.shape) == (1, 512)
    resnet_18 = 11_689_512 - (512 * 1000 + 1000)  # as published, without its classifier
    wider = (32 - 3) * 64 * 7 * 7
    new = 16 * 9 + 16 + 32 * 16 * 9 + 32 + 512 + 1
    assert sum(p.numel() for p in network.parameters()) == resnet_18 + wider + new


def test_the_image_is_a_standardized_log_magnitude_stft(checkpoints):
    network = network_of("timeconv-cnn", checkpoints)
    x = np.random.default_rng(0).normal(size=(2, 800))
    ours = network.image(torch.from_numpy(x))
    assert ours.shape == (2, 1, 65, 41)
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(128) / 128)
    padded = np.pad(x, ((0, 0), (64, 64)), mode="reflect")
    frames = np.stack([padded[:, 20 * t : 20 * t + 128] * hann for t in range(41)], -1)
    v = np.log(abs(np.fft.rfft(frames, axis=1)) + 1e-6)
    v = (v - v.mean((1, 2), keepdims=True)) / v.std((1, 2), keepdims=True)
    np.testing.assert_allclose(ours[:, 0], v, rtol=0, atol=1e-3)
    assert float(network.image(torch.zeros(1, 800)).abs().max()) < 1e-4  # a flat trace, no NaN


def test_the_mel_maps_are_those_of_the_stated_settings():
    extractor = clap.mel_extractor(Plan().traces)
    assert extractor.sampling_rate == 200
    assert (extractor.fft_window_size, extractor.hop_length) == (256, 20)
    assert (extractor.frequency_min, extractor.frequency_max) == (0, 100)
    assert extractor.mel_filters.shape == (129, 64)
    assert (extractor.mel_filters.sum(0) > 0).all()


def test_a_segment_s_map_does_not_depend_on_the_others_nor_on_chance(checkpoints):
    network = network_of("clap", checkpoints)
    x = np.random.default_rng(0).normal(size=(600, 800)).astype(np.float32)
    state = np.random.get_state()  # noqa: NPY002
    together, alone = network.prepare(x), network.prepare(x[599:])
    np.testing.assert_equal(np.random.get_state(), state)  # noqa: NPY002
    assert together.shape == (600, 1, 41, 64)
    assert together.dtype == torch.float32
    torch.testing.assert_close(together[599:], alone, rtol=0, atol=0)
    network.eval()
    with torch.no_grad():
        torch.testing.assert_close(network(together[598:])[1:], network(alone))


def test_no_segment_is_longer_than_the_clip(checkpoints):
    """The extractor itself would declare one of a batch, drawn at random, longer."""
    network = network_of("clap", checkpoints).eval()
    x = np.random.default_rng(0).normal(size=(2, 800)).astype(np.float32)
    told = network.extractor(list(x), max_length=800, sampling_rate=200)
    four = torch.from_numpy(np.stack(told["input_features"])).float()
    assert four.shape == (2, 4, 41, 64)
    with torch.no_grad():
        ours = network(network.prepare(x))
        for longer in (False, True):
            theirs = network.audio(four, is_longer=torch.full((2, 1), longer)).audio_embeds
            assert torch.allclose(network.head(theirs)[:, 0], ours, atol=1e-6) != longer


def test_maps_are_computed_once_for_all_epochs(checkpoints, patients, monkeypatch):
    seen, prepare = [], clap.Clap.prepare

    def spy(self, x):
        seen.append(len(x))
        return prepare(self, x)

    monkeypatch.setattr(clap.Clap, "prepare", spy)
    plan = plan_of(checkpoints).override(baselines={"epochs": 2})
    METHODS["clap"].fit(Training(patients[:2], patients[2:], 0, plan))
    assert seen == [4 * 15, 4 * 5]


@pytest.mark.parametrize(
    ("name", "pretrained", "slow"), [("timeconv-cnn", "backbone", 1e-4), ("clap", "audio", 1e-5)]
)
def test_pretrained_parts_learn_more_slowly(name, pretrained, slow, checkpoints):
    network = network_of(name, checkpoints)
    rate = {id(p): group["lr"] for group in network.groups() for p in group["params"]}
    for key, parameter in network.named_parameters():
        assert rate[id(parameter)] == (slow if key.startswith(pretrained) else 1e-3), key


@pytest.mark.parametrize("name", BOTH)
def test_one_epoch_moves_the_pretrained_part(name, checkpoints, fitted):
    fresh, weights = network_of(name, checkpoints), fitted[name].weights()
    part = {"timeconv-cnn": "backbone.encoder.", "clap": "audio.audio_projection."}[name]
    moved = [k for k, v in fresh.named_parameters() if not torch.equal(v, weights[k])]
    assert [k for k in moved if k.startswith(part)]
    assert set(weights) == set(fresh.state_dict())
    assert fitted[name].history["epoch"].tolist() == [1]


@pytest.mark.parametrize("name", BOTH)
def test_a_fit_keeps_the_contract(name, patients, checkpoints, fitted):
    plan = plan_of(checkpoints)
    state = torch.get_rng_state()
    once = fitted[name].predict(patients)
    again = METHODS[name].fit(Training(patients[:2], patients[2:], 0, plan)).predict(patients)
    assert torch.equal(torch.get_rng_state(), state)
    assert again.equals(once)
    assert once["p_nez"].between(0, 1).all()
    assert fitted[name].predict([blind(p) for p in patients]).equals(once)
    other = METHODS[name].fit(Training(patients[:2], patients[2:], 1, plan)).predict(patients)
    assert not other.equals(once)
    turned = fitted[name].predict([patients[1].isel(channel=[2, 0, 3, 1])])
    turned = turned.set_index("channel")["p_nez"][["A1", "A2", "A3", "A4"]]
    mine = once.loc[once["patient"] == "sub-1", "p_nez"]
    np.testing.assert_allclose(turned, mine, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", BOTH)
def test_the_notes_say_where_the_weights_are_from(name, fitted):
    told = json.loads(json.dumps(fitted[name].notes))["pretrained"]
    assert told["repository"] == REPOSITORIES[name]
    assert len(told["sha256"]) == 64


@pytest.mark.parametrize("name", BOTH)
def test_a_missing_folder_is_refused_with_what_to_get(name, patients, tmp_path):
    wanted = (
        f"{FOLDERS[name]}: expected pretrained weights, found no config.json and no "
        f"model.safetensors. Get config.json and model.safetensors of the Hugging Face repository "
        f"{REPOSITORIES[name]} and put them into .*{FOLDERS[name]}"
    )
    with pytest.raises(MethodError, match=wanted):
        METHODS[name].fit(Training(patients[:2], patients[2:], 0, plan_of(tmp_path)))


def damaged(checkpoints, tmp_path, name):
    """A copy of one checkpoint to spoil."""
    place = tmp_path / FOLDERS[name]
    shutil.copytree(checkpoints / FOLDERS[name], place)
    return place, place / "model.safetensors"


@pytest.mark.parametrize("name", BOTH)
def test_a_pickle_is_not_read(name, patients, checkpoints, tmp_path):
    place, weights = damaged(checkpoints, tmp_path, name)
    torch.save(load(weights.read_bytes()), place / "pytorch_model.bin")
    weights.unlink()
    with pytest.raises(MethodError, match=r"no model.safetensors \(pytorch_model.bin is not read"):
        METHODS[name].fit(Training(patients[:2], patients[2:], 0, plan_of(tmp_path)))


def test_a_pickle_under_another_name_is_not_read(patients, checkpoints, tmp_path):
    _, weights = damaged(checkpoints, tmp_path, "timeconv-cnn")
    torch.save(load(weights.read_bytes()), weights)
    with pytest.raises(MethodError, match="expected safetensors, found another kind of file"):
        METHODS["timeconv-cnn"].fit(Training(patients[:2], patients[2:], 0, plan_of(tmp_path)))


@pytest.mark.parametrize(
    ("name", "lost"),
    [
        ("timeconv-cnn", "resnet.encoder.stages.0.layers.0.layer.0.convolution.weight"),
        ("timeconv-cnn", "resnet.embedder.embedder.normalization.running_mean"),
        ("clap", "audio_projection.linear1.weight"),
    ],
)
def test_a_random_start_is_refused(name, lost, patients, checkpoints, tmp_path):
    _, weights = damaged(checkpoints, tmp_path, name)
    tensors = load(weights.read_bytes())
    del tensors[lost]
    weights.write_bytes(save(tensors, {"format": "pt"}))
    wanted = (
        f"expected all weights of .*, found 1 of .* missing, e.g. {lost.removeprefix('resnet.')}"
    )
    with pytest.raises(MethodError, match=wanted):
        METHODS[name].fit(Training(patients[:2], patients[2:], 0, plan_of(tmp_path)))


@pytest.mark.parametrize("change", [{"hidden_sizes": [4, 4, 6, 10]}, "not JSON"])
def test_files_that_do_not_belong_together_are_refused(change, patients, checkpoints, tmp_path):
    place, _ = damaged(checkpoints, tmp_path, "timeconv-cnn")
    config = json.loads((place / "config.json").read_text())
    text = change if isinstance(change, str) else json.dumps(config | change)
    (place / "config.json").write_text(text)
    with pytest.raises(MethodError, match="found files that do not fit ResNetModel"):
        METHODS["timeconv-cnn"].fit(Training(patients[:2], patients[2:], 0, plan_of(tmp_path)))


def test_the_unfused_clap_is_refused(patients, checkpoints, tmp_path):
    place, _ = damaged(checkpoints, tmp_path, "clap")
    config = json.loads((place / "config.json").read_text())
    config["audio_config"]["enable_fusion"] = False
    (place / "config.json").write_text(json.dumps(config))
    with pytest.raises(MethodError, match="expected the fused CLAP, found one without fusion"):
        METHODS["clap"].fit(Training(patients[:2], patients[2:], 0, plan_of(tmp_path)))


def test_loading_leaves_the_log_level_alone_and_says_nothing(checkpoints, capfd):
    from transformers.utils import logging

    before = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_info()
    logging.enable_progress_bar()
    network_of("clap", checkpoints)
    after = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity(before[0])
    assert after == (logging.INFO, True)
    assert capfd.readouterr() == ("", "")
