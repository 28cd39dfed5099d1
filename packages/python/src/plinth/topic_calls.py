"""The requests of one topic, as flows."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import httpx

from .errors import ConflictError, ForbiddenError, NotFoundError
from .events import Batch, NewEvent, StoredEvent
from .flow import Flow
from .transport import Transport, own, segment

# The most that one publish takes.
_MAX_EVENTS = 1_000
_MAX_CHARS = 1_500_000
_PAGE = 100


class TopicCalls:
    def __init__(self, transport: Transport, owner: str, event_type: str, consumer: str | None) -> None:
        self._transport = transport
        topic = f"{segment('owner of a topic', owner)}/{segment('type of events', event_type)}"
        self._path = f"/pubsub/v1/topics/{topic}"
        self._owner = owner
        self._event_type = event_type
        self._consumer = {} if consumer is None else {"consumer": consumer}

    def create(self, description: str | None, shards: int | None) -> Flow[bool]:
        caller = yield from own("client_name")
        if caller and caller != self._owner:
            # The platform would make a topic of the caller.
            message = (
                f"Only {self._owner} creates its topics. This client makes those of {caller}: name that as the owner."
            )
            raise ForbiddenError(message, status=403, type="insufficient_permissions")
        body = {"eventType": self._event_type, "description": description, "shards": shards}
        given = {name: value for name, value in body.items() if value is not None}
        try:
            yield from self._transport.send("POST", "/pubsub/v1/topics", json=given)
        except ConflictError as thrown:
            if not thrown.has("topic_exists"):
                raise
            return False
        return True

    def status(self) -> Flow[dict[str, Any]]:
        found: dict[str, Any] = yield from self._transport.json("GET", self._path, headers=self._consumer)
        return found

    def delete(self) -> Flow[None]:
        try:
            yield from self._transport.send("DELETE", self._path)
        except NotFoundError:
            pass

    def publish(self, events: Any | Iterable[NewEvent], idempotency_key: str | None) -> Flow[list[str]]:
        several = isinstance(events, (list, tuple, Iterator))
        listed = list(events) if several else [events]
        if several and not all(isinstance(one, NewEvent) for one in listed):
            raise TypeError("Wrap each event of a list: NewEvent(payload). For a list as one payload, NewEvent([...]).")
        parts = list(_parts([_wire(one if isinstance(one, NewEvent) else NewEvent(one)) for one in listed]))
        key = idempotency_key or str(uuid.uuid4())
        ids: list[str] = []
        for at, part in enumerate(parts):
            part_key = key if len(parts) == 1 else f"{key}.{at}"
            answer = yield from self._transport.json(
                "POST",
                f"{self._path}/publish",
                json=part,
                headers={"idempotency-key": part_key},
                repeatable=True,
            )
            ids.extend(answer["ids"])
        return ids

    def read(self, key: str, num_events: int, ttl: float, wait: float) -> Flow[Batch | None]:
        headers = {**self._consumer, "idempotency-key": key}
        if wait > 0:
            headers["prefer"] = f"wait={round(wait) or 1}"
        response = yield from self._transport.send(
            "POST",
            f"{self._path}/read",
            json={"numEvents": num_events, "ttlMs": round(ttl * 1000)},
            headers=headers,
            repeatable=True,
            extra=wait,
        )
        if response.status_code == 204:
            return None
        body = response.json()
        return Batch(
            events=[StoredEvent.of(event) for event in body["events"]],
            token=body["token"],
            attempt=_number(response, "-delivery-attempt", 1),
            lost=_number(response, "-events-lost", 0),
        )

    def free_read(self, key: str, num_events: int, ttl: float) -> Flow[None]:
        """Frees what an interrupted read may have locked: its key brings the batch once more."""
        try:
            batch = yield from self.read(key, num_events, ttl, 0)
            if batch is not None:
                yield from self.release(batch.token, None)
        except Exception:
            # Nothing is locked, or the lock expires by itself.
            pass

    def commit(self, token: str) -> Flow[None]:
        yield from self._end("commit", {"token": token}, "already_committed")

    def extend(self, token: str, ttl: float) -> Flow[None]:
        yield from self._change("extend", {"token": token, "ttlMs": round(ttl * 1000)})

    def release(self, token: str, commit_through: str | None) -> Flow[None]:
        if commit_through is None:
            # The lock has ended, by the first attempt or by itself: the batch is back.
            yield from self._end("release", {"token": token}, "already_committed", "lock_expired")
        else:
            body = {"token": token, "commitThrough": commit_through}
            yield from self._end("release", body, "already_committed")

    def seek(self, to: str | int) -> Flow[None]:
        yield from self._change("seek", {"to": to})

    def peek(self, after: str | None) -> Flow[tuple[list[StoredEvent], str | None]]:
        """A page of stored events, and the id to go on after."""
        query = {"after": after, "limit": _PAGE}
        page = yield from self._transport.json("GET", f"{self._path}/events", query=query)
        return [StoredEvent.of(event) for event in page["events"]], page["next"]

    def _end(self, action: str, body: Mapping[str, Any], *done: str) -> Flow[None]:
        """`done`: refusals of a change that was done before, by an attempt whose answer was lost."""
        try:
            yield from self._change(action, body)
        except ConflictError as thrown:
            if not any(thrown.has(kind) for kind in done):
                raise

    def _change(self, action: str, body: Mapping[str, Any]) -> Flow[None]:
        yield from self._transport.send(
            "POST", f"{self._path}/{action}", headers=self._consumer, json=body, repeatable=True
        )


def _wire(event: NewEvent) -> dict[str, Any]:
    payload = event.payload if isinstance(event.payload, str) else json.dumps(event.payload, allow_nan=False)
    wire: dict[str, Any] = {"payload": payload}
    if event.metadata is not None:
        wire["metadata"] = dict(event.metadata)
    if event.tenant is not None:
        wire["tenant"] = event.tenant
    return wire


def _parts(events: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    part: list[dict[str, Any]] = []
    chars = 0
    for event in events:
        size = len(json.dumps(event))
        if part and (len(part) == _MAX_EVENTS or chars + size > _MAX_CHARS):
            yield part
            part, chars = [], 0
        part.append(event)
        chars += size
    if part:
        yield part


def _number(response: httpx.Response, suffix: str, default: int) -> int:
    for name, value in response.headers.items():
        if name.lower().endswith(suffix) and value.isdigit():
            return int(value)
    return default
