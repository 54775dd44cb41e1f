"""Tensors → scores, in the paper's notation: S seizures, W windows, C channels, D features.

In order of reading:

1. `encoder`, then `prq` and `bcr`: the paper's networks and losses. `controls` are its neural
   baselines on descriptors, `raw/` those on signals, `lens` is our own scorer. `specs` has all
   settings.
2. `loop` trains anything, `training` trains on whole patients; `kernels` makes attention fast.
3. `predictor` is the protocol of fitted objects (`branch` for a network), `gradients` explains
   their scores, `ensemble` runs many of them.
4. `model` saves and opens a model, `kinds` and `model_schema` say what it may contain, `card`
   describes it, and `released` imports the authors' checkpoints.
"""
