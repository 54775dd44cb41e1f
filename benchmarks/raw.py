"""The raw-iEEG baselines at the paper's budget on the demo shape, as far as the time allows.

`python -m benchmarks.raw FOLDER [--minutes N]`; the folder keeps cohort, cubes and cells, so
another call goes on where the last one stopped. TimeConv-CNN and CLAP have the true architectures
with weights drawn at random here, because the published ones cannot be had offline: their rows show
that they run and what they cost, not how well they localize.
"""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from benchmarks.learning import simulated_cubes
from epilens.evaluation.scoring import score
from epilens.methods import stores_of
from epilens.plan import Plan

METHODS = ("seegnet", "seegformer", "timeconv-cnn", "clap")
SHARES = {"seegnet": 0.4, "seegformer": 0.25, "timeconv-cnn": 0.2, "clap": 0.15}
"""Share of the time that each method gets."""


def random_checkpoints(folder: Path) -> None:
    """ResNet-18 and CLAP's audio branch in their published sizes, with random weights."""
    import transformers

    with torch.random.fork_rng():
        torch.manual_seed(0)
        resnet = transformers.ResNetConfig(
            embedding_size=64,
            hidden_sizes=[64, 128, 256, 512],
            depths=[2, 2, 2, 2],
            layer_type="basic",
        )
        transformers.ResNetForImageClassification(resnet).save_pretrained(folder / "resnet-18")
        audio = {"enable_fusion": True, "fusion_type": "aff_2d"}
        text = {"vocab_size": 20, "hidden_size": 8, "num_hidden_layers": 1, "intermediate_size": 8}
        text |= {"num_attention_heads": 2, "max_position_embeddings": 12}
        clap = transformers.ClapConfig(text_config=text, audio_config=audio)
        transformers.ClapModel(clap).save_pretrained(folder / "clap-htsat-fused")


def prepare(folder: Path) -> Plan:
    """Cohort, cubes and checkpoints, unless they are there."""
    plan = Plan(name="raw-budget", methods=METHODS).override(
        baselines={"pretrained": str(folder / "pretrained")}
    )
    if not (folder / "pretrained" / "clap-htsat-fused" / "model.safetensors").exists():
        random_checkpoints(folder / "pretrained")
    simulated_cubes(folder, plan, seed=0, stores=stores_of(METHODS))
    (folder / "plan.toml").write_text(plan.to_toml(), encoding="utf-8")
    return plan


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--minutes", type=float, default=60.0)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    prepare(given.folder)
    for method in METHODS:
        _run_for(given.folder, method, 60 * given.minutes * SHARES[method])
    report(given.folder)
    return 0


def _run_for(folder: Path, method: str, seconds: float) -> None:
    """Cells of one method until the time is up; a cell that is cut off is done again next time."""
    command = [sys.executable, "-m", "epilens", "run", str(folder / "plan.toml")]
    command += ["--cubes", str(folder / "cubes"), "--out", str(folder), "--only", method]
    began = time.monotonic()
    with contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(command, timeout=seconds, check=False)
    print(f"{method}: {(time.monotonic() - began) / 60:.1f} min", flush=True)


def report(folder: Path) -> None:
    """Cells that are done, with the minutes between one and the next, and what they score."""
    cells = {
        method: sorted(
            (folder / "raw-budget" / "cells" / method).glob("*/ledger.parquet"),
            key=lambda path: path.stat().st_mtime,
        )
        for method in METHODS
    }
    plan = Plan.load(folder / "plan.toml")
    asked = plan.splits.folds * len(plan.seeds)
    for method, ledgers in cells.items():
        line = f"{method:<14} {len(ledgers):>2} of {asked} cells"
        if len(ledgers) > 1:
            ends = [path.stat().st_mtime for path in ledgers]
            line += f", {np.median(np.diff(ends)) / 60:.1f} min each (median)"
        if ledgers:
            scores = score(pd.concat([pd.read_parquet(path) for path in ledgers]))
            means = scores[["macro_f1", "auroc", "ez_auprc"]].mean()
            line += ", " + ", ".join(f"{name} {value:.3f}" for name, value in means.items())
        print(line)


if __name__ == "__main__":
    sys.exit(main())
