"""Access tokens: fetched by the first request, shared by all threads, renewed a minute before their end."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence
from typing import Protocol
from urllib.parse import quote_plus

import httpx

from .errors import PlinthError, error_of, no_answer

_EARLY = 60.0
_ATTEMPTS = 4


class TokenSource(Protocol):
    def get(self) -> str:
        """A valid token."""

    def refuse(self, token: str) -> None:
        """The platform refused this token; the next one is a new one."""


class ClientTokens:
    """Tokens of a client with a secret (RFC 6749 4.4)."""

    def __init__(
        self, http: httpx.Client, url: str, client_id: str, client_secret: str, scopes: Sequence[str]
    ) -> None:
        self._http = http
        self._url = f"{url}/oauth2/v1/token"
        # RFC 6749 2.3.1: form-encoded before they are joined.
        self._auth = httpx.BasicAuth(quote_plus(client_id), quote_plus(client_secret))
        self._scopes = list(scopes)
        self._lock = threading.Lock()
        self._token: str | None = None
        self._ends = self._renew = 0.0

    def get(self) -> str:
        with self._lock:
            now = time.monotonic()
            if self._token is not None and now < self._renew:
                return self._token
            try:
                return self._fetch()
            except PlinthError:
                # If a renewal fails, the old token serves until it ends.
                if self._token is not None and time.monotonic() < self._ends:
                    return self._token
                raise

    def refuse(self, token: str) -> None:
        with self._lock:
            if self._token == token:
                self._token = None

    def _fetch(self) -> str:
        form = {"grant_type": "client_credentials"}
        if self._scopes:
            form["scope"] = " ".join(self._scopes)
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                response = self._http.post(self._url, data=form, auth=self._auth)
                error: PlinthError | None = None if response.is_success else error_of(response)
            except httpx.TransportError as thrown:
                error = no_answer(f"{self._url} does not answer: {thrown}")
            if error is None:
                body = response.json()
                life = float(body["expires_in"])
                now = time.monotonic()
                self._token = str(body["access_token"])
                self._ends = now + life
                self._renew = now + max(life - _EARLY, life / 2)
                return self._token
            passes = error.status in (0, 429) or error.status >= 500
            if not passes or attempt == _ATTEMPTS:
                raise error
            time.sleep(max(error.retry_after or 0, backoff(attempt, 0.25, 5)))
        raise AssertionError("the loop ends by return or raise")


class FunctionTokens:
    """Tokens that the application brings, for example a signed-in person's."""

    def __init__(self, function: Callable[[str | None], str]) -> None:
        self._function = function
        self._refused: str | None = None

    def get(self) -> str:
        refused, self._refused = self._refused, None
        return self._function(refused)

    def refuse(self, token: str) -> None:
        self._refused = token


def backoff(attempt: int, first: float, most: float) -> float:
    """A growing random wait in seconds."""
    return float(random.random() * min(most, first * 2**attempt))
