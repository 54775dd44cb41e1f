"""Where contacts lie.

`positions` has coordinates in mm, `bids_electrodes` reads electrodes.tsv of a BIDS dataset, and
`electrode_files` reads the files of other tools.
"""
