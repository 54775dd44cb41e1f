"""Where jobs run: local processes or a Dask cluster.

`jobs` is the one runner of keyed work (finished: skip; otherwise compute and store), `local` and
`dask` are where it runs.
"""
