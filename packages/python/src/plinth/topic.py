"""One topic: publish, read, commit, and the loop over its events."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import httpx

from .consume import ConsumedEvent, consume_each
from .errors import ConflictError, NotFoundError
from .transport import Transport

# The most that one publish takes.
_MAX_EVENTS = 1_000
_MAX_CHARS = 1_500_000


@dataclass(frozen=True)
class NewEvent:
    """An event to publish. A payload that is no text is sent as JSON."""

    payload: Any
    metadata: Mapping[str, str] | None = None
    # The tenant that the event is about; the token's own by default.
    tenant: str | None = None


@dataclass(frozen=True)
class StoredEvent:
    id: str
    # When it was published, in milliseconds since 1970.
    created_at: int
    tenant: str
    source_client: str
    event_type: str
    payload: str
    metadata: Mapping[str, str] = field(default_factory=dict)

    def json(self) -> Any:
        """The payload as JSON."""
        return json.loads(self.payload)

    @staticmethod
    def of(wire: Mapping[str, Any]) -> StoredEvent:
        return StoredEvent(
            id=wire["id"],
            created_at=wire["createdAt"],
            tenant=wire["tenant"],
            source_client=wire["sourceClient"],
            event_type=wire["eventType"],
            payload=wire["payload"],
            metadata=wire.get("metadata") or {},
        )


@dataclass(frozen=True)
class Batch:
    events: list[StoredEvent]
    # Commits, extends or releases the batch.
    token: str
    # How often the first event was delivered, this time included.
    attempt: int
    # Events that retention removed before this consumer read them.
    lost: int


class Topic:
    """`plinth.topic("acme.shop", "orderPlaced")`. A publish that is repeated stores its events once."""

    def __init__(self, transport: Transport, owner: str, event_type: str, consumer: str | None) -> None:
        self._transport = transport
        self._path = f"/pubsub/v1/topics/{quote(owner, safe='')}/{quote(event_type, safe='')}"
        self._event_type = event_type
        self._consumer = {} if consumer is None else {"consumer": consumer}

    def create(self, *, description: str | None = None, shards: int | None = None) -> bool:
        """Makes the topic. One that exists stays as it is. True if this call made it."""
        body = {"eventType": self._event_type, "description": description, "shards": shards}
        given = {name: value for name, value in body.items() if value is not None}
        try:
            self._transport.send("POST", "/pubsub/v1/topics", json=given)
        except ConflictError:
            return False
        return True

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = self._transport.json("GET", self._path, headers=self._consumer)
        return found

    def delete(self) -> None:
        """Deletes the topic with its events. A missing one is fine."""
        try:
            self._transport.send("DELETE", self._path)
        except NotFoundError:
            pass

    def publish(self, events: Any | Iterable[NewEvent], *, idempotency_key: str | None = None) -> list[str]:
        """Publishes one payload or event, or a list of `NewEvent`, in order; the ids.

        More than one request takes are sent in parts, each under a key of its own. Give `idempotency_key` to publish
        the same events at most once even after a crash.
        """
        several = isinstance(events, (list, tuple)) and all(isinstance(one, NewEvent) for one in events)
        listed = list(events) if several else [events]
        parts = list(_parts([_wire(one if isinstance(one, NewEvent) else NewEvent(one)) for one in listed]))
        key = idempotency_key or str(uuid.uuid4())
        ids: list[str] = []
        for at, part in enumerate(parts):
            part_key = key if len(parts) == 1 else f"{key}.{at}"
            answer = self._transport.json(
                "POST",
                f"{self._path}/publish",
                json=part,
                headers={"idempotency-key": part_key},
                repeatable=True,
            )
            ids.extend(answer["ids"])
        return ids

    def read(self, *, num_events: int = 100, ttl: float = 60, wait: float = 0) -> Batch | None:
        """Locks and returns the next events; None if there are none.

        `wait`: seconds to wait for the first one, at most 30. Commit the batch when its events are handled.
        """
        key = str(uuid.uuid4())
        try:
            return self._read_under(key, num_events, ttl, wait)
        except Exception:
            raise
        except BaseException:
            # Ctrl-C, say. Nobody would commit what the read may have locked.
            self._free_read(key, num_events, ttl)
            raise

    def _read_under(self, key: str, num_events: int, ttl: float, wait: float) -> Batch | None:
        headers = {**self._consumer, "idempotency-key": key}
        if wait > 0:
            headers["prefer"] = f"wait={round(wait) or 1}"
        response = self._transport.send(
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

    def _free_read(self, key: str, num_events: int, ttl: float) -> None:
        """Frees what an interrupted read may have locked: its key brings the batch once more."""
        try:
            batch = self._read_under(key, num_events, ttl, 0)
            if batch is not None:
                self.release(batch.token)
        except Exception:
            # Nothing is locked, or the lock expires by itself.
            pass

    def commit(self, token: str) -> None:
        """Ends a batch: its events are not read again."""
        self._end("commit", {"token": token})

    def extend(self, token: str, ttl: float) -> None:
        """Holds a batch for `ttl` seconds from now on."""
        self._change("extend", {"token": token, "ttlMs": round(ttl * 1000)})

    def release(self, token: str, commit_through: str | None = None) -> None:
        """Gives a batch back. `commit_through`: the id of its last event that is handled."""
        more = {} if commit_through is None else {"commitThrough": commit_through}
        self._end("release", {"token": token, **more})

    def seek(self, to: str | int) -> None:
        """Moves this consumer's cursor: to `oldest`, `newest`, or a time in milliseconds."""
        self._change("seek", {"to": to})

    def consume(
        self,
        *,
        batch_size: int = 100,
        lock: float = 60,
        stop: Callable[[], bool] = lambda: False,
        on_lost: Callable[[int], None] | None = None,
    ) -> Iterator[ConsumedEvent]:
        """Every event, without end. An event counts as handled when the next one is asked for, or by `ack`.

        An event is handled at least once: it comes again after a crash or an exception in the loop. `lock`: seconds,
        renewed at half of it. `stop` is asked between events and at least every 20 s.
        """
        return consume_each(self, batch_size=batch_size, lock=lock, stop=stop, on_lost=on_lost)

    def peek(self, after: str | None = None) -> Iterator[StoredEvent]:
        """Stored events in order, without a lock and without moving a cursor."""
        while True:
            query = {"after": after, "limit": 100}
            page = self._transport.json("GET", f"{self._path}/events", query=query)
            yield from map(StoredEvent.of, page["events"])
            after = page["next"]
            if after is None:
                return

    def _end(self, action: str, body: Mapping[str, Any]) -> None:
        try:
            self._change(action, body)
        except ConflictError as thrown:
            # A lost answer: the first attempt ended the batch.
            if not thrown.has("already_committed"):
                raise

    def _change(self, action: str, body: Mapping[str, Any]) -> None:
        self._transport.send(
            "POST", f"{self._path}/{action}", headers=self._consumer, json=body, repeatable=True
        )


def _wire(event: NewEvent) -> dict[str, Any]:
    payload = event.payload if isinstance(event.payload, str) else json.dumps(event.payload)
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
