"""The demo: the whole workflow on a simulated cohort, for users without data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from epilens.core.console import print_table, progress, say
from epilens.data.bids import read_cohort, survey_cohort
from epilens.data.cohort import cohort_summary
from epilens.data.user_files import read_table
from epilens.evaluation.protocol import run
from epilens.evaluation.resampling import compare_scores, patient_means
from epilens.evaluation.run import Run, open_run
from epilens.evaluation.scoring import ranking_metrics, score
from epilens.evaluation.scoring import summarise as summarise_scores
from epilens.evaluation.train import train
from epilens.evidence.contact_features import features_shown
from epilens.evidence.files import Cohort, open_cohort, open_patient
from epilens.evidence.store import describe_cohort
from epilens.io.atomic import load_json
from epilens.io.outputs import claim_output
from epilens.localization import DEFAULT
from epilens.methods import stores_of
from epilens.networks.model import open_model, save_model
from epilens.plan import SHAFT, Plan, Runtime
from epilens.report.cohort import print_cohort
from epilens.report.patient.localize import localize
from epilens.report.patient.page import write_report
from epilens.report.run.figures import evidence_figure, save_png
from epilens.report.run.reproduction import reproduce
from epilens.report.run.scores import print_scores
from epilens.simulation import simulate, simulation_facts

SHAPE, SEED = "demo", 0
SHOWN = "lens"
"""The method whose median and worst patients are shown, and which the model is made of."""
_FIRST = f"the first one in EDF on whom the shipped model {DEFAULT} does not abstain"
"""Rule by which the patient of the first page is chosen."""
SHIPPED = f"model {DEFAULT}"
"""Name of the shipped model in the table."""
FEW_PATIENTS = (
    "The paper's networks (prq, bcr, cdel) have its training budget, which is small: with so few "
    "patients they barely learn. On 80 simulated patients CDEL reaches AUROC 0.75 (documentation: "
    "Results)."
)


def run_demo(out: Path, jobs: int, all_methods: bool = False) -> dict[Path, str]:
    """Simulate (unless done), localize a patient with the shipped model, then compare methods.

    Returns what was made for people, with what it shows.

    all_methods : every method, shortened where it takes long, and one center left out at a time.
    """
    cohort = claim_output(out, "a demo") / "cohort"
    facts = cohort / "simulation.json"
    if facts.exists() and load_json(facts) == simulation_facts(SHAPE, SEED):
        say(f"using the simulated cohort in {cohort}")
    else:
        with progress("simulating a four-center cohort") as tick:
            simulate(cohort, SHAPE, SEED, jobs, tick)
    zones = onset_zones(cohort)
    first = _first_page(cohort, zones, out / "first")
    say(f"first page, {_FIRST}: {first}")
    parts = read_cohort(cohort, "simulated")
    cubes, plan = out / "cubes", Plan.load("demo-all" if all_methods else "demo")
    with progress("describing its seizures") as tick:
        describe_cohort(parts, cubes, plan, jobs, stores_of(plan.methods), tick)
    described = open_cohort(cubes)
    print_cohort(cohort_summary(survey_cohort(cohort, "simulated")))
    picture = _picture(described, out / "evidence.png")
    say(f"first picture: {picture}")
    runtime = Runtime(out=out / "runs", jobs=jobs)
    folder = _scores(plan, described, runtime, zones)
    loco = _leave_center_out(plan, described, runtime) if all_methods else None
    with progress("tables and figures") as tick:
        page = reproduce(open_run(folder, loco=loco), out / "reproduction", tick)
    say(f"tables and figures of the paper, for this cohort: {page}")
    two = _localize_two(open_run(folder), described, cohort, out, jobs)
    say(shipped_summary(described, zones))
    return {
        first: f"a patient, {_FIRST}",
        picture: "two descriptors of all contacts in one seizure",
        page: "tables and figures of the paper, for this cohort",
        **two,
    }


def _first_page(cohort: Path, zones: Mapping[str, frozenset[str]], out: Path) -> Path:
    """Localize with the shipped model; the patient is the first one that `_FIRST` describes."""
    paths = sorted(cohort.glob("*/sub-*/**/*.edf"))
    in_edf = dict.fromkeys(next(f for f in path.parents if f.name in zones) for path in paths)
    for files in in_edf:
        with progress(f"localizing {files.name}") as tick:
            localized = localize(files, tick=tick)
        if not localized.certainty.abstains:
            break
    return write_report(localized.with_zones({"true onset zone": zones[files.name]}), out)


def onset_zones(cohort: Path) -> dict[str, frozenset[str]]:
    """Patient → channels of the true onset zone, which only a simulation knows."""
    paths = sorted(cohort.glob("*/derivatives/simulation-truth/truth.tsv"))
    truth = pd.concat([read_table(path) for path in paths])
    onset = truth["channel"].where(truth["is_onset"] == "1")
    return {str(p): frozenset(part.dropna()) for p, part in onset.groupby(truth["patient"])}


def _localize_two(
    finished: Run, described: Cohort, cohort: Path, out: Path, jobs: int
) -> dict[Path, str]:
    """Localize the median and the worst held-out patient by a model of the others."""
    chosen = median_and_worst(patient_means(finished.scores, SHOWN, "auroc"))
    others = Cohort({n: described.path(n) for n in described if n not in chosen.values()})
    folder = out / "model"
    if not folder.exists():  # a demo that is run again keeps its model
        with progress("training a model") as tick:
            save_model(train(finished.plan, others, tick, jobs=jobs), folder)
    zones, rows, pages = onset_zones(cohort), [], {}
    compared = ["line-length-spread", "epileptogenicity-index"]
    for which, patient in chosen.items():
        (files,) = cohort.glob(f"*/{patient}")
        with progress(f"localizing {patient}") as tick:
            localized = localize(files, folder, compare=compared, tick=tick)
        known = {"true onset zone": zones[patient], "annotated EZ": _annotated(described[patient])}
        localized = localized.with_zones(known)
        page = write_report(localized, out / "localized")
        pages[page] = f"the {which} held-out patient by AUROC of {SHOWN}"
        say(f"{pages[page]}, {patient}: {page}")
        for zone in localized.zones:
            counts = [zone.members.sum(), f"{zone.hits} of {zone.k}", f"{zone.by_chance:.1f}"]
            rows.append([f"{which}: {patient}", zone.title, *counts])
    columns = ["Patient", "Compared with", "Contacts in it", "Of the top contacts", "By chance"]
    title = "Two patients, localized by a model that was trained on the others"
    print_table(title, columns, rows, left=2)
    return pages


def _annotated(cube: xr.Dataset) -> frozenset[str]:
    """Channels of the annotated EZ."""
    return frozenset(map(str, cube["channel"].values[cube["is_ez"].values]))


def _shipped_predictions(described: Cohort) -> Iterator[tuple[str, pd.DataFrame]]:
    """Patient, and the shipped model's predictions, of patients that have contact features."""
    model = open_model(DEFAULT)
    cell = {"method": SHIPPED, "seed": 0, "fold": "none", "partition": "test"}
    for name in described:
        patient = open_patient(described.path(name), "features")
        if features_shown(patient).any():
            about = cell | {"patient": name, "center": patient.attrs["center"]}
            yield name, model.predict(patient).assign(threshold=model.threshold, **about)


def shipped_scores(described: Cohort) -> pd.DataFrame:
    """Scores of the shipped model against the annotated EZ; none unless it ranks every patient.

    It was trained on other, recorded patients, so all of these are held out.
    """
    parts = [
        predicted.assign(is_ez=predicted["channel"].isin(_annotated(described[name])))
        for name, predicted in _shipped_predictions(described)
    ]
    return score(pd.concat(parts)) if len(parts) == len(described) else pd.DataFrame()


def shipped_summary(described: Cohort, zones: Mapping[str, frozenset[str]]) -> str:
    """How the shipped model ranks the simulated patients, against the true onset zone."""
    reached = []
    for name, predicted in _shipped_predictions(described):
        is_onset = predicted["channel"].isin(zones[name]).to_numpy()
        if 0 < is_onset.sum() < len(is_onset):
            reached.append(ranking_metrics(predicted["p_nez"].to_numpy(), is_onset))
    auroc, top = ([metrics[name] for metrics in reached] for name in ("auroc", "top1_ez"))
    return (
        f"The shipped model {DEFAULT}, trained on recorded patients, ranks these {len(reached)} "
        f"simulated patients with AUROC {np.mean(auroc):.3f} against the true onset zone. Its top "
        f"contact is in the zone in {sum(top):.0f} of them. This is a test of the simulation, not "
        "of the model."
    )


def median_and_worst(aurocs: pd.Series) -> dict[str, str]:
    """The patients with the median and the lowest AUROC; of equal ones, the first by name."""
    order = aurocs.dropna().sort_index().sort_values(kind="stable").index.tolist()
    return {"median": str(order[len(order) // 2]), "worst": str(order[0])}


def _leave_center_out(plan: Plan, cohort: Cohort, runtime: Runtime) -> Path:
    """Cross-validate some methods with one center left out at a time."""
    apart = plan.override(
        name="demo-loco",
        splits={"kind": "leave-one-center-out"},
        methods=("rbf-svm", "logistic-z", "lens", "prq", "bcr", "cdel"),
    )
    with progress("leaving one center out") as tick:
        return run(apart, cohort, replace(runtime, tick=tick))


def _scores(
    plan: Plan, cohort: Cohort, runtime: Runtime, zones: Mapping[str, frozenset[str]]
) -> Path:
    """Cross-validate the plan's methods; show the table, in which the shipped model is too."""
    with progress("training, method × seed × fold") as tick:
        folder = run(plan, cohort, replace(runtime, tick=tick))
    finished = open_run(folder)
    scores = finished.scores
    # Ablations have their own tables; smoothed methods are next to theirs.
    main = scores[~scores["method"].str.removesuffix(SHAFT).str.contains("/")]
    main = pd.concat([main, shipped_scores(cohort)], ignore_index=True)
    table = summarise_scores(main)
    below = beyond_chance(main, table)
    say(_summary(table, below, _true_auroc(finished.ledger, zones)))
    print_scores(table, finished.caveats, below)
    say(FEW_PATIENTS)
    return folder


def beyond_chance(scores: pd.DataFrame, table: pd.DataFrame) -> frozenset[str]:
    """Methods whose AUROC is below the best one's by more than chance explains.

    Paired bootstrap over patients, corrected for the number of comparisons (Bonferroni).
    """
    best = str(table.loc[table["auroc"].idxmax(), "method"])
    others = [m for m in table["method"] if m != best]
    below = {m: compare_scores(scores, best, m, "auroc").below_zero for m in others}
    return frozenset(m for m, share in below.items() if share < 0.025 / len(others))


def _true_auroc(ledger: pd.DataFrame, zones: Mapping[str, frozenset[str]]) -> float:
    """AUROC of the method that is shown against the true onset zone, mean over patients."""
    test = ledger[(ledger["partition"] == "test") & (ledger["method"] == SHOWN)]
    is_onset = [c in zones[p] for p, c in zip(test["patient"], test["channel"], strict=True)]
    return float(score(test.assign(is_ez=is_onset))["auroc"].mean())


def _summary(table: pd.DataFrame, below: frozenset[str], true_auroc: float) -> str:
    """What was found, in plain words."""
    auroc = table.set_index("method")["auroc"]
    undecided = len(auroc) - 1 - len(below)
    return (
        f"In simulated patients that were held out, {SHOWN} ranked an annotated EZ contact above "
        f"another contact in {100 * auroc[SHOWN]:.0f} % of pairs, and a contact of the true onset "
        f"zone in {100 * true_auroc:.0f} % (by chance: 50 %). The best AUROC is that of "
        f"{auroc.idxmax()}; for {undecided} of the other {len(auroc) - 1} methods the difference "
        "from it could be chance. Nothing here is clinical evidence."
    )


def _picture(cohort: Cohort, path: Path) -> Path:
    """Z-Δ of two descriptors in the first seizure of one patient, channels × time, EZ marked.

    The first patient by name whose dataset states a resection, with two or more seizures.
    """
    several = (cube for cube in cohort.values() if cube.sizes["seizure"] > 1)
    resected = (cube for cube in several if "is_resected" in cube and cube["is_resected"].any())
    cube = next(chain(resected, cohort.values()))
    return save_png(evidence_figure(cube, ("line_length", "log_high_gamma_power")), path)
