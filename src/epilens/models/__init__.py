"""Models that come with EpiLENS, one folder each: `epilens.open_model("recorded")`."""
