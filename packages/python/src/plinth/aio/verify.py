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
        self._lock = asyncio.Lock()

    async def __call__(self, authorization: str | None) -> Caller:
        unchecked = self._rules.read(authorization)
        async with self._lock:
            if self._rules.needs_keys(unchecked.kid):
                await self._runner.run(self._rules.load(unchecked.kid))
        return self._rules.check(unchecked)
