"""Settings of all networks, with the paper's values as defaults; they are known without torch.

Those of PRQ-Net and BCR-Net are checked, because model.json contains them.
"""

from __future__ import annotations

import dataclasses
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, StrictBool, model_validator
from pydantic.dataclasses import dataclass

from epilens.networks.loop import Extension

_CHECKED = ConfigDict(extra="forbid", allow_inf_nan=False)
# No network of ours is near the limits.
_Size = Annotated[int, Field(strict=True, ge=1, le=1024)]
_Number = Annotated[float, Field(strict=True)]
_Share = Annotated[float, Field(strict=True, ge=0, le=1)]


@dataclass(frozen=True, config=_CHECKED)
class EncoderSpec:
    """Sizes of the encoder, and what an ablation changes in it."""

    features: Annotated[int, Field(strict=True, ge=1, le=4096)] = 36
    """Views × descriptors of the fit patients; 36 for the paper's nine descriptors."""
    D: _Size = 32
    heads: _Size = 2
    dropout: Annotated[float, Field(strict=True, ge=0, lt=1)] = 0.4
    relative: StrictBool = True
    """PRZ across the patient's channels; off in the ablation w/o Pat.-Rel."""
    projection: StrictBool = False
    """LN → Linear → GELU → dropout before PRZ, as the authors' released code has it."""

    @model_validator(mode="after")
    def _heads_divide(self) -> EncoderSpec:
        if self.D % self.heads:
            raise ValueError("D must be a multiple of heads")
        return self

    @property
    def context(self) -> int:
        """Features of a channel after pooling."""
        return self.D if self.projection else 2 * self.D


@dataclass(frozen=True, config=_CHECKED)
class PRQSpec:
    """PRQ-Net's settings; an ablation changes one of them."""

    encoder: EncoderSpec = EncoderSpec()
    residual: StrictBool = True
    """The lower-tail residual; off in `Base`."""
    quantile: _Share = 0.10
    aggregate: Literal["quantile", "mean"] = "quantile"
    """How the scores of seizures become one: the quantile, or their mean (`+ Temporal`)."""


@dataclass(frozen=True, config=_CHECKED)
class BCRSpec:
    """BCR-Net's settings; an ablation changes one of them."""

    encoder: EncoderSpec = EncoderSpec()
    boundary: _Number = 0.05
    coverage: _Number = 0.08
    quantile_head: StrictBool = False
    """The Q10 control as released: the EZ logit is the lower tail over seizures, alone."""
    quantile_residual: StrictBool = False
    """The Q10 control's other reading: the lower tail is added to the EZ logit of the context."""
    quantile: _Share = 0.10


SPECS: dict[str, type[PRQSpec | BCRSpec]] = {"prq": PRQSpec, "bcr": BCRSpec}
"""Settings by method; the class that opens another package's part of a model checks its own."""


@dataclasses.dataclass(frozen=True)
class SEEGNetSpec:
    """Sizes of SEEGNet's layers, and how fast they learn."""

    scales: tuple[tuple[int, int], ...] = ((51, 4), (17, 2), (3, 1))
    """Kernel and stride of each branch, the coarsest first."""
    width: int = 24
    mixed: int = 96
    dropout: float = 0.5
    steps: int = 32
    hidden: int = 64
    rate: float = 1e-3


@dataclasses.dataclass(frozen=True)
class TimeConvSpec:
    """TimeConv-CNN's image, the new layers before the ResNet, and how fast both learn."""

    n_fft: int = 128
    hop: int = 20
    widths: tuple[int, int] = (16, 32)
    kernel: int = 3
    rate: float = 1e-3
    pretrained_rate: float = 1e-4


@dataclasses.dataclass(frozen=True)
class ClapSpec:
    """CLAP's mel maps, and how fast the head and the pretrained audio branch learn."""

    mels: int = 64
    n_fft: int = 256
    hop: int = 20
    low_hz: float = 0
    high_hz: float = 100
    rate: float = 1e-3
    pretrained_rate: float = 1e-5


@dataclasses.dataclass(frozen=True)
class SegmentTraining:
    """How a network on segments is trained; epochs are the plan's."""

    batch: int
    extension: Extension | None = None
    weight_decay: float = 1e-4
    clip_norm: float = 1.0
    patience: int = 6
    least_epochs: int = 6


@dataclasses.dataclass(frozen=True)
class SEEGformerSpec:
    """SEEGformer's spectra and the sizes of its layers."""

    low_hz: float = 0.5
    high_hz: float = 80.0
    width: int = 64
    heads: int = 4
    blocks: int = 2
    mlp_ratio: int = 2
    dropout: float = 0.2


@dataclasses.dataclass(frozen=True)
class WindowTraining:
    """How SEEGformer is trained; epochs are the plan's."""

    rate: float = 5e-4
    weight_decay: float = 1e-4
    clip_norm: float = 1.0
    batch: int = 8
    together: int = 2
    """Batches of one step."""
    patience: int = 6
