"""Help of the verbs: examples at its end, names in place of Python types, coloured headings."""

from __future__ import annotations

import os
import re
from typing import Any

import typer
from typer.core import TyperCommand

_HEADING = re.compile(r"^(Usage|Arguments|Options|Commands|Examples):", re.MULTILINE)


class WithExamples:
    """Help that ends with examples, one per line of the epilog, and has coloured headings."""

    epilog: str | None

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples under their heading."""
        if self.epilog:
            with formatter.section("Examples"):
                formatter.write("".join(f"  {example}\n" for example in self.epilog.splitlines()))

    def get_help(self, ctx: Any) -> str:
        """The help, with colour if the user has not forbidden it."""
        return with_colour(super().get_help(ctx))  # ty: ignore


class HelpCommand(WithExamples, TyperCommand):
    """A verb; its help has names of values in place of Python types."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        for parameter in self.params:
            _hide_type(parameter)


def with_colour(text: str) -> str:
    """Help with coloured headings; a pipe or file receives none, because `echo` removes them."""
    if os.environ.get("NO_COLOR"):
        return text
    return _HEADING.sub(lambda match: typer.style(match[0], fg="cyan", bold=True), text)


def _hide_type(parameter: Any) -> None:
    """Show the name of a value instead of its Python type, and no range."""
    is_option = parameter.param_type_name == "option"
    if parameter.metavar is None and not (is_option and parameter.is_flag):
        parameter.metavar = _VALUES.get(parameter.name, str(parameter.name).upper())
    if not is_option:
        parameter.display_type = lambda ctx: None
        parameter.get_usage_pieces = lambda ctx: [parameter.metavar]
    parameter._get_number_range_help_str = lambda: None


_VALUES = {
    "audit": "FILE",
    "compare": "METHOD",
    "exclude": "CHANNEL",
    "figure": "FILE",
    "jobs": "N",
    "keep": "CHANNEL",
    "labels": "FILE",
    "only": "METHOD",
    "onset": "SECONDS",
    "onsets": "FILE",
    "electrodes": "FILE",
    "participant_label": "LABEL",
    "port": "N",
    "resected": "CONTACTS",
    "seed": "N",
}
"""Names of values that are not those of their options."""
