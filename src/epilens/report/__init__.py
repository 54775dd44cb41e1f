"""Numbers → what people look at."""
