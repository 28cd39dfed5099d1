"""Files of one visibility in an event loop. Each method does what the one of `plinth.Files` does."""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from typing import Any

from ..file_calls import ALL, FileCalls, Names, Shared, All
from ..flow import AsyncRunner
from ..transport import Query

# Starts work that goes on when its caller is cancelled, until the client closes.
Beside = Callable[[Coroutine[Any, Any, None]], "asyncio.Task[None]"]
Pages = Callable[[str, Query | None], AsyncIterator[Any]]


class AsyncFiles:
    def __init__(self, runner: AsyncRunner, calls: FileCalls, pages: Pages, beside: Beside) -> None:
        self._run = runner.run
        self._beside = beside
        self._calls = calls
        self._pages = pages

    async def upload(
        self,
        content: bytes | str,
        *,
        content_type: str = "application/octet-stream",
        file_name: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        tenant: str | None = None,
        shared: Shared = None,
        clip: Names = None,
        crop: Names = None,
    ) -> dict[str, Any]:
        """Stores bytes in three steps: create, send, commit. A lost answer is repeated; nothing is stored twice.

        `shared="tenant"` lets other clients of the tenant read the file, and change it with `media_admin`. An upload
        that fails or is cancelled leaves no file, so that none takes up the tenant's quota.
        """
        made: list[str] = []
        try:
            return await self._run(
                self._calls.upload(content, content_type, file_name, metadata, tenant, shared, clip, crop, made)
            )
        except asyncio.CancelledError:
            await asyncio.wait([self._beside(self._run(self._calls.abandon(made)))])
            raise

    async def link(
        self,
        file_id: str,
        *,
        clip: str | None = None,
        crop: str | None = None,
        fallback: bool | None = None,
    ) -> str:
        """An address of the bytes or of a variant. A private one works for 15 minutes."""
        return await self._run(self._calls.link(file_id, clip, crop, fallback))

    async def download(self, file_id: str, *, clip: str | None = None, crop: str | None = None) -> bytes:
        return await self._run(self._calls.download(file_id, clip, crop))

    async def list(
        self,
        *,
        tenant: str | None = None,
        shared: Shared = None,
        client: str | None = None,
        q: str | None = None,
        content_type: Names = None,
        sort: Names = None,
    ) -> AsyncIterator[dict[str, Any]]:
        """Every file that matches, page by page as they are needed. `q`: `album:summer tags:sea`.

        `shared="tenant"`: the files that clients of the tenant share; the other conditions then need their `client`.
        """
        query = await self._run(self._calls.list_query(tenant, shared, client, q, content_type, sort))
        async for file in self._pages(self._calls.base, query):
            yield file

    async def metadata(self, file_id: str) -> dict[str, Any]:
        return await self._run(self._calls.metadata(file_id))

    async def set_metadata(self, file_id: str, metadata: Mapping[str, Any]) -> dict[str, Any]:
        """Replaces the metadata as a whole."""
        return await self._run(self._calls.set_metadata(file_id, metadata))

    async def variants(self, file_id: str) -> builtins.list[dict[str, Any]]:
        return await self._run(self._calls.variants(file_id))

    async def make_variants(
        self, file_id: str, *, clip: Names = None, crop: Names = None
    ) -> builtins.list[dict[str, Any]]:
        """Asks for variants and waits until each is `ready` or `failed`, at most a minute."""
        return await self._run(self._calls.make_variants(file_id, clip, crop))

    async def delete(self, file_id: str) -> str | None:
        """Removes the file and its variants. The address of the report that proves it; a missing one is fine."""
        return await self._run(self._calls.delete(file_id))

    async def count(self, *, tenant: str | None = None, q: str | All = ALL) -> dict[str, int]:
        """Counts the `files` and `bytes` that `delete_all` would remove."""
        return await self._run(self._calls.count(tenant, q))

    async def delete_all(self, *, tenant: str | None = None, q: str | All = ALL) -> str | None:
        """Removes the files that match `q`, of the token's own tenant by default. The address of the report.

        Without `q`, name the tenant: all of its files go.
        """
        return await self._run(self._calls.delete_all(tenant, q))
