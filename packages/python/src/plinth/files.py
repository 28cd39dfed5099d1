"""Files of one visibility. They belong to the client, not to the person who uses it, and may be shared."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal
from urllib.parse import quote

import httpx

from .errors import ConflictError, NotFoundError, error_of, no_answer
from .tokens import backoff
from .transport import Transport

_UPLOAD_ATTEMPTS = 4


class Files:
    def __init__(self, transport: Transport, public: bool) -> None:
        self._transport = transport
        self._base = "/media/v2/public/files" if public else "/media/v2/files"

    def upload(
        self,
        content: bytes | str,
        *,
        content_type: str = "application/octet-stream",
        file_name: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        tenant: str | None = None,
        shared: Literal["tenant"] | None = None,
        clip: str | Sequence[str] | None = None,
        crop: str | Sequence[str] | None = None,
    ) -> dict[str, Any]:
        """Stores bytes in three steps: create, send, commit. A lost answer is repeated; nothing is stored twice.

        `shared="tenant"` lets other clients of the tenant read the file, and change it with `media_admin`.
        """
        body = content.encode() if isinstance(content, str) else content
        created = self._transport.json(
            "POST",
            self._base,
            query={"clip": clip, "crop": crop},
            json={"Content-Type": content_type},
            # A file that nobody uploads is removed after a day.
            repeatable=True,
        )
        headers = {"content-type": content_type}
        if file_name is not None:
            headers["content-disposition"] = f"attachment; filename*=UTF-8''{quote(file_name, safe='')}"
        self._put(created["uploadLink"], body, headers)
        committed: dict[str, Any] = self._transport.json(
            "POST",
            f"{self._at(created['id'])}/commit",
            query={"tenant": tenant, "shared": shared},
            json=dict(metadata or {}),
            repeatable=True,
        )
        return committed

    def link(
        self,
        file_id: str,
        *,
        clip: str | None = None,
        crop: str | None = None,
        fallback: bool | None = None,
    ) -> str:
        """An address of the bytes or of a variant. A private one works for 15 minutes."""
        query = {"clip": clip, "crop": crop, "fallback": fallback}
        response = self._transport.send("GET", self._at(file_id), query=query)
        return str(response.headers["location"] if response.status_code == 302 else response.json()["link"])

    def download(self, file_id: str, *, clip: str | None = None, crop: str | None = None) -> bytes:
        # The link itself is the permission, and may lead to another host: it gets no token.
        response = self._transport.http.get(self.link(file_id, clip=clip, crop=crop))
        if not response.is_success:
            raise error_of(response)
        return response.content

    def list(
        self,
        *,
        tenant: str | None = None,
        shared: Literal["tenant"] | None = None,
        client: str | None = None,
        q: str | None = None,
        content_type: str | Sequence[str] | None = None,
        sort: str | Sequence[str] | None = None,
    ) -> Iterator[dict[str, Any]]:
        """Every file that matches, page by page as they are needed. `q`: `album:summer tags:sea`.

        `shared="tenant"`: the files that clients of the tenant share; the other conditions then need their `client`.
        """
        query = {
            "tenant": tenant,
            "shared": shared,
            "client": client,
            "q": q,
            "content-type": content_type,
            "sort": sort,
            "pageSize": 100,
        }
        return self._transport.pages(self._base, query)

    def metadata(self, file_id: str) -> dict[str, Any]:
        found: dict[str, Any] = self._transport.json("GET", f"{self._at(file_id)}/metadata")
        return found

    def set_metadata(self, file_id: str, metadata: Mapping[str, Any]) -> dict[str, Any]:
        """Replaces the metadata as a whole."""
        kept: dict[str, Any] = self._transport.json(
            "PUT", f"{self._at(file_id)}/metadata", json=dict(metadata)
        )
        return kept

    def delete(self, file_id: str) -> str | None:
        """Removes the file and its variants. The address of the report that proves it; a missing one is fine."""
        try:
            response = self._transport.send("DELETE", self._at(file_id))
        except NotFoundError:
            return None
        location: str | None = response.headers.get("location")
        return location

    def _at(self, file_id: str) -> str:
        return f"{self._base}/{quote(file_id, safe='')}"

    def _put(self, link: str, body: bytes, headers: Mapping[str, str]) -> None:
        for attempt in range(1, _UPLOAD_ATTEMPTS + 1):
            try:
                response = self._transport.http.put(link, content=body, headers=headers, timeout=None)
                if response.is_success:
                    return
                error = error_of(response)
            except httpx.TransportError as thrown:
                error = no_answer(f"The upload got no answer: {thrown}")
            # An answer was lost, and the bytes are there.
            if isinstance(error, ConflictError) and error.has("already_uploaded") and attempt > 1:
                return
            passes = error.status in (0, 429) or error.status >= 500
            if not passes or attempt == _UPLOAD_ATTEMPTS:
                raise error
            time.sleep(max(error.retry_after or 0, backoff(attempt, 0.5, 10)))
