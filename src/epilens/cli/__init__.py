"""The command line: one short function per verb; the work is in the modules that they call.

Progress and messages go to stderr; stdout carries one thing, so verbs pipe. Exit codes are in
`exit_codes`. Heavy packages are imported where they are used.
"""

from __future__ import annotations

import sys
import warnings
from functools import partial
from typing import Any

from epilens.cli.exit_codes import exit_with_code
from epilens.cli.options import app

# The verbs are registered by being imported, in the order in which the help shows them.
from epilens.cli import data, evaluation, patients, plans  # isort: skip

__all__ = ["app", "data", "evaluation", "main", "patients", "plans"]


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; bad input and system errors are one sentence and code 2."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in arguments
    arguments = [argument for argument in arguments if argument != "--debug"]
    warnings.showwarning = partial(_show_warning, warnings.showwarning)  # ty: ignore
    with exit_with_code(arguments, debug):
        app(arguments, prog_name="epilens")


def _show_warning(usual: Any, message: Any, category: type[Warning], *where: Any) -> None:
    """A plugin that cannot be used is one line, without the place in the code."""
    from epilens.core.console import say
    from epilens.core.registry import PluginWarning

    if issubclass(category, PluginWarning):
        say(f"warning: {message}")
    else:
        usual(message, category, *where)
