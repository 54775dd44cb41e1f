"""Columns of an analysis: what each contains and how people read it.

Frames follow one convention, which `analyse` documents: `x_sd` is the SD of `x` over seeds and
`paper_x` is the paper's value of `x`. Only this module reads names; all others use `Column`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import pandas as pd

PAPER, SD = "paper_", "_sd"
DIGITS = ".4f"

HEADINGS: Mapping[str, str] = {
    "macro_f1": "Macro-F1",
    "ez_f1": "EZ-F1",
    "nez_f1": "NEZ-F1",
    "accuracy": "Acc.",
    "balanced_accuracy": "Bal. acc.",
    "auroc": "AUROC",
    "ez_auprc": "EZ-AUPRC",
    "ndcg_ez": "NDCG-EZ",
    "mrr_ez": "MRR-EZ",
    "recall_at_k": "Recall@true-K",
    "top1_ez": "Top-1 EZ rate",
    "ez_fraction_bias": "EZ-frac. bias",
    "ez_percent": "EZ (%)",
    "nez_percent": "NEZ (%)",
    "ez_recall": "EZ recall",
    "ez_recall_gain": "EZ recall beyond PRQ-Net's",
    "ez_channels": "EZ channels",
    "without_ez": "Patients without EZ here",
    "percent": "Hardest channels (%)",
    "seconds_a_cell": "Seconds per cell",
    "input_gain": "Gain of the input alone",
    "gap": "Minus CDEL",
    "gap_low": "from",
    "gap_high": "to",
    "below_zero": "Draws below zero",
    "null_mean": "Shuffled, mean",
    "null_highest": "Shuffled, highest",
    "macro_f1_lowest": "Lowest seed",
    "macro_f1_highest": "Highest seed",
    "estimate": "Difference",
    "low": "Bootstrap, low",
    "high": "Bootstrap, high",
    "t_low": "t interval, low",
    "t_high": "t interval, high",
    "weight": "λ",
    "p": "p",
    "title": "Method",
    "brier": "Brier score",
    **{f"ez_of_{20 * i}_{20 * i + 20}": f"EZ of {20 * i}-{20 * i + 20} %" for i in range(5)},
}
"""Names of columns and metrics in print."""

CONTENTS: Mapping[str, str] = {"method": "method", "a": "method", "b": "method", "metric": "metric"}
"""Columns whose values are names of methods or metrics."""


@dataclass(frozen=True)
class Column:
    """One quantity of a table, with its SD and the paper's value of it."""

    name: str
    """Name of the column in the frame."""
    title: str
    """Heading of the column in print."""
    format: str = DIGITS
    contains: str = "value"
    """`value`, or the kind of name that its cells are: `method`, `metric`."""
    higher_is_better: bool = False
    sd: str = ""
    """Column of the SD over seeds; empty: there is none."""
    sd_format: str = DIGITS
    paper: Column | None = None
    """The paper's value of the same quantity."""
    from_paper: bool = False


def heading(name: str) -> str:
    """Return the heading of a column or metric.

    Examples
    --------
    >>> heading("macro_f1"), heading("test_patients")
    ('Macro-F1', 'Test patients')
    """
    words = name.replace("_", " ")
    return HEADINGS.get(name, words[:1].upper() + words[1:])


def columns_of(
    frame: pd.DataFrame, formats: Mapping[str, str], higher: Collection[str] = ()
) -> list[Column]:
    """The quantities of a frame in order; SDs and the paper's values belong to theirs.

    Examples
    --------
    >>> frame = pd.DataFrame({"bias": [0.1], "bias_sd": [0.01], "paper_bias": [0.2]})
    >>> (bias,) = columns_of(frame, {"bias": "+.2f"})
    >>> bias.title, bias.format, bias.sd, bias.sd_format, bias.paper.title
    ('Bias', '+.2f', 'bias_sd', '.2f', 'paper: Bias')
    """
    names = list(frame.columns)
    attached = {part for name in names for part in (name + SD, PAPER + name, PAPER + name + SD)}
    return [_column(name, names, formats, higher) for name in names if name not in attached]


def _column(
    name: str, names: Collection[str], formats: Mapping[str, str], higher: Collection[str]
) -> Column:
    quantity = name.removeprefix(PAPER)
    from_paper = quantity != name
    spec = formats.get(quantity, DIGITS)
    paper = PAPER + name
    return Column(
        name,
        f"paper: {heading(quantity)}" if from_paper else heading(quantity),
        spec,
        contains=CONTENTS.get(name, "value"),
        higher_is_better=name in higher,
        sd=name + SD if name + SD in names else "",
        sd_format=formats.get(quantity + SD, spec.removeprefix("+")),
        paper=_column(paper, names, formats, ()) if paper in names else None,
        from_paper=from_paper,
    )


def with_paper(own: list[str], paper: list[str]) -> list[str]:
    """Names in order: each of the paper's after the column, and its SD, that it belongs to."""
    order: list[str] = []
    for name in own:
        order.append(name)
        if name + SD not in own:
            base = PAPER + name.removesuffix(SD)
            order += [other for other in (base, base + SD) if other in paper]
    return order + [name for name in paper if name not in order]
