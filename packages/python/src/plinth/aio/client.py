"""A platform, as one client sees it, in an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from types import TracebackType
from typing import Any

import httpx

from ..file_calls import FileCalls
from ..flow import AsyncRunner, AsyncTokenSource
from ..settings import LIMITS, Configured, Settings
from ..tokens import AsyncClientTokens, AsyncFunctionTokens
from ..topic_calls import TopicCalls
from ..transport import Query
from .files import AsyncFiles
from .topic import AsyncTopic
from .unfinished import Unfinished


class AsyncPlinth(Configured[httpx.AsyncClient, "str | Awaitable[str]"]):
    """Connects to a platform. The tasks of one event loop may share it.

        async with AsyncPlinth("https://platform.example", client_id="acme.shop", client_secret=secret) as plinth:
            await plinth.topic("acme.shop", "orderPlaced").publish({"order": 4711})

    `token`, in place of id and secret: a function, `async` or not, that returns a valid token; it is given the one
    that was refused. `timeout`: seconds until an answer must have come as a whole. The bytes of a download may take
    longer.
    """

    def _open(self, timeout: float) -> httpx.AsyncClient:
        return httpx.AsyncClient(timeout=timeout, limits=LIMITS)

    def _start(self, token: Callable[[str | None], str | Awaitable[str]] | None) -> None:
        self._tokens: AsyncTokenSource = (
            AsyncClientTokens(self._http, self._settings) if token is None else AsyncFunctionTokens(token)
        )
        self._runner = AsyncRunner(self._http, self._tokens)
        self._unfinished = Unfinished()
        # Private and public files of this client.
        private, public = FileCalls(self._transport, public=False), FileCalls(self._transport, public=True)
        self.files = AsyncFiles(self._runner, private, self.pages, self._beside)
        self.public_files = AsyncFiles(self._runner, public, self.pages, self._beside)

    def _beside(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return self._unfinished.start(work)

    def _for(self, settings: Settings) -> AsyncPlinth:
        other = super()._for(settings)
        # Its loops end when this client closes.
        other._unfinished = self._unfinished
        return other

    async def token(self) -> str:
        """A valid access token, for requests of your own."""
        return await self._tokens.get()

    def topic(self, owner: str, event_type: str, *, consumer: str | None = None) -> AsyncTopic:
        """`consumer`: reads with a cursor and a lock of this name, beside those of the client."""
        return AsyncTopic(
            self._runner, TopicCalls(self._transport, owner, event_type, consumer), self._unfinished
        )

    async def request(self, method: str, path: str, *, query: Query | None = None, json: Any = None) -> Any:
        """Any operation: with a token, repeated by the platform's rules."""
        return await self._runner.run(self._transport.json(method, path, query=query, json=json))

    async def pages(self, path: str, query: Query | None = None) -> AsyncIterator[Any]:
        """Any list, page by page as its entries are needed."""
        following: str | None = path
        while following is not None:
            entries, following = await self._runner.run(self._transport.page(following, query))
            for entry in entries:
                yield entry
            query = None

    async def aclose(self) -> None:
        """Gives back the batches that loops still hold, and closes the connections."""
        await self._unfinished.finish()
        if self._owns_http:
            await self._http.aclose()

    async def __aenter__(self) -> AsyncPlinth:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()
