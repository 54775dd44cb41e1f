"""CLAP: a segment as if it were sound, read by the audio branch of LAION's fused CLAP."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from epilens.core.errors import MethodError
from epilens.networks.raw.pretrained import load_pretrained
from epilens.networks.raw.segments import SegmentNetwork
from epilens.networks.specs import ClapSpec
from epilens.plan import TracePlan

REPOSITORY = "laion/clap-htsat-fused"
VIEWS = 4
"""Mel maps that the fused model is given: the whole clip and, for a longer one, three parts."""


class Clap(SegmentNetwork):
    """One segment of one channel → one logit.

    `audio` is a `ClapAudioModelWithProjection`: encoder and projection are all that is loaded, so
    the text branch and the temperature, which no logit depends on, stay as they are.
    """

    def __init__(
        self,
        audio: Any,
        extractor: Any,
        provenance: Mapping[str, Any] | None = None,
        spec: ClapSpec | None = None,
    ):
        spec = spec or ClapSpec()
        super().__init__(spec.rate, provenance)
        self.spec = spec
        self.audio, self.extractor = audio, extractor
        self.head = nn.Linear(audio.config.projection_dim, 1)

    @classmethod
    def start(cls, spec: ClapSpec, folder: Path, traces: TracePlan) -> Self:
        """Start from LAION's weights, with the feature extractor set to these traces."""
        audio, provenance = load_pretrained("ClapAudioModelWithProjection", folder, REPOSITORY)
        if not audio.config.enable_fusion:
            raise MethodError(
                f"{folder}: expected the fused CLAP, found one without fusion. Get the files of "
                f"the Hugging Face repository {REPOSITORY}."
            )
        return cls(audio, mel_extractor(traces, spec), provenance, spec)

    def groups(self) -> list[dict[str, Any]]:
        """The head learns faster than the pretrained audio branch."""
        slow = {"params": self.audio.parameters(), "lr": self.spec.pretrained_rate}
        return [{"params": self.head.parameters(), "lr": self.rate}, slow]

    def prepare(self, x: NDArray[np.float32]) -> Tensor:
        """Log-mel maps (N, 1, time, mel); the fused model's four views of a segment are equal."""
        maps = []
        with _numpy_state():
            for part in np.array_split(x, max(1, len(x) // 256)):
                features = self.extractor(
                    list(part), max_length=x.shape[1], sampling_rate=self.extractor.sampling_rate
                )["input_features"]
                maps.append(np.stack([m[:1] for m in features]).astype(np.float32))
        return torch.from_numpy(np.concatenate(maps))

    def forward(self, mel: Tensor) -> Tensor:
        """Mel : (N, 1, time, mel). Returns (N,)."""
        # The extractor calls one clip of a batch longer at random; none is.
        longer = torch.zeros(len(mel), 1, dtype=torch.bool, device=mel.device)
        views = mel.expand(-1, VIEWS, -1, -1)
        return self.head(self.audio(views, is_longer=longer).audio_embeds).squeeze(-1)


def mel_extractor(traces: TracePlan, spec: ClapSpec | None = None) -> Any:
    """CLAP's feature extractor, set to these traces."""
    from transformers import ClapFeatureExtractor

    spec = spec or ClapSpec()
    return ClapFeatureExtractor(
        feature_size=spec.mels,
        sampling_rate=round(traces.rate_hz),
        hop_length=spec.hop,
        fft_window_size=spec.n_fft,
        frequency_min=spec.low_hz,
        frequency_max=spec.high_hz,
        truncation="fusion",
    )


@contextmanager
def _numpy_state() -> Generator[None]:
    """The extractor draws from numpy's global generator; the state outside is untouched."""
    state = np.random.get_state()  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(state)  # noqa: NPY002
