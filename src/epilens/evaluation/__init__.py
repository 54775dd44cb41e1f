"""Cohort × method × split → ledger → numbers."""
