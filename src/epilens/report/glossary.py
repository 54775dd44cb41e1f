"""What the words of the tables mean, for who did not write them."""

from __future__ import annotations

from collections.abc import Mapping

GLOSSARY: Mapping[str, str] = {
    "EZ, NEZ": "Epileptogenic zone: the contacts that the centers marked as such. NEZ: all others.",
    "PRQ-Net, BCR-Net": "The paper's two networks; each gives every contact a score.",
    "CDEL": "0.8 of PRQ-Net's score and 0.2 of BCR-Net's. λ is BCR-Net's share.",
    "Mean ± SD": "Every patient counts the same in a mean; the mean of all seeds, and the standard "
    "deviation over seeds (training started anew from other random numbers).",
    "Macro-F1": "Mean of EZ-F1 and NEZ-F1 of a patient: whether both kinds of contacts are called "
    "right at the method's threshold. 1 is perfect.",
    "EZ-F1, NEZ-F1": "Harmonic mean of precision and recall for EZ (or NEZ) contacts.",
    "Acc.": "Share of a patient's contacts that are called right.",
    "AUROC": "Chance that an EZ contact is ranked above an NEZ contact; 0.5 is guessing.",
    "EZ-AUPRC": "Mean precision at the places of the EZ contacts in the ranking.",
    "NDCG-EZ": "How early the EZ contacts come in the ranking, early places more; at most 1.",
    "MRR-EZ": "1 divided by the rank of the first EZ contact.",
    "Recall@true-K": "Share of the K EZ contacts among the first K of the ranking.",
    "Top-1 EZ rate": "Share of patients whose first contact is EZ.",
    "EZ-frac. bias": "Share of contacts called EZ less the share that is EZ; 0 is best.",
    "95 % interval": "Patients are drawn with replacement many times; 95 % of the means lie in "
    "it. A difference is paired: both methods on the same patients.",
    "No difference beyond the spread": "The interval of the difference holds zero: this many "
    "patients cannot tell the two apart. It does not say that they are equal.",
    "Leave-one-center-out": "All patients of a center are tested by methods that saw none of them.",
    "Out of fold": "Every patient is scored by methods that were not fitted on this patient.",
    "Smoothed along shafts": "A contact's rank averaged with its neighbours' and its electrode's.",
    "Brier score, skill": "Mean squared error of the stated probability of EZ; skill is what is "
    "won against stating the same share each time.",
    "Calibration error": "Mean distance between the stated probability and the share that is EZ.",
    "p": "Share of shuffles that are at least as good as the observed, corrected for being finite.",
}
