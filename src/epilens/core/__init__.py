"""What every package builds on: errors, registries, provenance, progress, decisions."""
