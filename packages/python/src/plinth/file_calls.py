"""The requests of files of one visibility, as flows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal
from urllib.parse import quote

import httpx

from .errors import ConflictError, NotFoundError, PlinthError, error_of, no_answer
from .flow import Flow, Pause, Send
from .transport import Query, Transport, backoff, own, segment

# How often a link is followed, and the longest pause; after a longer `Retry-After`, the error goes to the caller.
_LINK_ATTEMPTS = 4
_MAX_WAIT = 60.0
# Seconds in which an upload is answered after its last byte: a proxy may send all of it on only then.
_ANSWER = 300.0
# The longest time for which a failed upload tries to remove its file.
_ABANDON = 2.0
_PAGE_SIZE = 100
# Seconds in which a queue makes the variants of an image, unless it is very busy.
_READY_MAX = 60.0

Names = str | Sequence[str] | None
Shared = Literal["tenant"] | None


class All:
    """In place of a query: all files of a tenant."""


ALL = All()


def _bytes_of(content: Any) -> bytes:
    """A stream is refused: nothing would be left of it for a second attempt."""
    if isinstance(content, str):
        return content.encode()
    if isinstance(content, (bytes, bytearray, memoryview)):
        return bytes(content)
    raise TypeError("Give bytes or a text. A stream cannot be sent again: read it first.")


class FileCalls:
    def __init__(self, transport: Transport, public: bool) -> None:
        self._transport = transport
        self.base = "/media/v2/public/files" if public else "/media/v2/files"

    def upload(
        self,
        content: bytes | str,
        content_type: str,
        file_name: str | None,
        metadata: Mapping[str, Any] | None,
        tenant: str | None,
        shared: Shared,
        clip: Names,
        crop: Names,
        made: list[str],
    ) -> Flow[dict[str, Any]]:
        """`made` gets the id of the file, so that it can be removed if this is broken off."""
        body = _bytes_of(content)
        created = yield from self._transport.json(
            "POST",
            self.base,
            query={"clip": clip, "crop": crop},
            json={"Content-Type": content_type},
            # A file that nobody uploads is removed after a day.
            repeatable=True,
        )
        headers = {"content-type": content_type}
        if file_name is not None:
            name = quote(re.sub("[\ud800-\udfff]", "\ufffd", file_name), safe="")
            headers["content-disposition"] = f"attachment; filename*=UTF-8''{name}"
        made.append(created["id"])
        try:
            yield from self._put(created["uploadLink"], body, headers)
            committed: dict[str, Any] = yield from self._transport.json(
                "POST",
                f"{self._at(created['id'])}/commit",
                query={"tenant": tenant, "shared": shared},
                json=dict(metadata or {}),
                repeatable=True,
            )
        except Exception:
            yield from self.abandon(made)
            raise
        return committed

    def abandon(self, made: list[str]) -> Flow[None]:
        """Removes a file whose id nobody gets to know. If this fails, one that is not committed goes after a day."""
        for file_id in made:
            try:
                yield from self._transport.send("DELETE", self._at(file_id), attempts=1, timeout=_ABANDON)
            except Exception:
                pass

    def link(self, file_id: str, clip: str | None, crop: str | None, fallback: bool | None) -> Flow[str]:
        query = {"clip": clip, "crop": crop, "fallback": fallback}
        response = yield from self._transport.send("GET", self._at(file_id), query=query)
        return str(response.headers["location"] if response.status_code == 302 else response.json()["link"])

    def download(self, file_id: str, clip: str | None, crop: str | None) -> Flow[bytes]:
        link = yield from self.link(file_id, clip, crop, None)
        attempt = 1
        while True:
            try:
                # The link itself is the permission, and may lead to another host: it gets no token.
                response: httpx.Response = yield Send("GET", link, {})
                if response.is_success:
                    return response.content
                error = error_of(response)
            except httpx.RequestError as thrown:
                error = no_answer(f"The download got no answer: {thrown}")
            yield _pause_after(error, attempt)
            attempt += 1

    def list_query(
        self,
        tenant: str | None,
        shared: Shared,
        client: str | None,
        q: str | None,
        content_type: Names,
        sort: Names,
    ) -> Flow[Query]:
        return {
            "tenant": tenant or (yield from own("tenant")),
            "shared": shared,
            "client": client,
            "q": q,
            "content-type": content_type,
            "sort": sort,
            "pageSize": _PAGE_SIZE,
        }

    def metadata(self, file_id: str) -> Flow[dict[str, Any]]:
        found: dict[str, Any] = yield from self._transport.json("GET", f"{self._at(file_id)}/metadata")
        return found

    def set_metadata(self, file_id: str, metadata: Mapping[str, Any]) -> Flow[dict[str, Any]]:
        kept: dict[str, Any] = yield from self._transport.json(
            "PUT", f"{self._at(file_id)}/metadata", json=dict(metadata)
        )
        return kept

    def delete(self, file_id: str) -> Flow[str | None]:
        try:
            response = yield from self._transport.send("DELETE", self._at(file_id))
        except NotFoundError:
            return None
        location: str | None = response.headers.get("location")
        return location

    def count(self, tenant: str | None, q: str | All) -> Flow[dict[str, int]]:
        query = {"tenant": tenant or (yield from own("tenant")), "q": _query(q), "dryRun": True}
        counted: dict[str, int] = yield from self._transport.json("DELETE", self.base, query=query)
        return counted

    def delete_all(self, tenant: str | None, q: str | All) -> Flow[str | None]:
        term = _query(q)
        query = {"tenant": tenant or (None if term is None else (yield from own("tenant"))), "q": term}
        response = yield from self._transport.send("DELETE", self.base, query=query)
        location: str | None = response.headers.get("location")
        return location

    def variants(self, file_id: str) -> Flow[list[dict[str, Any]]]:
        found: list[dict[str, Any]] = yield from self._transport.json("GET", f"{self._at(file_id)}/variants")
        return found

    def make_variants(self, file_id: str, clip: Names, crop: Names) -> Flow[list[dict[str, Any]]]:
        variants: list[dict[str, Any]] = yield from self._transport.json(
            "POST", f"{self._at(file_id)}/variants", query={"clip": clip, "crop": crop}, repeatable=True
        )
        pause, waited = 0.1, 0.0
        while waited < _READY_MAX and any(variant["state"] == "pending" for variant in variants):
            yield Pause(pause)
            waited += pause
            pause = min(2.0, pause * 1.5)
            variants = yield from self.variants(file_id)
        return variants

    def _at(self, file_id: str) -> str:
        return f"{self.base}/{segment('id of a file', file_id)}"

    def _put(self, link: str, body: bytes, headers: Mapping[str, str]) -> Flow[None]:
        attempt = 1
        while True:
            try:
                timeout = httpx.Timeout(self._transport.timeout, read=_ANSWER)
                response: httpx.Response = yield Send(
                    "PUT", link, {"content": body, "headers": headers, "timeout": timeout}
                )
                if response.is_success:
                    return
                error = error_of(response)
            except httpx.RequestError as thrown:
                error = no_answer(f"The upload got no answer: {thrown}")
            # An earlier attempt, whose answer was lost, has stored the bytes, or is still storing them.
            is_behind = isinstance(error, ConflictError) and attempt > 1
            if is_behind and error.has("already_uploaded"):
                return
            yield _pause_after(error, attempt, is_behind and error.has("upload_changed"))
            attempt += 1


def _query(q: str | All) -> str | None:
    """Raises for None: a query that was forgotten would widen a deletion unseen."""
    if q is None:
        raise TypeError("q is None. To mean all files, leave it out.")
    return None if isinstance(q, All) else q


def _pause_after(error: PlinthError, attempt: int, is_passing: bool = False) -> Pause:
    """The pause before a link is followed again. Raises the error if that is of no use."""
    wait = max(error.retry_after or 0, backoff(attempt, 0.5, 10))
    passes = is_passing or error.status in (0, 429) or error.status >= 500
    if not passes or attempt >= _LINK_ATTEMPTS or wait > _MAX_WAIT:
        raise error
    return Pause(wait)
