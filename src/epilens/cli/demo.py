"""The demo: the whole workflow on a simulated cohort, for users without data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd

from epilens.core.console import progress, say
from epilens.data.bids import read_cohort
from epilens.data.cohort import cohort_summary
from epilens.evaluation.protocol import run
from epilens.evaluation.run import open_run
from epilens.evaluation.scoring import summarise as summarise_scores
from epilens.evaluation.train import train
from epilens.evidence.files import Cohort, open_cohort
from epilens.evidence.store import describe_cohort
from epilens.io.atomic import load_json
from epilens.io.outputs import claim_output
from epilens.methods import stores_of
from epilens.networks.model import save_model
from epilens.plan import SHAFT, Plan, Runtime
from epilens.report.cohort import print_cohort
from epilens.report.figures import evidence_figure, save_png
from epilens.report.localize import localize
from epilens.report.page import write_report
from epilens.report.reproduction import reproduce
from epilens.report.scores import print_scores
from epilens.simulation import simulate

SHAPE, SEED = "demo", 0


def run_demo(out: Path, jobs: int) -> Path:
    """Simulate and describe (unless done), show the cohort and a first picture."""
    cohort = claim_output(out, "a demo") / "cohort"
    if _made_before(cohort):
        say(f"using the simulated cohort in {cohort}")
    else:
        with progress("simulating a four-center cohort") as tick:
            simulate(cohort, SHAPE, SEED, jobs, tick)
    parts = read_cohort(cohort, "simulated")
    print_cohort(cohort_summary(parts))
    cubes, plan = out / "cubes", Plan.load("demo")
    with progress("describing its seizures") as tick:
        describe_cohort(parts, cubes, plan, jobs, stores_of(plan.methods), tick)
    described = open_cohort(cubes)
    picture = _picture(described, out / "evidence.png")
    say(f"first picture: {picture}")
    runtime = Runtime(out=out / "runs", jobs=jobs)
    folder = _scores(plan, described, runtime)
    page = _page(folder, plan, described, runtime, out / "reproduction")
    say(f"every table and figure of the paper, for this cohort: {page}")
    page = _localize_one(plan, described, cohort, out, jobs)
    say(f"one new patient, localized by a model that never saw it: {page}")
    return out


def _localize_one(plan: Plan, described: Cohort, cohort: Path, out: Path, jobs: int) -> Path:
    """Train on all patients but one, and localize that one from its files."""
    patient = _chosen(described)
    others = Cohort({name: described.path(name) for name in described if name != patient})
    folder = out / "model"
    if not folder.exists():  # a demo that is run again keeps its model
        with progress("training a model") as tick:
            save_model(train(plan, others, tick, jobs=jobs), folder)
    say(f"to be localized: {patient}, the first by name with a resection and two seizures")
    (files,) = cohort.glob(f"*/{patient}")
    others_to_show = ["line-length-spread", "epileptogenicity-index", "fragility"]
    with progress("localizing") as tick:
        localized = localize(files, folder, resected="labels", compare=others_to_show, tick=tick)
    return write_report(localized, out / "localized")


def _page(folder: Path, plan: Plan, cohort: Cohort, runtime: Runtime, out: Path) -> Path:
    """Leave one center out as well, then all analyses on one page."""
    apart = plan.override(
        name="demo-loco",
        splits={"kind": "leave-one-center-out"},
        methods=("rbf-svm", "logistic-z", "lens", "prq", "bcr", "cdel"),
    )
    with progress("leaving one center out") as tick:
        loco = run(apart, cohort, replace(runtime, tick=tick))
    with progress("tables and figures") as tick:
        return reproduce(open_run(folder, loco=loco), out, tick)


def _scores(plan: Plan, cohort: Cohort, runtime: Runtime) -> Path:
    """Cross-validate every method that needs no weights with the demo's plan; show the table."""
    with progress("training, method × seed × fold") as tick:
        folder = run(plan, cohort, replace(runtime, tick=tick))
    finished = open_run(folder)
    scores = finished.scores
    # Ablations have their own tables; smoothed methods are next to theirs.
    main = scores[~scores["method"].str.removesuffix(SHAFT).str.contains("/")]
    table = summarise_scores(main)
    print_scores(table, finished.caveats)
    say(_ranks_of_lens_and_cdel(table, plan))
    return folder


def _ranks_of_lens_and_cdel(table: pd.DataFrame, plan: Plan) -> str:
    """Where lens and CDEL are in the table, and why."""
    order = table.sort_values("auroc", ascending=False)["method"].tolist()
    auroc = table.set_index("method")["auroc"]
    lens, cdel = (f"{auroc[m]:.3f} (place {order.index(m) + 1})" for m in ("lens", "cdel"))
    return (
        f"AUROC of {len(order)} methods: lens {lens}, CDEL {cdel}. CDEL's networks are trained for "
        f"{plan.training.epochs} epochs on a few patients here, to show that they work; lens has "
        "one weight per term and needs fewer patients."
    )


def _chosen(cohort: Cohort) -> str:
    """The first patient by name whose dataset states a resection, with two or more seizures."""
    for name, cube in cohort.items():
        if cube.sizes["seizure"] > 1 and "is_resected" in cube and cube["is_resected"].any():
            return name
    return next(iter(cohort))


def _picture(cohort: Cohort, path: Path) -> Path:
    """Z-Δ of two descriptors in the first seizure of one patient, channels × time, EZ marked."""
    figure = evidence_figure(cohort[_chosen(cohort)], ("line_length", "log_high_gamma_power"))
    return save_png(figure, path)


def _made_before(cohort: Path) -> bool:
    marker = cohort / "simulation.json"
    return marker.exists() and load_json(marker) == {"shape": SHAPE, "seed": SEED}
