"""What a client is given, and what both kinds of clients make of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic, TypeVar

import httpx

from .transport import Transport, check_address

if TYPE_CHECKING:
    from typing_extensions import Self

Http = TypeVar("Http")
# A loop that waits for events holds a connection, so there may be as many as there are loops.
LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=100)
# What a token function returns.
Given = TypeVar("Given")

# Tenants whose tokens are kept.
_MOST_TENANTS = 1_000


@dataclass(frozen=True)
class Settings:
    url: str
    client_id: str
    client_secret: str
    scopes: Sequence[str]
    platform: str
    attempts: int
    timeout: float

    def for_tenant(self, tenant: str) -> Settings:
        if self.client_id == "":
            raise TypeError("A token is for one tenant already: for_tenant needs a client's id and secret.")
        names = f"{self.platform}.tenant="
        others = (scope for scope in self.scopes if not scope.startswith(names))
        return replace(self, scopes=(f"{names}{tenant}", *others))


class Configured(Generic[Http, Given]):
    """The base of `Plinth` and `AsyncPlinth`: their settings, and the connections that they open unless given some."""

    def __init__(
        self,
        url: str,
        *,
        client_id: str = "",
        client_secret: str = "",
        scopes: str | Sequence[str] = (),
        token: Callable[[str | None], Given] | None = None,
        platform: str = "plat",
        attempts: int = 5,
        timeout: float = 30,
        http: Http | None = None,
    ) -> None:
        if (token is not None) == (client_id != ""):
            raise TypeError("Give either client_id and client_secret, or token.")
        if client_id != "" and not client_secret:
            raise TypeError("client_secret is missing. Is its environment variable set?")
        check_address(url)
        url = url.rstrip("/")
        self._settings = Settings(url, client_id, client_secret, tuple(scopes.split() if isinstance(scopes, str) else scopes), platform, attempts, timeout)
        self._transport = Transport(url, attempts, timeout)
        self._owns_http = http is None
        self._http = self._open(timeout) if http is None else http
        self._of_tenants: dict[str, Self] = {}
        self._choosing = threading.Lock()
        self._start(token)

    def for_tenant(self, tenant: str) -> Self:
        """The same client with tokens for this tenant, in place of any other. Only with a client's id and secret.

        Calls for one tenant return the same object, which keeps its token.
        """
        with self._choosing:
            known = self._of_tenants.pop(tenant, None) or self._for(self._settings.for_tenant(tenant))
            # The one that was used last comes last.
            self._of_tenants[tenant] = known
            if len(self._of_tenants) > _MOST_TENANTS:
                del self._of_tenants[next(iter(self._of_tenants))]
            return known

    def _for(self, settings: Settings) -> Self:
        return type(self)(**vars(settings), http=self._http)

    def _open(self, timeout: float) -> Http:
        raise NotImplementedError

    def _start(self, token: Callable[[str | None], Given] | None) -> None:
        """Makes what sends: the tokens, the runner, and the files."""
        raise NotImplementedError
