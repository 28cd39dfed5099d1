"""Checks of access tokens in an event loop."""

from __future__ import annotations

import asyncio

import httpx

from ..flow import AsyncRunner
from ..verify import FETCH_TIMEOUT, Caller, TokenRules


class AsyncTokenVerifier:
    """As `plinth.TokenVerifier`: `caller = await verify(request.headers.get("authorization"))`."""

    def __init__(
        self, url: str, *, service: str | None = None, leeway: float = 5, http: httpx.AsyncClient | None = None
    ) -> None:
        self._rules = TokenRules(url, service, leeway)
        self._runner = AsyncRunner(http or httpx.AsyncClient(timeout=FETCH_TIMEOUT))
        self._fetching: asyncio.Task[None] | None = None

    async def __call__(self, authorization: str | None) -> Caller:
        unchecked = self._rules.read(authorization)
        if self._rules.needs_keys(unchecked.kid):
            must_wait = self._rules.must_wait(unchecked.kid)
            if self._fetching is None or self._fetching.done():
                self._fetching = asyncio.create_task(self._runner.run(self._rules.load()), name="plinth keys")
            if must_wait:
                # The fetch goes on for the others if this check is cancelled.
                await asyncio.shield(self._fetching)
        return self._rules.check(unchecked)
