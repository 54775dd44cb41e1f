"""`python -m benchmarks kills [SECONDS]`: kills commands at random moments, and compares bytes.

Each of describe, run and train works on a small simulated cohort. It is started, killed (SIGKILL,
with all its processes) at a random moment of its usual time, up to three times in a row, and then
run to its end. What is there then must be byte for byte what it is without a kill, and nothing
hidden may be left. The rounds go on until the seconds (180) are over, at most 400 of them.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.timing import row
from epilens.plan import Plan
from epilens.simulation import simulate
from epilens.testing import make_cohort

MOST_ROUNDS = 400
UNLIKE = {"times.tsv", "cohort.json"}
"""What a cell cost and how many cubes were kept differ from run to run."""


def measure(seconds: str = "180") -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        commands = prepare(place)
        expected, usual_s = {}, {}
        for verb, command in commands.items():
            began = time.monotonic()
            subprocess.run(command, check=True, capture_output=True)
            usual_s[verb] = time.monotonic() - began
            expected[verb] = contents(place / "out" / verb)
        counts = {verb: dict.fromkeys(("kills", "wrong", "left", "bytes"), 0) for verb in commands}
        draw, last = random.Random(0), time.monotonic() + float(seconds)
        for number in range(MOST_ROUNDS):
            if time.monotonic() > last:
                break
            verb = list(commands)[number % len(commands)]
            shutil.rmtree(place / "out" / verb)
            count = counts[verb]
            for _ in range(draw.randint(1, 3)):
                took_s = kill(commands[verb], draw.uniform(0.1, 1.0) * usual_s[verb])
                count["kills"] += took_s is None
                if took_s is not None:  # the machine is less busy than it was
                    usual_s[verb] = took_s
                    break
            subprocess.run(commands[verb], check=False, capture_output=True)
            found = contents(place / "out" / verb)
            count["bytes"] += sum(map(len, found.values()))
            count["wrong"] += found != expected[verb]
            count["left"] += sum(".epilens-" in name for name in names(place / "out" / verb))
    return [line for verb, count in counts.items() for line in rows(verb, count)]


def prepare(place: Path) -> dict[str, list[str]]:
    """The commands, each of which writes below out/VERB."""
    simulate(place / "cohort", "tiny", seed=0, jobs=2)
    make_cohort(place / "cubes", patients=8)
    plan = Plan(name="small", seeds=(1, 2), methods=("line-length-change", "lens", "prq")).override(
        splits={"folds": 2}, training={"epochs": 2, "least_epochs": 1}
    )
    (place / "plan.toml").write_text(plan.to_toml(), encoding="utf-8")
    cubes, out = ["--cubes", str(place / "cubes")], place / "out"
    base = [sys.executable, "-m", "epilens"]
    centers = [str(place / "cohort" / name) for name in ("north", "south")]
    return {
        "describe": [*base, "describe", *centers, "--out", str(out / "describe" / "cubes")],
        "run": [*base, "run", str(place / "plan.toml"), *cubes, "--out", str(out / "run")],
        "train": [
            *[*base, "train", str(place / "plan.toml"), *cubes, "--jobs", "2"],
            *["--out", str(out / "train" / "model")],
        ],
    }


def kill(command: list[str], after_s: float) -> float | None:
    """Start the command and kill it with all its processes; its seconds, if it was faster."""
    quiet, began = subprocess.DEVNULL, time.monotonic()
    process = subprocess.Popen(command, stdout=quiet, stderr=quiet, start_new_session=True)
    try:
        process.wait(after_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return None
    return time.monotonic() - began


def names(folder: Path) -> list[str]:
    return [str(p.relative_to(folder)) for p in folder.rglob("*")]


def contents(folder: Path) -> dict[str, bytes]:
    files = (p for p in sorted(folder.rglob("*")) if p.is_file() and p.name not in UNLIKE)
    return {str(p.relative_to(folder)): p.read_bytes() for p in files}


def rows(verb: str, count: dict[str, int]) -> list[dict[str, Any]]:
    return [
        row(f"{verb}: killed at a random moment, then run again", count["kills"], "kills"),
        row(f"{verb}: bytes compared", count["bytes"] / 1e6, "MB"),
        row(f"{verb}: results that differ", count["wrong"], "", most=0),
        row(f"{verb}: hidden files left", count["left"], "", most=0),
    ]
