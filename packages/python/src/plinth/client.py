"""A platform, as one client sees it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any

import httpx

from .files import Files
from .tokens import ClientTokens, FunctionTokens, TokenSource
from .topic import Topic
from .transport import Query, Transport


class Plinth:
    """Connects to a platform. Threads may share it.

        with Plinth("https://platform.example", client_id="acme.shop", client_secret=secret) as plinth:
            plinth.topic("acme.shop", "orderPlaced").publish({"order": 4711})

    `token`, in place of id and secret: a function that returns a valid token; it is given the one that was refused.
    """

    def __init__(
        self,
        url: str,
        *,
        client_id: str = "",
        client_secret: str = "",
        scopes: Sequence[str] = (),
        token: Callable[[str | None], str] | None = None,
        platform: str = "plat",
        attempts: int = 5,
        timeout: float = 30,
        http: httpx.Client | None = None,
    ) -> None:
        if (token is None) == (client_id == ""):
            raise TypeError("Give either client_id and client_secret, or token.")
        self._url = url.rstrip("/")
        self._client = (client_id, client_secret, tuple(scopes))
        self._owns_http = http is None
        self._http = http or httpx.Client(timeout=timeout)
        self._platform = platform
        self._settings = (attempts, timeout)
        tokens: TokenSource = (
            FunctionTokens(token)
            if token is not None
            else ClientTokens(self._http, self._url, client_id, client_secret, scopes)
        )
        self._transport = Transport(self._http, self._url, tokens, attempts, timeout)
        # Private and public files of this client.
        self.files = Files(self._transport, public=False)
        self.public_files = Files(self._transport, public=True)

    def token(self) -> str:
        """A valid access token, for requests of your own."""
        return self._transport.tokens.get()

    def topic(self, owner: str, event_type: str, *, consumer: str | None = None) -> Topic:
        """`consumer`: reads with a cursor and a lock of this name, beside those of the client."""
        return Topic(self._transport, owner, event_type, consumer)

    def for_tenant(self, tenant: str) -> Plinth:
        """The same client with tokens for this tenant. Only with a client's id and secret."""
        client_id, client_secret, scopes = self._client
        if client_id == "":
            raise TypeError("A token is for one tenant already: for_tenant needs a client's id and secret.")
        attempts, timeout = self._settings
        return Plinth(
            self._url,
            client_id=client_id,
            client_secret=client_secret,
            scopes=[f"{self._platform}.tenant={tenant}", *scopes],
            platform=self._platform,
            attempts=attempts,
            timeout=timeout,
            http=self._http,
        )

    def request(self, method: str, path: str, *, query: Query | None = None, json: Any = None) -> Any:
        """Any operation: with a token, repeated by the platform's rules."""
        return self._transport.json(method, path, query=query, json=json)

    def pages(self, path: str, query: Query | None = None) -> Iterator[Any]:
        """Any list, page by page as its entries are needed."""
        return self._transport.pages(path, query)

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
