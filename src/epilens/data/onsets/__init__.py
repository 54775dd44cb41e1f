"""When a seizure begins.

By annotations: `onset` defines an onset and a clock time, `texts` says what the text of an
annotation means, and `annotated` finds the onsets among the annotations of a recording. For BIDS
datasets, `bids_events` reads events.tsv, `onset_table` the user's table, and `bids_onsets` decides.
By the signal alone: `finder` suggests onsets, which `changes` finds as sudden changes of contacts.
"""
