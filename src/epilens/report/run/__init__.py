"""One evaluated run: tables, figures, comparisons, and every table and figure of the paper."""
