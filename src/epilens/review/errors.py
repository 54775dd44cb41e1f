"""Refusals that the server answers with a status of their own: 404 and 409."""

from __future__ import annotations

from epilens.core.errors import EpilensError


class NotFoundError(EpilensError):
    """The patient, recording, run or file does not exist (404)."""


class ConflictError(EpilensError):
    """Another window or process saved a newer revision (409)."""
