"""What a client was given, and what follows from it for another tenant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from .transport import Transport


@dataclass(frozen=True)
class Settings:
    url: str
    client_id: str
    client_secret: str
    scopes: tuple[str, ...]
    platform: str
    attempts: int
    timeout: float

    @staticmethod
    def of(
        url: str,
        *,
        client_id: str,
        client_secret: str,
        scopes: Sequence[str],
        has_token: bool,
        platform: str,
        attempts: int,
        timeout: float,
    ) -> Settings:
        if has_token == (client_id != ""):
            raise TypeError("Give either client_id and client_secret, or token.")
        return Settings(url.rstrip("/"), client_id, client_secret, tuple(scopes), platform, attempts, timeout)

    def transport(self) -> Transport:
        return Transport(self.url, self.attempts, self.timeout)

    def for_tenant(self, tenant: str) -> Settings:
        if self.client_id == "":
            raise TypeError("A token is for one tenant already: for_tenant needs a client's id and secret.")
        return replace(self, scopes=(f"{self.platform}.tenant={tenant}", *self.scopes))
