"""Requests with a token, repeated by the platform's rules:

    401                        once, with a new token
    429                        after Retry-After; nothing was done
    502, 503, 504, no answer   after Retry-After or a growing random wait, if the request may be repeated

A success whose body is not JSON is no answer: a proxy or a broken connection made it.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlsplit

import httpx
import jwt

from .errors import InvalidRequestError, broken, error_of, no_answer
from .flow import Flow, Pause, Refused, Send, Token

_REPEATABLE = frozenset({"GET", "HEAD", "PUT", "DELETE"})
_MAX_WAIT = 60.0

Query = Mapping[str, Any]


def check_address(url: str) -> None:
    """Fails where no request could be sent, for example without `https://`: repeating is no use."""
    if not isinstance(url, str):
        raise TypeError("url must be a text that begins with https:// or http://. Is its environment variable set?")
    if not url.startswith(("https://", "http://")):
        raise TypeError(f"{url!r} is no address: url must begin with https:// or http://.")
    if url.rstrip("/").endswith("/oauth2/v1"):
        raise TypeError(f"url is the platform's address: {url.rstrip('/')[:-10]}")


def segment(what: str, name: str) -> str:
    """One name in a path. Raises for what would lead elsewhere, such as an empty one: a missing file counts as deleted,
    and a missing topic too.
    """
    if not isinstance(name, str) or name in ("", ".", ".."):
        raise InvalidRequestError(f"{name!r} is no {what}.", status=400, type="validation_violation")
    return quote(name, safe="")


def own(claim: str) -> Flow[str | None]:
    """A claim of the client's token, which the platform signed for this client."""
    token: str = yield Token()
    try:
        value: str | None = jwt.decode(token, options={"verify_signature": False}).get(claim)
    except jwt.InvalidTokenError:
        return None
    return value


class Transport:
    """Flows of requests to one platform."""

    def __init__(self, url: str, attempts: int, timeout: float) -> None:
        self._url = url
        self._attempts = attempts
        self.timeout = timeout

    def send(
        self,
        method: str,
        path: str,
        *,
        query: Query | None = None,
        headers: Mapping[str, str] | None = None,
        json: Any = None,
        repeatable: bool | None = None,
        extra: float = 0,
        attempts: int | None = None,
        timeout: float | None = None,
    ) -> Flow[httpx.Response]:
        """The answer, if it is a success or a redirect."""
        address = self._address(path)
        may_repeat = method in _REPEATABLE if repeatable is None else repeatable
        renewed = False
        attempt = 1
        while True:
            token: str = yield Token()
            options = {
                "params": _params(query),
                "headers": {**(headers or {}), "authorization": f"Bearer {token}"},
                "json": json,
            }
            try:
                response: httpx.Response = yield Send(method, address, options, (timeout or self.timeout) + extra)
                error = broken(response) if response.status_code < 400 else error_of(response)
                if error is None:
                    return response
            except httpx.RequestError as thrown:
                error = no_answer(f"{method} {urlsplit(address).path} got no answer: {thrown}")
            if error.status == 401 and not renewed:
                renewed = True
                yield Refused(token)
                continue
            wait = max(error.retry_after or 0, backoff(attempt, 0.25, 10))
            passes = error.status == 429 or (may_repeat and error.status in (0, 502, 503, 504))
            if not passes or attempt >= (attempts or self._attempts) or wait > _MAX_WAIT:
                raise error
            attempt += 1
            yield Pause(wait)

    def json(self, method: str, path: str, **ask: Any) -> Flow[Any]:
        """The JSON of the answer; None without a body."""
        response = yield from self.send(method, path, **ask)
        return response.json() if response.content else None

    def page(self, path: str, query: Query | None = None) -> Flow[tuple[list[Any], str | None]]:
        """A page of a list, and the address of the next one."""
        response = yield from self.send("GET", path, query=query)
        following = response.links.get("next", {}).get("url")
        return response.json(), None if following is None else str(response.url.join(following))

    def _address(self, path: str) -> str:
        if path.startswith("/"):
            return self._url + path
        if not path.startswith(("https://", "http://")):
            raise ValueError(f"{path!r} is no path: it must begin with /.")
        own, other = urlsplit(self._url), urlsplit(path)
        # The token goes to the platform alone, whatever a link says.
        if (own.scheme, own.netloc) != (other.scheme, other.netloc):
            raise ValueError(f"{other.netloc} is not the platform.")
        return path


def backoff(attempt: int, first: float, most: float) -> float:
    """A growing random wait in seconds."""
    return float(random.random() * min(most, first * 2**attempt))


def _params(query: Query | None) -> dict[str, str] | None:
    """None, so that httpx keeps the query of a link."""
    if not query:
        return None
    return {name: _text(value) for name, value in query.items() if value is not None and value != []}


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
