"""What can go wrong, as classes. The names are those of the JavaScript SDK."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx


class PlinthError(Exception):
    """A refusal of the platform. `status` is 0 without an answer."""

    def __init__(
        self,
        message: str,
        *,
        status: int,
        type: str,
        details: list[dict[str, Any]] | None = None,
        request_id: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.type = type
        self.details = details or []
        self.request_id = request_id
        self.retry_after = retry_after

    def has(self, detail_type: str) -> bool:
        """True if one of the details has this type: `error.has("lock_expired")`."""
        return any(detail.get("type") == detail_type for detail in self.details)


class InvalidRequestError(PlinthError):
    """400, 413, 414, 415: `details` names the fields."""


class UnauthorizedError(PlinthError):
    """401: the token or the client's secret is not accepted."""


class ForbiddenError(PlinthError):
    """403: the token lacks a scope."""


class NotFoundError(PlinthError):
    """404: there is none, or it is somebody else's."""


class ConflictError(PlinthError):
    """409, 412: the state of the resource does not allow it."""


class RateLimitError(PlinthError):
    """429: too many requests, after all attempts."""


class UnavailableError(PlinthError):
    """5xx, no connection, no answer in time, a success that is not JSON; repeated already where that does no harm."""


def error_of(response: httpx.Response) -> PlinthError:
    """The error of an answer that is no success."""
    body = _object(response)
    kind = str(body.get("type") or body.get("error") or "unknown")
    message = body.get("message") or body.get("error_description") or body.get("error")
    details = body.get("details")
    return _class_of(response.status_code, kind)(
        str(message or f"HTTP status {response.status_code}"),
        status=response.status_code,
        type=kind,
        details=details if isinstance(details, list) else [],
        request_id=_ending(response.headers, "-request-id"),
        retry_after=_seconds(response.headers.get("retry-after")),
    )


def broken(response: httpx.Response) -> UnavailableError | None:
    """The error of a success that is no JSON; None if it is, or has no body."""
    if response.status_code >= 300 or not response.content:
        return None
    try:
        response.json()
    except ValueError:
        return no_answer(f"{response.request.method} {response.url.path} got a success that is not JSON.")
    return None


def no_answer(message: str) -> UnavailableError:
    return UnavailableError(message, status=0, type="no_answer")


def _class_of(status: int, kind: str) -> type[PlinthError]:
    if status == 401 or kind == "invalid_client":
        return UnauthorizedError
    if status >= 500:
        return UnavailableError
    exact: dict[int, type[PlinthError]] = {
        403: ForbiddenError,
        404: NotFoundError,
        409: ConflictError,
        412: ConflictError,
        429: RateLimitError,
    }
    return exact.get(status, InvalidRequestError if status >= 400 else PlinthError)


def _object(response: httpx.Response) -> Mapping[str, Any]:
    try:
        value = response.json()
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _ending(headers: httpx.Headers, suffix: str) -> str | None:
    # The header's name begins with the platform's prefix, which the operator chooses.
    return next((value for name, value in headers.items() if name.lower().endswith(suffix)), None)


def _seconds(text: str | None) -> float | None:
    return float(text) if text is not None and text.isdigit() else None
