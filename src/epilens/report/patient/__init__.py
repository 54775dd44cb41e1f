"""One localized patient: its page, BIDS derivative and files for planning tools."""
