"""When a seizure begins.

`onset` defines an onset and a clock time. `texts` says what an annotation means, and `annotated`
finds the onsets among the annotations of a recording. `bids_onsets` does so for the runs of a BIDS
dataset, and reads the user's table of onsets. `finder` suggests onsets from the signal alone, which
`changes` searches for sudden changes.
"""
