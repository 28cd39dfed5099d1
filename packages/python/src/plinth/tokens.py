"""Access tokens: fetched by the first request, shared by all threads or tasks, renewed a minute before their end."""

from __future__ import annotations

import asyncio
import inspect
import re
import threading
import time
from collections.abc import Awaitable, Callable
from urllib.parse import quote_plus

import httpx

from .errors import PlinthError, UnauthorizedError, broken, error_of, no_answer
from .flow import AsyncRunner, Flow, Pause, Runner, Send
from .settings import Settings
from .transport import backoff

_EARLY = 60.0
# The shortest time between two renewals that failed.
_AGAIN = 5.0
_ATTEMPTS = 4
# The longest pause; after a longer `Retry-After`, the error goes to the caller.
_MAX_WAIT = 60.0


class _Kept:
    """The token of a client with a secret (RFC 6749 4.4), and until when it serves."""

    def __init__(self, settings: Settings) -> None:
        self._url = f"{settings.url}/oauth2/v1/token"
        # RFC 6749 2.3.1: form-encoded before they are joined.
        self._auth = httpx.BasicAuth(quote_plus(settings.client_id), quote_plus(settings.client_secret))
        self._scopes = settings.scopes
        self._timeout = settings.timeout
        self._token: str | None = None
        self._ends = self._renew = 0.0

    def fresh(self) -> str | None:
        return self._token if time.monotonic() < self._renew else None

    def valid(self) -> str | None:
        """The token until its end. It serves others while one of them renews it."""
        return self._token if time.monotonic() < self._ends else None

    def refuse(self, token: str) -> None:
        if self._token == token:
            self._token = None

    def fetch(self) -> Flow[str]:
        """A new token. While the old one serves, this is tried once, and not again soon."""
        if self.valid() is not None:
            try:
                return (yield from self._fetch(1))
            except PlinthError as thrown:
                kept = self.valid()
                if kept is not None:
                    self._renew = min(self._ends, time.monotonic() + max(_AGAIN, thrown.retry_after or 0))
                    return kept
        return (yield from self._fetch(_ATTEMPTS))

    def _fetch(self, attempts: int) -> Flow[str]:
        form = {"grant_type": "client_credentials"}
        if self._scopes:
            form["scope"] = " ".join(self._scopes)
        for attempt in range(1, attempts + 1):
            try:
                options = {"data": form, "auth": self._auth}
                response: httpx.Response = yield Send("POST", self._url, options, self._timeout)
                error = _token_error(response)
            except httpx.RequestError as thrown:
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
            wait = max(error.retry_after or 0, backoff(attempt, 0.25, 5))
            if not passes or attempt == attempts or wait > _MAX_WAIT:
                raise error
            yield Pause(wait)
        raise AssertionError("the loop ends by return or raise")


def _token_error(response: httpx.Response) -> PlinthError | None:
    if not response.is_success:
        return error_of(response)
    error = broken(response)
    if error is None and not _has_token(response):
        error = no_answer(f"{response.url} gave no token.")
    return error


def _has_token(response: httpx.Response) -> bool:
    body = response.json() if response.content else None
    if not isinstance(body, dict) or not isinstance(body.get("access_token"), str):
        return False
    try:
        # Some servers send a number as text.
        return float(body["expires_in"]) > 0
    except (KeyError, TypeError, ValueError):
        return False


class ClientTokens:
    def __init__(self, http: httpx.Client, settings: Settings) -> None:
        self._runner = Runner(http)
        self._kept = _Kept(settings)
        self._lock = threading.Lock()

    def get(self) -> str:
        fresh, valid = self._kept.fresh(), self._kept.valid()
        if fresh is not None:
            return fresh
        if not self._lock.acquire(blocking=valid is None) and valid is not None:
            return valid
        try:
            # Another thread may have fetched one meanwhile.
            fresh = self._kept.fresh()
            return self._runner.run(self._kept.fetch()) if fresh is None else fresh
        finally:
            self._lock.release()

    def refuse(self, token: str) -> None:
        self._kept.refuse(token)


class AsyncClientTokens:
    def __init__(self, http: httpx.AsyncClient, settings: Settings) -> None:
        self._runner = AsyncRunner(http)
        self._kept = _Kept(settings)
        self._lock = asyncio.Lock()

    async def get(self) -> str:
        valid = self._kept.valid()
        if valid is not None and self._lock.locked():
            return valid
        async with self._lock:
            fresh = self._kept.fresh()
            return await self._runner.run(self._kept.fetch()) if fresh is None else fresh

    def refuse(self, token: str) -> None:
        self._kept.refuse(token)


def _text_of(given: object) -> str:
    token = given.strip() if isinstance(given, str) else ""
    if re.fullmatch(r"[!-~]+", token) is None:
        message = "The function for tokens returned none. Is the person still signed in?"
        raise UnauthorizedError(message, status=401, type="insufficient_credentials")
    return token


class FunctionTokens:
    """Tokens that the application brings, for example a signed-in person's."""

    def __init__(self, function: Callable[[str | None], str]) -> None:
        self._function = function
        # Of this thread: another one must not take the notice away.
        self._mine = threading.local()

    def get(self) -> str:
        refused: str | None = getattr(self._mine, "refused", None)
        self._mine.refused = None
        return _text_of(self._function(refused))

    def refuse(self, token: str) -> None:
        self._mine.refused = token


class AsyncFunctionTokens:
    def __init__(self, function: Callable[[str | None], str | Awaitable[str]]) -> None:
        self._function = function
        self._refused: str | None = None

    async def get(self) -> str:
        refused, self._refused = self._refused, None
        given = self._function(refused)
        return _text_of(await given if inspect.isawaitable(given) else given)

    def refuse(self, token: str) -> None:
        self._refused = token
