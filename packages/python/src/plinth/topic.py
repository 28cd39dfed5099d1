"""One topic: publish, read, commit, and the loop over its events."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .consume import consume_each
from .consumed import ConsumedEvent, OnUnavailable
from .events import Batch, NewEvent, StoredEvent
from .flow import Runner
from .topic_calls import TopicCalls


class Topic:
    """`plinth.topic("acme.shop", "orderPlaced")`. A publish that is repeated stores its events once."""

    def __init__(self, runner: Runner, calls: TopicCalls) -> None:
        self._run = runner.run
        self._calls = calls

    def create(self, *, description: str | None = None, shards: int | None = None) -> bool:
        """Makes the topic. One that exists stays as it is. True if this call made it.

        Raises while an earlier topic of this name is being deleted.
        """
        return self._run(self._calls.create(description, shards))

    def status(self) -> dict[str, Any]:
        return self._run(self._calls.status())

    def delete(self) -> None:
        """Deletes the topic with its events. A missing one is fine."""
        self._run(self._calls.delete())

    def publish(self, events: Any | Iterable[NewEvent], *, idempotency_key: str | None = None) -> list[str]:
        """Publishes one payload or event, or a list of `NewEvent`, in order; the ids.

        Give `idempotency_key` to publish the same events at most once even after a crash.

        More than 1,000 events, or 1.5 million characters, are sent in parts, each under a key of its own. A part that
        fails ends the call; the parts before it are stored. To send the rest without storing those again, give an
        `idempotency_key` and repeat the call with the same key and events.
        """
        return self._run(self._calls.publish(events, idempotency_key))

    def read(self, *, num_events: int = 100, ttl: float = 60, wait: float = 0) -> Batch | None:
        """Locks and returns the next events; None if there are none.

        `wait`: seconds to wait for the first one, at most 30. Commit the batch when its events are handled.
        """
        key = str(uuid.uuid4())
        try:
            return self._run(self._calls.read(key, num_events, ttl, wait))
        except Exception:
            raise
        except BaseException:
            # Ctrl-C, say. Nobody would commit what the read may have locked.
            self._run(self._calls.free_read(key, num_events, ttl))
            raise

    def commit(self, token: str) -> None:
        """Ends a batch: its events are not read again."""
        self._run(self._calls.commit(token))

    def extend(self, token: str, ttl: float) -> None:
        """Holds a batch for `ttl` seconds from now on."""
        self._run(self._calls.extend(token, ttl))

    def release(self, token: str, commit_through: str | None = None) -> None:
        """Gives a batch back. `commit_through`: the id of its last event that is handled.

        Without it, a batch whose lock has ended is back already.
        """
        self._run(self._calls.release(token, commit_through))

    def seek(self, to: str | int) -> None:
        """Moves this consumer's cursor: to `oldest`, `newest`, or a time in milliseconds."""
        self._run(self._calls.seek(to))

    def consume(
        self,
        *,
        batch_size: int = 100,
        lock: float = 60,
        stop: Callable[[], bool] = lambda: False,
        on_lost: Callable[[int], None] | None = None,
        on_unavailable: OnUnavailable | None = None,
    ) -> Iterator[ConsumedEvent]:
        """Every event, without end. An event counts as handled when the next one is asked for, or by `ack`.

        An event is handled at least once: it comes again after a crash or an exception in the loop. `lock`: seconds,
        renewed at half of it. `stop` is asked between events and at least every 20 s.

        While the platform does not answer, the loop waits and then goes on. `on_unavailable` gets each error that was
        not passed by repeating; if it raises, the loop ends with that. A loop whose first read fails ends.
        """
        return consume_each(
            self,
            batch_size=batch_size,
            lock=lock,
            stop=stop,
            on_lost=on_lost,
            on_unavailable=on_unavailable,
        )

    def peek(self, after: str | None = None) -> Iterator[StoredEvent]:
        """Stored events in order, without a lock and without moving a cursor."""
        while True:
            events, after = self._run(self._calls.peek(after))
            yield from events
            if after is None:
                return
