"""Networks of the raw-iEEG baselines; imported when one of them is fitted."""
