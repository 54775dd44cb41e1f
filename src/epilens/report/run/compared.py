"""Two methods of one run, patient by patient: effect, interval, and a figure."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from epilens.analyses.columns import heading
from epilens.analyses.tables import title_of
from epilens.core.console import print_table, say
from epilens.core.errors import LedgerError, did_you_mean
from epilens.evaluation.resampling import INTERVALS, compare_scores, patient_means
from epilens.evaluation.run import Run
from epilens.evaluation.scoring import METRICS
from epilens.io.atomic import check_own_file, write_bytes_atomically
from epilens.methods import METHODS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIGN = "EpiLENS"
"""In every figure of ours: other files are not overwritten."""
USUAL = ("macro_f1", "ez_f1", "auroc", "ez_auprc", "ndcg_ez")
"""Metrics that are compared by default; the first is drawn patient by patient."""


@dataclass(frozen=True)
class Compared:
    """Method `a` minus method `b` on the same patients of a run."""

    run: Run
    a: str
    b: str
    table: pd.DataFrame
    """A row per metric: means of both, estimate, 95 % interval, patients, who is better in how
    many."""
    differences: pd.DataFrame
    """A row per patient: center, and a - b of each metric, seeds averaged."""

    @property
    def outcomes(self) -> list[str]:
        """One sentence per metric, which claims no more than its interval supports."""
        return [self._outcome(row) for row in self.table.to_dict("records")]

    def _outcome(self, row: dict) -> str:
        name = heading(row["metric"])
        if row["low"] <= 0 <= row["high"]:
            return f"{name}: no clear difference, the interval includes zero"
        return f"{name}: {self.a if row['estimate'] > 0 else self.b} is better"


def compare_methods(run: Run, a: str, b: str, metrics: Sequence[str] = ()) -> Compared:
    """Paired patient bootstrap of two methods of a run, for each metric."""
    metrics = tuple(dict.fromkeys(metrics)) or USUAL
    _check(run, a, b, metrics)
    rows, differences = [], {}
    for metric in metrics:
        first, second = (patient_means(run.scores, name, metric) for name in (a, b))
        result = asdict(compare_scores(run.scores, a, b, metric))
        apart = differences[metric] = (first - second).dropna()
        means = {"mean_a": first[apart.index].mean(), "mean_b": second[apart.index].mean()}
        counts = {"better": int((apart > 0).sum()), "worse": int((apart < 0).sum())}
        rows.append({"metric": metric} | means | result | counts)
    by_patient = pd.DataFrame(differences).rename_axis("patient").reset_index()
    by_patient.insert(1, "center", by_patient["patient"].map(run.centers))
    return Compared(run, a, b, pd.DataFrame(rows), by_patient)


def _check(run: Run, a: str, b: str, metrics: Sequence[str]) -> None:
    """Refuse methods and metrics that cannot be compared, with a hint."""
    if a == b:
        raise LedgerError(f"compare: expected two methods, found {a!r} twice. Name another one.")
    for metric in metrics:
        if metric not in METRICS:
            raise LedgerError(
                f"compare: expected a metric, found {metric!r}. {did_you_mean(metric, METRICS)}"
            )
    if missing := [name for name in (a, b) if name not in run.methods]:
        raise LedgerError(
            f"compare: expected {' and '.join(missing)} in {run.folder}, found "
            f"{len(run.methods)} other methods. {did_you_mean(missing[0], run.methods)}"
            f"{_how_to_add(run, missing)}"
        )


def _how_to_add(run: Run, missing: Sequence[str]) -> str:
    """The command that adds methods to a run; empty if one of them is not a method."""
    if any(name not in METHODS for name in missing):
        return ""
    only = " ".join(f"--only {name}" for name in missing)
    return (
        f" Or add it with `epilens run {run.folder}/plan.toml --cubes CUBES --out "
        f"{run.folder.parent} {only}`."
    )


def print_compared(compared: Compared) -> None:
    """The table on stdout; conclusions and caveats on stderr."""
    rows = [
        [
            heading(row["metric"]),
            f"{row['estimate']:+.4f}",
            f"{row['low']:+.4f} to {row['high']:+.4f}",
            row["patients"],
            f"{row['mean_a']:.4f}",
            f"{row['mean_b']:.4f}",
            row["better"],
            row["worse"],
        ]
        for row in compared.table.to_dict("records")
    ]
    a, b = compared.a, compared.b
    print_table(
        f"{a} − {b}: paired over patients, seeds averaged first",
        ["Metric", "Difference", "95 % interval", "Patients", a, b, "Better in", "Worse in"],
        rows,
        drop=("Worse in", "Better in", b, a),
    )
    for outcome in compared.outcomes:
        say(outcome)
    kinds = dict.fromkeys(compared.table["interval"])
    say(f"95 % interval: {'; '.join(INTERVALS[kind] for kind in kinds)}")
    if len(rows) > 1:
        say(f"{len(rows)} intervals, not corrected for multiple comparisons")
    for caveat in compared.run.caveats:
        say(caveat)


def figure_of_compared(compared: Compared) -> Figure:
    """Effect of each metric with its interval; then the first metric, patient by patient."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.5, 4.0), layout="constrained")
    FigureCanvasAgg(figure)
    effects, patients = figure.subplots(1, 2, width_ratios=(2, 3))
    draw_effects(compared, effects)
    draw_patients(compared, patients)
    for ax in (effects, patients):
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(labelsize=8)
    titles = f"{title_of(compared.a)} − {title_of(compared.b)}"
    figure.suptitle(titles, fontsize=10, parse_math=False)
    note = " ".join(compared.run.caveats)
    figure.supxlabel(note, fontsize=7, color="0.3", x=0.01, ha="left", wrap=True)
    return figure


def draw_effects(compared: Compared, ax: Axes) -> None:
    """Mean paired differences with their 95 % intervals, one line per metric."""
    table, places = compared.table, np.arange(len(compared.table))[::-1]
    middle = table["estimate"]
    bars = [middle - table["low"], table["high"] - middle]
    ax.errorbar(middle, places, xerr=bars, fmt="o", color="black", ms=5, lw=1.2, capsize=3)
    ax.axvline(0, color="0.3", lw=0.8, ls=":")
    ax.set_yticks(places, [heading(metric) for metric in table["metric"]])
    ax.set_ylim(-0.6, len(table) - 0.4)
    kinds = " or ".join(dict.fromkeys(table["interval"])).replace("percentile", "bootstrap")
    ax.set_xlabel(f"mean difference, 95 % {kinds} interval", fontsize=8)


def draw_patients(compared: Compared, ax: Axes) -> None:
    """The first metric's difference of each patient, sorted; one marker per center."""
    from matplotlib.ticker import MaxNLocator

    metric = str(compared.table["metric"].iloc[0])
    rows = compared.differences.dropna(subset=[metric]).sort_values(metric, ignore_index=True)
    row = compared.table.iloc[0]
    ax.axhspan(row["low"], row["high"], color="0.9", lw=0, label="95 % interval of the mean")
    ax.axhline(row["estimate"], color="0.4", lw=1, label="mean")
    ax.axhline(0, color="0.3", lw=0.8, ls=":")
    colours = ("#000000", "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9")
    for i, (center, part) in enumerate(rows.groupby("center", sort=True)):
        style: dict[str, Any] = {"marker": "oD^sPv"[i % 6], "color": colours[i % 6]}
        # `$` in a center's name is not mathematics.
        name = str(center).replace("$", r"\$")
        ax.plot(part.index + 1, part[metric], ls="none", ms=4, label=name, **style)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel(f"{len(rows)} patients, sorted", fontsize=8)
    ax.set_ylabel(f"difference in {heading(metric)}", fontsize=8)
    ax.legend(fontsize=7, frameon=False, loc="upper left")


def save_figure(compared: Compared, path: str | Path) -> Path:
    """Write the figure: PNG or SVG, as the file's name says."""
    path, content = check_figure(path), io.BytesIO()
    kind = path.suffix.lower().removeprefix(".")
    stamp = {"png": {"Software": _SIGN}, "svg": {"Creator": _SIGN, "Date": None}}[kind]
    figure_of_compared(compared).savefig(content, format=kind, dpi=150, metadata=stamp)
    return write_bytes_atomically(path, content.getvalue())


def check_figure(path: str | Path) -> Path:
    """Refuse a name that no figure can have, before anything is computed."""
    path = Path(path)
    if path.suffix.lower() not in (".png", ".svg"):
        raise LedgerError(
            f"compare: expected a file that ends with .png or .svg for --figure, found {path}. "
            "Give e.g. compared.png."
        )
    return check_own_file(path, _SIGN)
