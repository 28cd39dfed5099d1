"""One topic in an event loop. Each method does what the one of `plinth.Topic` does."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

from ..consumed import ConsumedEvent, OnUnavailable
from ..events import Batch, NewEvent, StoredEvent
from ..flow import AsyncRunner
from ..topic_calls import TopicCalls
from .consume import consume_each
from .unfinished import Unfinished

# A cancelled read waits so long for its batch to be given back; then it goes on in the background.
_FREE = 5.0


class AsyncTopic:
    """`plinth.topic("acme.shop", "orderPlaced")` of an `AsyncPlinth`."""

    def __init__(self, runner: AsyncRunner, calls: TopicCalls, unfinished: Unfinished) -> None:
        self._run = runner.run
        self._calls = calls
        self._unfinished = unfinished

    async def create(self, *, description: str | None = None, shards: int | None = None) -> bool:
        """Makes the topic. One that exists stays as it is. True if this call made it."""
        return await self._run(self._calls.create(description, shards))

    async def status(self) -> dict[str, Any]:
        return await self._run(self._calls.status())

    async def delete(self) -> None:
        """Deletes the topic with its events. A missing one is fine."""
        await self._run(self._calls.delete())

    async def publish(
        self, events: Any | Iterable[NewEvent], *, idempotency_key: str | None = None
    ) -> list[str]:
        """Publishes one payload or event, or a list of `NewEvent`, in order; the ids."""
        return await self._run(self._calls.publish(events, idempotency_key))

    async def read(self, *, num_events: int = 100, ttl: float = 60, wait: float = 0) -> Batch | None:
        """Locks and returns the next events; None if there are none. `wait`: seconds, at most 30."""
        key = str(uuid.uuid4())
        try:
            return await self._run(self._calls.read(key, num_events, ttl, wait))
        except asyncio.CancelledError:
            # Nobody would commit what the read may have locked.
            freeing = self._unfinished.start(self._run(self._calls.free_read(key, num_events, ttl)))
            await asyncio.wait([freeing], timeout=_FREE)
            raise

    async def commit(self, token: str) -> None:
        """Ends a batch: its events are not read again."""
        await self._run(self._calls.commit(token))

    async def extend(self, token: str, ttl: float) -> None:
        """Holds a batch for `ttl` seconds from now on."""
        await self._run(self._calls.extend(token, ttl))

    async def release(self, token: str, commit_through: str | None = None) -> None:
        """Gives a batch back. `commit_through`: the id of its last event that is handled."""
        await self._run(self._calls.release(token, commit_through))

    async def seek(self, to: str | int) -> None:
        """Moves this consumer's cursor: to `oldest`, `newest`, or a time in milliseconds."""
        await self._run(self._calls.seek(to))

    def consume(
        self,
        *,
        batch_size: int = 100,
        lock: float = 60,
        stop: Callable[[], bool] = lambda: False,
        on_lost: Callable[[int], None] | None = None,
        on_unavailable: OnUnavailable | None = None,
    ) -> AsyncIterator[ConsumedEvent]:
        """Every event, without end: `async for event in topic.consume()`.

        An event counts as handled when the next one is asked for, or by `ack`. Leave the loop by `break`, by
        cancelling its task, or by `stop`: what is not handled is given back, at the latest when the client closes.
        """
        return consume_each(
            self,
            self._unfinished,
            batch_size=batch_size,
            lock=lock,
            stop=stop,
            on_lost=on_lost,
            on_unavailable=on_unavailable,
        )

    async def peek(self, after: str | None = None) -> AsyncIterator[StoredEvent]:
        """Stored events in order, without a lock and without moving a cursor."""
        while True:
            events, after = await self._run(self._calls.peek(after))
            for event in events:
                yield event
            if after is None:
                return
