"""Numbers of the tables against scores taken apart by hand."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import statistics_by_hand as hand

from epilens.analyses import analyse, main, run_analysis
from epilens.evaluation import resampling
from epilens.evaluation.resampling import compare
from epilens.evaluation.scoring import score, summarise
from epilens.evidence.files import open_cohort


def by_hand(scores, method, metric, **where):
    """Mean and SD over seeds of patient-equal means, by loops."""
    rows = scores[scores["method"] == method]
    for name, value in where.items():
        rows = rows[rows[name] == value]
    per_seed = []
    for seed in sorted(set(rows["seed"])):
        values = rows.loc[rows["seed"] == seed, metric].dropna().tolist()
        per_seed.append(hand.mean(values))
    middle = hand.mean(per_seed)
    variance = sum((value - middle) ** 2 for value in per_seed) / (len(per_seed) - 1)
    return middle, variance**0.5


@pytest.mark.parametrize(
    ("name", "metrics"),
    [
        ("main", ("macro_f1", "ez_f1", "nez_f1", "accuracy", "auroc")),
        ("ablation", ("macro_f1", "accuracy", "auroc")),
        ("ranking", ("mrr_ez", "recall_at_k", "top1_ez", "ez_auprc", "ndcg_ez")),
    ],
)
def test_means_and_sds_are_over_patients_then_seeds(name, metrics, full):
    frame = analyse(name, full).set_index("method")
    for method in frame.index:
        for metric in metrics:
            mean, sd = by_hand(full.scores, method, metric)
            assert frame.loc[method, metric] == pytest.approx(mean, abs=1e-12)
            assert frame.loc[method, f"{metric}_sd"] == pytest.approx(sd, abs=1e-12)


def test_the_main_table_has_the_paper_s_order_and_no_variants(full):
    frame = analyse("main", full)
    assert frame["method"].tolist() == [
        *("logistic", "rbf-svm", "logistic-z", "timeconv-cnn", "epileptogenicity-index"),
        *("prq", "bcr", "cdel"),
    ]
    bias = summarise(full.scores).set_index("method")["ez_fraction_bias"]
    assert frame["ez_fraction_bias"].tolist() == bias[frame["method"]].tolist()
    assert frame.set_index("method").loc["epileptogenicity-index", "input"] == "Raw iEEG"


def test_the_verdict_on_the_main_table_compares_the_papers_methods(full):
    scores = full.scores.copy()
    scores.loc[scores["method"] == "epileptogenicity-index", list(main.CLAIMED)] = 0.99
    best = SimpleNamespace(methods=full.methods, scores=scores)
    ours, usual = main.compute(best), main.compute(full)
    assert ours.outcome is usual.outcome
    assert all(c.b in set(main.PAPER["method"]) for c in ours.comparisons)
    assert "of 7 methods of the paper" in str(ours.verdict)
    index = "Epileptogenicity Index, which is not in the paper, is higher (0.990)"
    assert str(ours.verdict).lower().count(index.lower()) == 3


def test_quantiles_are_in_order(full):
    frame = analyse("quantile", full)
    assert frame["quantile"].tolist() == [0.05, 0.10, 0.20]
    for name, row in zip(("prq/q05", "prq", "prq/q20"), frame["ez_f1"], strict=True):
        assert row == pytest.approx(by_hand(full.scores, name, "ez_f1")[0])


def test_the_full_objective_is_cdel_itself(full):
    frame = analyse("objective-variants", full).set_index(["variant", "seed"])["macro_f1"]
    cdel = full.scores[full.scores["method"] == "cdel"]
    for seed in (1, 2):
        expected = cdel.loc[cdel["seed"] == seed, "macro_f1"].mean()
        assert frame["PRQ + BCR-Full", str(seed)] == pytest.approx(expected, abs=1e-12)
    for variant in ("PRQ + BCR-Full", "PRQ + BCR-Boundary"):
        parts = [frame[variant, seed] for seed in ("1", "2")]
        assert frame[variant, "mean"] == pytest.approx(hand.mean(parts))


def test_the_sweep_has_prq_bcr_and_cdel_at_their_weights(full):
    frame = analyse("fusion-sweep", full).set_index("weight")
    assert frame.index.tolist() == [0, 0.05, 0.1, 0.2, 0.5, 1]
    for weight, method in ((0.0, "prq"), (0.2, "cdel"), (1.0, "bcr")):
        mean, sd = by_hand(full.scores, method, "macro_f1")
        assert frame.loc[weight, "macro_f1"] == pytest.approx(mean, abs=1e-12)
        assert frame.loc[weight, "macro_f1_sd"] == pytest.approx(sd, abs=1e-12)
    assert (frame["macro_f1_lowest"] <= frame["macro_f1"]).all()
    assert (frame["macro_f1"] <= frame["macro_f1_highest"]).all()


def test_seeds_are_listed_one_by_one(full):
    frame = analyse("per-seed", full)
    assert frame[["seed", "method"]].to_numpy().tolist() == [
        [seed, method] for seed in (1, 2) for method in ("prq", "bcr", "cdel")
    ]
    one = full.scores[(full.scores["seed"] == 2) & (full.scores["method"] == "bcr")]
    assert frame["macro_f1"].iloc[4] == pytest.approx(one["macro_f1"].mean())
    bias = (one["called_ez"].sum() - one["ez_channels"].sum()) / one["channels"].sum()
    assert frame["ez_fraction_bias"].iloc[4] == pytest.approx(bias)


def test_the_bootstrap_is_that_of_the_public_function(full, monkeypatch):
    monkeypatch.setattr(resampling, "SMALL", 0)  # percentiles, as for a cohort of the paper's size
    frame = analyse("bootstrap", full).set_index("metric")
    for metric in frame.index:
        found = compare(full.ledger, "cdel", "prq", metric)
        assert frame.loc[metric, ["estimate", "low", "high"]].tolist() == [
            found.estimate,
            found.low,
            found.high,
        ]


def test_the_permutation_table_sums_up_its_null(full):
    result = run_analysis("permutation", full)
    for row in result.frame.itertuples():
        null = result.figure.loc[result.figure["metric"] == row.metric, "null"].tolist()
        assert len(null) == row.permutations == 1000
        assert row.null_mean == pytest.approx(hand.mean(null))
        assert row.p == pytest.approx(hand.corrected_p(row.observed - 1e-12, null))


def test_hard_channels_are_those_by_hand(full):
    frame = analyse("hard-channels", full).set_index(["percent", "method"])
    test = full.ledger[full.ledger["partition"] == "test"]
    found = {}
    for (seed, _), part in test.groupby(["seed", "patient"]):
        models = {m: part[part["method"] == m] for m in ("prq", "bcr", "cdel")}
        prq = models["prq"]
        for percent in (10, 20, 30):
            places = hand.hardest(
                prq["channel"].tolist(), prq["p_nez"].tolist(), prq["threshold"].iloc[0], percent
            )
            chosen = set(prq["channel"].iloc[places])
            for method, rows in models.items():
                rows = rows[rows["channel"].isin(chosen)]
                values = hand.f1_and_recall(
                    rows["p_nez"].tolist(),
                    rows["is_ez"].tolist(),
                    rows["threshold"].iloc[0],
                    range(len(rows)),
                )
                found.setdefault((percent, method), {}).setdefault(seed, []).append(values)
    for key, seeds in found.items():
        for place, metric in enumerate(("ez_f1", "ez_recall")):
            means = [hand.mean([v[place] for v in values]) for values in seeds.values()]
            assert frame.loc[key, metric] == pytest.approx(hand.mean(means), abs=1e-12)
            assert frame.loc[key, f"{metric}_sd"] == pytest.approx(np.std(means, ddof=1))
    gain = frame.loc[(20, "cdel"), "ez_recall"] - frame.loc[(20, "prq"), "ez_recall"]
    assert frame.loc[(20, "cdel"), "ez_recall_gain"] == pytest.approx(gain)


def test_loco_has_every_center_their_mean_and_the_worst(full):
    frame = analyse("loco", full).set_index(["method", "center"])["macro_f1"]
    scores = score(full.loco_run.ledger)
    for method in ("rbf-svm", "timeconv-cnn", "logistic-z", "prq", "bcr", "cdel"):
        means = [
            by_hand(scores, method, "macro_f1", center=center)[0]
            for center in ("Center 1", "Center 2")
        ]
        assert frame[method, "Center 1"] == pytest.approx(means[0])
        assert frame[method, "center mean"] == pytest.approx(hand.mean(means))
        assert frame[method, "worst center"] == pytest.approx(min(means))


def test_loco_intervals_are_those_of_all_resamples(full):
    frame = analyse("loco-bootstrap", full).set_index(["center", "method"])
    scores = full.loco_run.scores
    rows = scores[(scores["center"] == "Center 2") & (scores["method"] == "cdel")]
    values = [part["macro_f1"].mean() for _, part in rows.groupby("patient")]
    exact = hand.all_resample_means(values)
    row = frame.loc[("Center 2", "cdel")]
    assert row["macro_f1"] == pytest.approx(hand.mean(values))
    assert row["low"] == pytest.approx(hand.quantile(exact, 0.025), abs=0.03)
    assert row["high"] == pytest.approx(hand.quantile(exact, 0.975), abs=0.03)
    assert row["patients"] == len(values)


def test_the_best_method_of_each_center_is_marked(full):
    frame = analyse("centers", full)
    assert frame["method"].unique().tolist() == [
        *("rbf-svm", "timeconv-cnn", "logistic-z", "prq", "bcr", "cdel")
    ]
    for _, part in frame.groupby("center"):
        assert part.loc[part["best"], "macro_f1"].tolist() == [part["macro_f1"].max()]
    mean, _ = by_hand(full.scores, "prq", "macro_f1", center="Center 1")
    row = frame[(frame["center"] == "Center 1") & (frame["method"] == "prq")].iloc[0]
    assert row["macro_f1"] == pytest.approx(mean)


def test_the_cohort_is_counted(full, cubes):
    frame = analyse("cohort", full).set_index("center")
    cohort = open_cohort(cubes)
    channels = {
        name: cube["valid"].any(["seizure", "window"]).values for name, cube in cohort.items()
    }
    total = frame.loc["Total"]
    assert total["patients"] == len(cohort)
    assert total["seizures"] == sum(cube.sizes["seizure"] for cube in cohort.values())
    assert total["channels"] == sum(seen.sum() for seen in channels.values())
    ez = sum((cube["is_ez"].values & channels[name]).sum() for name, cube in cohort.items())
    assert total["ez_percent"] == pytest.approx(100 * ez / total["channels"])
    assert total["ez_percent"] + total["nez_percent"] == pytest.approx(100)
    assert total["paper_channels"] == 7635
    centers = frame.drop(index="Total")
    assert (
        centers[["patients", "seizures", "channels"]].sum().tolist()
        == total[["patients", "seizures", "channels"]].astype(int).tolist()
    )


def test_demographics_table_what_is_known(full):
    frame = analyse("demographics", full)
    assert frame["patient"].tolist()[:2] == ["sub-01", "sub-03"], "by center, then by name"
    assert {"modality", "seizures", "ez_percent", "paper_age"} <= set(frame)
    assert "age" not in frame, "no cube knows an age"


def test_richer_inputs_are_measured_from_cdel(full):
    frame = analyse("rich-inputs", full).set_index("method")
    assert frame.index.tolist() == ["rich/hfo", "rich/graph-residual", "logistic-z", "cdel"]
    cdel, hfo = (by_hand(full.scores, name, "macro_f1")[0] for name in ("cdel", "rich/hfo"))
    assert frame.loc["rich/hfo", "gap"] == pytest.approx(hfo - cdel)
    assert frame.loc["cdel", "gap"] == 0
    columns_alone = by_hand(full.scores, "logistic-z", "macro_f1")[0]
    assert frame.loc["rich/hfo", "input_gain"] == pytest.approx(hfo - columns_alone)
    assert frame.loc[["logistic-z", "cdel"], "input_gain"].isna().all()
    assert np.isnan(frame.loc["cdel", "paper_gap_low"])
