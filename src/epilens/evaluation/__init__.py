"""Cohort × method × split → ledger → numbers.

`protocol` cross-validates: `splits` divides the patients, `execution` computes one cell (method,
seed, fold), `cell_folder` stores it, `ledger` collects the scores, and `run` owns the folder.
`scoring` turns a ledger into metrics, `resampling` into intervals and comparisons. `train` makes a
model for new patients (`member_cache` lets it resume), with its `certainty` and `novelty`.
`plan_check` refuses plans that name what does not exist.
"""
