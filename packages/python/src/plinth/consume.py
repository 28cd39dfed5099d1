"""Reading without end:

    read ──batch──▶ deliver each ──all acknowledged──▶ commit ──▶ read …
      │                 │ a thread renews the lock at half its time
      │                 ├─ left, failed, stopped ──▶ release through the last acknowledged event in order
      │                 └─ lock lost (another reader may have the events) ──▶ read: the events come again
      ├─ nothing for 20 s ──▶ read: the platform waits, so an event comes at once
      └─ locked by another worker of this client ──▶ wait
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from .errors import ConflictError, PlinthError

if TYPE_CHECKING:
    from .topic import Batch, StoredEvent, Topic

# Proxies may cut a connection that is quiet for longer.
_WAIT = 20.0
_MAX_IDLE = 1.0


class ConsumedEvent:
    """An event of the loop, with all fields of a stored one."""

    def __init__(self, event: StoredEvent, attempt: int) -> None:
        self.id = event.id
        self.created_at = event.created_at
        self.tenant = event.tenant
        self.source_client = event.source_client
        self.event_type = event.event_type
        self.payload = event.payload
        self.metadata = event.metadata
        # How often the batch of this event was delivered; more than 1 after a failure.
        self.attempt = attempt
        self.is_acknowledged = False
        self._stored = event

    def json(self) -> Any:
        """The payload as JSON."""
        return self._stored.json()

    def ack(self) -> None:
        """Marks the event as handled now; otherwise asking for the next one does."""
        self.is_acknowledged = True


def consume_each(
    topic: Topic,
    *,
    batch_size: int,
    lock: float,
    stop: Callable[[], bool],
    on_lost: Callable[[int], None] | None,
) -> Iterator[ConsumedEvent]:
    while not stop():
        batch = _next_batch(topic, batch_size, lock, stop)
        if batch is None:
            return
        if batch.lost > 0 and on_lost is not None:
            on_lost(batch.lost)
        held = _Held(topic, batch, lock)
        try:
            for event in held.events:
                if held.is_lost or stop():
                    break
                yield event
                event.ack()
        finally:
            held.end()


def _next_batch(topic: Topic, size: int, lock: float, stop: Callable[[], bool]) -> Batch | None:
    idle = 0.05
    while not stop():
        began = time.monotonic()
        try:
            batch = topic.read(num_events=size, ttl=lock, wait=_WAIT)
            if batch is not None:
                return batch
            pause = idle
        except ConflictError as thrown:
            # Another worker of this client has the lock; it may end early.
            if thrown.type != "topic_locked":
                raise
            pause = min(_MAX_IDLE, thrown.retry_after or _MAX_IDLE)
        if time.monotonic() - began < _MAX_IDLE:
            time.sleep(pause * random.uniform(0.75, 1.25))
            idle = min(_MAX_IDLE, idle * 2)
    return None


class _Held:
    """A locked batch whose lock is renewed until `end`."""

    def __init__(self, topic: Topic, batch: Batch, lock: float) -> None:
        self.events = [ConsumedEvent(event, batch.attempt) for event in batch.events]
        self.is_lost = False
        self._topic = topic
        self._token = batch.token
        self._lock = lock
        self._ended = threading.Event()
        self._renewing = threading.Thread(target=self._renew, name="plinth lock", daemon=True)
        self._renewing.start()

    def _renew(self) -> None:
        pause = self._lock / 2
        while not self._ended.wait(pause):
            try:
                self._topic.extend(self._token, self._lock)
                pause = self._lock / 2
            except PlinthError as thrown:
                # A refusal means that the lock is gone. After any other failure it is tried again.
                if 400 <= thrown.status < 500:
                    self.is_lost = True
                    return
                pause = self._lock / 8

    def end(self) -> None:
        """Commits the batch, or gives back what is not acknowledged."""
        self._ended.set()
        self._renewing.join()
        if self.is_lost:
            return
        done = next((at for at, event in enumerate(self.events) if not event.is_acknowledged), None)
        try:
            if done is None:
                self._topic.commit(self._token)
            else:
                self._topic.release(self._token, self.events[done - 1].id if done > 0 else None)
        except ConflictError:
            # The lock ended meanwhile: what is not committed comes again.
            pass
