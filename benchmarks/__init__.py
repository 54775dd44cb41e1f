"""Side-by-side measurements: ratios within one run, because machines are noisy and differ."""
