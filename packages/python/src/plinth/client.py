"""A platform, as one client sees it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

import httpx

from .file_calls import FileCalls
from .files import Files
from .flow import Runner, TokenSource
from .settings import LIMITS, Configured
from .tokens import ClientTokens, FunctionTokens
from .topic import Topic
from .topic_calls import TopicCalls
from .transport import Query


class Plinth(Configured[httpx.Client, str]):
    """Connects to a platform. Threads may share it.

        with Plinth("https://platform.example", client_id="acme.shop", client_secret=secret) as plinth:
            plinth.topic("acme.shop", "orderPlaced").publish({"order": 4711})

    `token`, in place of id and secret: a function that returns a valid token; it is given the one that was refused.
    `timeout`: seconds until an answer must have come as a whole. The bytes of a download may take longer.
    """

    def _open(self, timeout: float) -> httpx.Client:
        return httpx.Client(timeout=timeout, limits=LIMITS)

    def _start(self, token: Callable[[str | None], str] | None) -> None:
        self._tokens: TokenSource = (
            ClientTokens(self._http, self._settings) if token is None else FunctionTokens(token)
        )
        self._runner = Runner(self._http, self._tokens)
        # Private and public files of this client.
        self.files = Files(self._runner, FileCalls(self._transport, public=False), self.pages)
        self.public_files = Files(self._runner, FileCalls(self._transport, public=True), self.pages)

    def token(self) -> str:
        """A valid access token, for requests of your own."""
        return self._tokens.get()

    def topic(self, owner: str, event_type: str, *, consumer: str | None = None) -> Topic:
        """`consumer`: reads with a cursor and a lock of this name, beside those of the client."""
        return Topic(self._runner, TopicCalls(self._transport, owner, event_type, consumer))

    def request(self, method: str, path: str, *, query: Query | None = None, json: Any = None) -> Any:
        """Any operation: with a token, repeated by the platform's rules."""
        return self._runner.run(self._transport.json(method, path, query=query, json=json))

    def pages(self, path: str, query: Query | None = None) -> Iterator[Any]:
        """Any list, page by page as its entries are needed."""
        following: str | None = path
        while following is not None:
            entries, following = self._runner.run(self._transport.page(following, query))
            yield from entries
            query = None

    def close(self) -> None:
        if self._owns_http:
            self._http.close()

    def __enter__(self) -> Plinth:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
