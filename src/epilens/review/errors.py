"""Refusals that the server answers with a status of their own: 403, 404 and 409."""

from __future__ import annotations

from epilens.core.errors import EpilensError


class HiddenError(EpilensError):
    """The reader marks before the results are sent (403)."""


class NotFoundError(EpilensError):
    """The patient, recording, run or file does not exist (404)."""


class ConflictError(EpilensError):
    """Another window or process saved a newer revision (409)."""
