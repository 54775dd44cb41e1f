"""Numbers → what people look at: `patient` for one patient, `run` for an evaluation."""
