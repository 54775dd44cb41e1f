"""Tensors → scores, in the paper's notation: S seizures, W windows, C channels, D features."""
