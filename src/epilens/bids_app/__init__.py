"""All patients of a BIDS dataset, as a BIDS App."""
