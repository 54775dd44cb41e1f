"""What the numbers of a method come from: settings, plan, code and pretrained files."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from epilens.core.errors import MethodError
from epilens.core.provenance import code_digest, modules_named, plain
from epilens.methods import METHODS, SMOOTH, Method, all_parts
from epilens.plan import Plan


def method_inputs(name: str, plan: Plan) -> dict[str, Any]:
    """What the numbers of a method come from, other than patients, split and seed; plain JSON.

    Settings by value, sections of the plan by value, the code of the method as one digest, and
    digests of the pretrained files that it starts from.
    """
    method = METHODS[name]
    # Methods are hashed by their fields: editing one does not affect the others of its file.
    rows = frozenset(METHODS.origin(other).module for other in METHODS)
    inputs = {
        "fitter": _fitter_name(method),
        "settings": plain(method.settings),
        "plan": {section: plan.values(section) for section in method.sections},
        "code": code_digest(*code_modules(method, METHODS.origin(name).module), rows=rows),
        "pretrained": _pretrained(plan, method.pretrained),
    }
    if method.prevalence_tolerance is not None:
        inputs["share_within"] = method.prevalence_tolerance
    if method.smoothing:
        inputs["smoothing"] = method.smoothing
    if method.parts:  # what it is made of, down to what is fitted
        inputs["parts"] = {part: method_inputs(part, plan) for part in all_parts(method)}
    return inputs


def code_modules(method: Method, origin: str) -> list[str]:
    """Modules that a method of the module `origin` uses: its own, and those its settings name.

    Other people's packages do not count; their versions belong to the environment.
    """
    smooth = modules_named(SMOOTH if method.smoothing else "")
    named = {origin, *modules_named(method.settings), *modules_named(_fitter_name(method)), *smooth}
    packages = {"epilens", origin.partition(".")[0]}
    return sorted(module for module in named if module.partition(".")[0] in packages)


def _fitter_name(method: Method) -> str:
    """The fitter as `module:attribute`; other functions cannot be hashed."""
    if method.fitter is None:
        return ""
    module, name = (getattr(method.fitter, f"__{name}__", "") for name in ("module", "qualname"))
    if not str(name).isidentifier():
        raise MethodError(
            f"{method.name}: expected a fitter that is a function of a module, found "
            f"{method.fitter!r}. Name a function, and put what differs into the settings."
        )
    return f"{module}:{name}"


def _pretrained(plan: Plan, name: str) -> dict[str, str]:
    """Digests of the pretrained files that a method starts from: other weights, other numbers."""
    folder = Path(plan.baselines.pretrained) / name
    files = sorted(folder.glob("*")) if name else []
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
        if path.suffix in (".json", ".safetensors")
    }
