"""Numbers that models store about their training patients, in clinical words."""

from __future__ import annotations

from collections.abc import Mapping

from epilens.evidence.contact_features import MEASURES, WORDS

FAR_SD = 10
"""Larger deviations are not given as numbers."""
CLINICAL = {
    "variance": "signal power (variance)",
    "skewness": "asymmetry of the waves (skewness)",
    "kurtosis": "spikiness (kurtosis)",
    "spectral entropy": "irregularity (spectral entropy)",
}
"""Measures whose statistical name alone says little to a clinician."""
DEVIATIONS = {
    "tie to line length": (
        "{} follows line length across contacts more closely",
        "{} follows line length across contacts less closely",
    ),
    "high tail": (
        "the contacts with the highest {} stand out more",
        "the contacts with the highest {} stand out less",
    ),
    "low tail": (
        "the contacts with the lowest {} stand out less",
        "the contacts with the lowest {} stand out more",
    ),
    "tie to neighbours": (
        "{} is more similar in neighbouring contacts",
        "{} is less similar in neighbouring contacts",
    ),
    "level": ("{} before onset is higher", "{} before onset is lower"),
    "change after onset": ("{} rises more after onset", "{} rises less or falls after onset"),
    "largest changes after onset": (
        "{} rises more in the most active contacts",
        "{} rises less in the most active contacts",
    ),
}
"""Kinds of numbers that models store about their training patients: where a patient is above, and
where below them."""
SCORES = {
    "median": ("the median score is lower", "the median score is higher"),
    "lowest twentieth": ("the highest scores are lower", "the highest scores are higher"),
    "interquartile range": ("the scores vary more", "the scores vary less"),
    "share called EZ": ("more contacts are above the threshold", "fewer contacts are above it"),
}
"""The same, of the numbers about scores."""
_SUMMARIES = {"mean": "{}", "std": "variation of {} over the seizure", "max": "peak {}"}


def describe_deviation(name: str, is_higher: bool, words: Mapping[str, str]) -> str:
    """How a patient differs from the training patients in a number that a model stores.

    words : names of descriptors → how people say them.

    Examples
    --------
    >>> describe_deviation("tie to neighbours of se_mean", False, {})
    'irregularity (spectral entropy) is less similar in neighbouring contacts'
    >>> describe_deviation("level of line_length", True, {"line_length": "line length"})
    'line length before onset is higher'
    """
    if name in SCORES:
        return SCORES[name][not is_higher]
    kind, _, quantity = name.rpartition(" of ")
    said = words.get(quantity) or _feature(quantity)
    frames = DEVIATIONS.get(kind, ("{} is higher", "{} is lower"))
    return frames[not is_higher].format(said)


def _feature(name: str) -> str:
    """`ll_std` as people say it; a name that is not a contact feature without underscores."""
    measure, _, summary = name.rpartition("_")
    if measure not in MEASURES or summary not in _SUMMARIES:
        return name.replace("_", " ")
    said = WORDS[MEASURES.index(measure)]
    return _SUMMARIES[summary].format(CLINICAL.get(said, said))
