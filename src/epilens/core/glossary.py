"""The glossary: one sentence per term, for the pages, the review and the documentation."""

from __future__ import annotations

from collections.abc import Mapping

GLOSSARY: Mapping[str, str] = {
    # What is recorded and predicted.
    "EZ": "Epileptogenic zone: the tissue that generates the seizures; in the data, the contacts "
    "that a center annotated as such.",
    "NEZ": "Not in the epileptogenic zone: all other contacts.",
    "Contact": "A metal surface of an implanted electrode; bipolar recordings rank pairs of them.",
    "Electrode (shaft)": "A depth electrode, strip or grid with several contacts, recognised by "
    "the letters of their names.",
    "Onset": "The time at which a seizure begins, annotated by a person or suggested by the "
    "program.",
    "Baseline": "A contact's own activity before onset, with which its activity during the "
    "seizure is compared.",
    "Recruitment": "The first clear, lasting rise of beta, gamma or line length in a contact.",
    "Propagation": "The order in which a seizure recruits the contacts.",
    # Scores.
    "EZ score": "A number from 0 to 1 that ranks the contacts of one patient; it is not a "
    "probability.",
    "p_nez": "The number that the methods compute: 1 minus the EZ score.",
    "P(EZ)": "Calibrated probability that a contact is in the EZ, valid for patients like those of "
    "the training cohort.",
    "Threshold": "The EZ score above which a contact is flagged; it is fixed before the patient is "
    "analysed.",
    "Flagged": "Above the threshold.",
    "Top K": "The first K contacts of the ranking; K is the number of flagged contacts, or 10 (at "
    "most half of the contacts) if none is flagged.",
    "Set of stated coverage": "Contacts that together contain a stated fraction of the EZ, on "
    "average over cross-validated patients.",
    "Abstention": "The program shows the ranking but no decision, because the recording is too "
    "short or too unlike the training cohort.",
    "Distance from training patients": "How unusual a patient is for the model; above the limit "
    "the program abstains.",
    "Resection": "The contacts in the tissue that was or will be removed.",
    # Evidence and methods.
    "Descriptor": "A number that describes the signal of one contact in one time window, e.g. the "
    "power of a frequency band.",
    "Z-Δ": "Change of a descriptor from the contact's baseline, in standard deviations of "
    "that baseline.",
    "Line length": "How far the signal moves up and down per second; it grows with amplitude and "
    "frequency.",
    "Skewness, kurtosis": "How asymmetric the waves are, and how much sharp transients stand out.",
    "Spectral entropy": "How evenly power is distributed over frequencies; a regular rhythm has a "
    "low value.",
    "SD": "Standard deviation.",
    "Patient-relative": "Compared with the other contacts of the same patient, so that gain and "
    "hospital do not matter.",
    "PRQ-Net": "The paper's first network: patient-relative evidence and a low quantile over the "
    "seizures.",
    "BCR-Net": "The paper's second network, trained for the boundary and coverage of the EZ in the "
    "ranking.",
    "CDEL": "The paper's method: 0.8 of PRQ-Net's score plus 0.2 of BCR-Net's; λ is the weight of "
    "BCR-Net.",
    "lens": "The default method of EpiLENS: logistic regression on how a contact, its neighbours "
    "and its electrode compare with the other contacts.",
    "Training-free method": "A method from the literature that ranks contacts by a fixed formula "
    "and learns from no patient.",
    "Ensemble, member": "Several models of the same kind that were trained on different parts of "
    "the cohort; the score is their mean.",
    # Review.
    "Run (in the review)": "One analysis of a patient with the onsets and excluded contacts of "
    "that time; runs can be compared.",
    "Suggested onset": "A time at which the signal changes like at the onset of a seizure; a "
    "person decides.",
    "Reading": "What one reader decided about the contacts; it is signed and then no longer "
    "changed.",
    "κ (kappa)": "Agreement of readers beyond chance: 1 is complete agreement, 0 is chance.",
    # What is on disk.
    "Cube": "One patient's descriptors by seizure, time window and contact: the input of the "
    "methods.",
    "Ledger": "A table with the score of every contact by every method, seed and fold of an "
    "evaluation.",
    "Plan": "A TOML file with every setting that changes a number.",
    "Model": "A folder with the weights, the threshold and the model card of a trained method.",
    # Evaluation.
    "Cross-validated": "Every patient is scored by models that were not trained on this patient.",
    "Cell": "One method, seed and fold of an evaluation.",
    "Fold": "One part of the cohort that is held out while the methods are trained on the others.",
    "Seed": "The start of the random numbers; training is repeated with several.",
    "Leave-one-center-out": "All patients of a center are tested by methods trained on other "
    "centers only.",
    "Mean ± SD": "Mean over patients with equal weight, then over seeds; the SD is over seeds.",
    "95 % interval": "95 % confidence interval over patients: a percentile bootstrap as in the "
    "paper, or a t interval with fewer than 30 patients.",
    "No clear difference": "The confidence interval of the difference includes zero: too few "
    "patients to distinguish the two methods.",
    "AUROC": "Probability that an EZ contact is ranked above an NEZ contact; 0.5 is chance.",
    "EZ-AUPRC": "Mean precision at the positions of the EZ contacts in the ranking; chance is the "
    "EZ fraction.",
    "Macro-F1": "Mean of a patient's EZ-F1 and NEZ-F1 at the method's threshold; 1 is perfect.",
    "EZ-F1, NEZ-F1": "Harmonic mean of precision and recall for EZ (or NEZ) contacts.",
    "Acc.": "Fraction of a patient's contacts that are classified correctly.",
    "NDCG-EZ": "How early the EZ contacts come in the ranking, where early positions count more; "
    "at most 1.",
    "MRR-EZ": "1 divided by the rank of the first EZ contact.",
    "Recall@true-K": "Fraction of the K EZ contacts that are among the first K of the ranking.",
    "Top-1 EZ rate": "Fraction of patients whose first contact is in the EZ.",
    "EZ fraction": "The fraction of a patient's contacts that are in the EZ (prevalence).",
    "EZ-frac. bias": "Fraction of contacts flagged minus the EZ fraction; 0 is best.",
    "Smoothed along shafts": "A contact's rank averaged with those of its neighbours and of its "
    "electrode.",
    "Brier score, skill": "Mean squared error of the stated probability of EZ; the skill is the "
    "improvement over always stating the EZ fraction.",
    "Calibration error": "Mean distance between the stated probability and the observed EZ "
    "fraction.",
    "p": "Fraction of permutations that are at least as good as the observed value, corrected for "
    "their finite number.",
}
"""Terms in the order of reading: recording, scores, methods, files, evaluation."""

PATIENT_TERMS = (
    *("EZ", "Contact", "Electrode (shaft)", "Onset", "Baseline", "Recruitment"),
    *("EZ score", "P(EZ)", "Threshold", "Flagged", "Top K", "Set of stated coverage"),
    *("Abstention", "Distance from training patients", "Resection", "Descriptor", "Z-Δ", "SD"),
    *("Line length", "Skewness, kurtosis", "Spectral entropy"),
    *("Patient-relative", "lens", "CDEL", "Training-free method", "Ensemble, member"),
    *("Cross-validated", "AUROC", "EZ-AUPRC"),
)
"""Terms on the page of a patient."""
REVIEW_TERMS = (
    *("EZ", "Contact", "Electrode (shaft)", "Onset", "Suggested onset", "Run (in the review)"),
    *("EZ score", "Flagged", "Top K", "Resection", "Training-free method", "Reading"),
    "κ (kappa)",
)
"""Terms in the review."""
REPRODUCTION_TERMS = (
    *("EZ", "NEZ", "PRQ-Net", "BCR-Net", "CDEL", "Mean ± SD", "Macro-F1", "EZ-F1, NEZ-F1"),
    *("Acc.", "AUROC", "EZ-AUPRC", "NDCG-EZ", "MRR-EZ", "Recall@true-K", "Top-1 EZ rate"),
    *("EZ fraction", "EZ-frac. bias", "95 % interval", "No clear difference"),
    *("Leave-one-center-out", "Cross-validated", "Smoothed along shafts"),
    *("Brier score, skill", "Calibration error", "p", "Cell"),
)
"""Terms in the tables of the reproduction page."""


def explain(terms: tuple[str, ...]) -> list[tuple[str, str]]:
    """Terms with their sentences.

    Examples
    --------
    >>> explain(("Flagged",))
    [('Flagged', 'Above the threshold.')]
    """
    return [(term, GLOSSARY[term]) for term in terms]
