"""Run the command line: `python -m epilens`."""

from epilens.cli import main

main()
