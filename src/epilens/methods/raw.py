"""SEEGNet, TimeConv-CNN and CLAP: raw-iEEG baselines that score one segment of one channel.

A channel's score is the mean over its segments. Better is an epoch whose channels' scores reach a
strictly larger (Macro-F1, EZ-F1, balanced accuracy) at their own best threshold, as for the
networks of the paper.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from epilens.core.decisions import select_threshold
from epilens.core.provenance import resolve
from epilens.core.types import Floats
from epilens.methods import Method, Scorer, Training
from epilens.methods.segments import PatientSegments, with_segments, without_segments
from epilens.networks.loop import Extension, Reached
from epilens.networks.specs import ClapSpec, SEEGNetSpec, SegmentTraining, TimeConvSpec


@dataclass(frozen=True)
class SingleChannel:
    """A network on segments, and how it is trained; epochs are the plan's."""

    network: str
    """Class of the network, as `module:class`: an
    `epilens.networks.raw.segments.SegmentNetwork`."""
    layers: Any
    """Its sizes and learning rates."""
    training: SegmentTraining
    pretrained: str = ""
    """Folder of the weights that it starts from."""


def fit_single_channel(settings: SingleChannel, training: Training) -> Scorer:
    """Train on the segments of fit patients; keep the epoch that validation patients prefer."""
    from epilens.networks.raw import segments as net
    from epilens.networks.raw import steps

    with_segments(training.validation, "validation")  # all of them choose, some must have one
    fit = PatientSegments.of(with_segments(training.fit))
    validation = PatientSegments.of(training.validation)
    truth, is_ez = validation.labels(), fit.ez_of_segments()
    plan, epochs = training.plan, training.plan.baselines.epochs

    def judge(p_nez: Floats) -> tuple[float, Reached]:
        return select_threshold(validation.channel_means(p_nez), truth)

    setup = net.SegmentTrainingSetup(fit.x, is_ez, validation.x, judge, training.seed)
    with steps.seeded(training.seed):
        network = resolve(settings.network).start(
            settings.layers, Path(plan.baselines.pretrained) / settings.pretrained, plan.traces
        )
        history = net.fit_segments(network, setup, settings.training, epochs)

    lost = without_segments([*training.fit, *training.validation])

    def p_nez(patient: xr.Dataset) -> Floats:
        lost.update(without_segments([patient]))
        segments = PatientSegments.of([patient])
        some = len(segments.x) > 0
        p = net.p_nez(network, network.prepare(segments.x)) if some else np.empty(0)
        return segments.channel_means(p)[0]

    notes = {
        "without_segments": lost,  # those of patients that are predicted are added
        "segments": {"ez": int(is_ez.sum()), "nez": int((~is_ez).sum())},
        "pos_weight": steps.nez_weight(is_ez),
        "epochs": {"scheduled": epochs, "run": len(history)},
        "smoke": plan.smoke,
    }
    about = steps.about(network) | network.provenance
    return Scorer(p_nez, history, notes=notes | about, tensors=steps.tensors(network))


def _row(name: str, title: str, settings: SingleChannel) -> Method:
    return Method(
        name=name,
        title=title,
        input="traces",
        reference="the paper",
        fitter=fit_single_channel,
        settings=settings,
        sections=("baselines", "traces"),
        requires=("torch", "transformers") if settings.pretrained else ("torch",),
        pretrained=settings.pretrained,
    )


ENTRIES = (
    _row(
        "clap",
        "CLAP",
        SingleChannel(
            "epilens.networks.raw.clap:Clap", ClapSpec(), SegmentTraining(8), "clap-htsat-fused"
        ),
    ),
    _row(
        "seegnet",
        "SEEGNet",
        SingleChannel(
            "epilens.networks.raw.seegnet:SEEGNet",
            SEEGNetSpec(),
            SegmentTraining(128, Extension()),
        ),
    ),
    _row(
        "timeconv-cnn",
        "TimeConv-CNN",
        SingleChannel(
            "epilens.networks.raw.timeconv:TimeConv",
            TimeConvSpec(),
            SegmentTraining(128),
            "resnet-18",
        ),
    ),
)
