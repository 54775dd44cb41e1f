"""Networks of the raw-iEEG baselines and their training; imported when one of them is fitted."""
