"""Meaning of the terms of the tables, for readers who did not write them."""

from __future__ import annotations

from collections.abc import Mapping

GLOSSARY: Mapping[str, str] = {
    "EZ, NEZ": "Epileptogenic zone: the contacts that the centers annotated as such. NEZ: all "
    "others.",
    "PRQ-Net, BCR-Net": "The paper's two networks; each gives every contact a score.",
    "CDEL": "0.8 of PRQ-Net's score plus 0.2 of BCR-Net's. λ is the weight of BCR-Net.",
    "Mean ± SD": "Mean over patients, each with equal weight, then over seeds; SD over seeds "
    "(training repeated with other random numbers).",
    "Macro-F1": "Mean of a patient's EZ-F1 and NEZ-F1 at the method's threshold. 1 is perfect.",
    "EZ-F1, NEZ-F1": "Harmonic mean of precision and recall for EZ (or NEZ) contacts.",
    "Acc.": "Fraction of a patient's contacts that are classified correctly.",
    "AUROC": "Probability that an EZ contact is ranked above an NEZ contact; 0.5 is chance.",
    "EZ-AUPRC": "Mean precision at the positions of the EZ contacts in the ranking.",
    "NDCG-EZ": "How early the EZ contacts come in the ranking, early positions count more; at most "
    "1.",
    "MRR-EZ": "1 divided by the rank of the first EZ contact.",
    "Recall@true-K": "Fraction of the K EZ contacts among the first K of the ranking.",
    "Top-1 EZ rate": "Fraction of patients whose first contact is EZ.",
    "EZ-frac. bias": "Fraction of contacts flagged as EZ minus the EZ fraction; 0 is best.",
    "95 % interval": "95 % confidence interval of a mean: patients are drawn with replacement many "
    "times. A difference is paired: both methods on the same patients.",
    "No clear difference": "The confidence interval of the difference includes zero: this many "
    "patients cannot distinguish the two. It does not mean that they are equal.",
    "Leave-one-center-out": "All patients of a center are tested by methods trained on other "
    "centers only.",
    "Out of fold": "Every patient is scored by methods that were not trained on this patient.",
    "Smoothed along shafts": "A contact's rank averaged with those of its neighbours and of its "
    "electrode.",
    "Brier score, skill": "Mean squared error of the stated probability of EZ; skill is the "
    "improvement over always stating the EZ fraction.",
    "Calibration error": "Mean distance between the stated probability and the EZ fraction.",
    "p": "Fraction of permutations that are at least as good as the observed value, corrected for "
    "their finite number.",
}
