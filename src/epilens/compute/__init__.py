"""Where jobs run: local processes or a Dask cluster."""
