"""Files of one visibility. They belong to the client, not to the person who uses it, and may be shared."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .file_calls import ALL, FileCalls, Names, Shared, All
from .flow import Runner
from .transport import Query

Pages = Callable[[str, Query | None], Iterator[Any]]


class Files:
    def __init__(self, runner: Runner, calls: FileCalls, pages: Pages) -> None:
        self._run = runner.run
        self._calls = calls
        self._pages = pages

    def upload(
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
        that fails leaves no file, so that none takes up the tenant's quota.
        """
        made: list[str] = []
        try:
            return self._run(
                self._calls.upload(content, content_type, file_name, metadata, tenant, shared, clip, crop, made)
            )
        except Exception:
            raise
        except BaseException:
            # Ctrl-C, say.
            self._run(self._calls.abandon(made))
            raise

    def link(
        self,
        file_id: str,
        *,
        clip: str | None = None,
        crop: str | None = None,
        fallback: bool | None = None,
    ) -> str:
        """An address of the bytes or of a variant. A private one works for 15 minutes."""
        return self._run(self._calls.link(file_id, clip, crop, fallback))

    def download(self, file_id: str, *, clip: str | None = None, crop: str | None = None) -> bytes:
        return self._run(self._calls.download(file_id, clip, crop))

    def list(
        self,
        *,
        tenant: str | None = None,
        shared: Shared = None,
        client: str | None = None,
        q: str | None = None,
        content_type: Names = None,
        sort: Names = None,
    ) -> Iterator[dict[str, Any]]:
        """Every file that matches, page by page as they are needed. `q`: `album:summer tags:sea`.

        `shared="tenant"`: the files that clients of the tenant share; the other conditions then need their `client`.
        """
        query = self._run(self._calls.list_query(tenant, shared, client, q, content_type, sort))
        yield from self._pages(self._calls.base, query)

    def metadata(self, file_id: str) -> dict[str, Any]:
        return self._run(self._calls.metadata(file_id))

    def set_metadata(self, file_id: str, metadata: Mapping[str, Any]) -> dict[str, Any]:
        """Replaces the metadata as a whole."""
        return self._run(self._calls.set_metadata(file_id, metadata))

    def variants(self, file_id: str) -> builtins.list[dict[str, Any]]:
        return self._run(self._calls.variants(file_id))

    def make_variants(
        self, file_id: str, *, clip: Names = None, crop: Names = None
    ) -> builtins.list[dict[str, Any]]:
        """Asks for variants and waits until each is `ready` or `failed`, at most a minute."""
        return self._run(self._calls.make_variants(file_id, clip, crop))

    def delete(self, file_id: str) -> str | None:
        """Removes the file and its variants. The address of the report that proves it; a missing one is fine."""
        return self._run(self._calls.delete(file_id))

    def count(self, *, tenant: str | None = None, q: str | All = ALL) -> dict[str, int]:
        """Counts the `files` and `bytes` that `delete_all` would remove."""
        return self._run(self._calls.count(tenant, q))

    def delete_all(self, *, tenant: str | None = None, q: str | All = ALL) -> str | None:
        """Removes the files that match `q`, of the token's own tenant by default. The address of the report.

        Without `q`, name the tenant: all of its files go.
        """
        return self._run(self._calls.delete_all(tenant, q))
