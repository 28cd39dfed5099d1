"""What both loops over events share: the event, what a batch has left to do, and how long to rest."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from .errors import ConflictError, PlinthError
from .events import Batch, StoredEvent
from .transport import backoff

# Proxies may cut a connection that is quiet for longer.
WAIT = 20.0
_FIRST_IDLE = 0.05
_MAX_IDLE = 1.0
# How often a loop that waits for the platform asks whether it is stopped.
STOP_ASKED = 1.0
_OUTAGE_MAX = 30.0
# Of a `Retry-After`, so that a loop notices what is changed by hand.
_RETRY_MAX = 300.0

OnUnavailable = Callable[[PlinthError], None]


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


class Progress:
    """The events of a locked batch, and how far they are acknowledged."""

    def __init__(self, batch: Batch) -> None:
        self.token = batch.token
        self.events = [ConsumedEvent(event, batch.attempt) for event in batch.events]

    @property
    def is_done(self) -> bool:
        return all(event.is_acknowledged for event in self.events)

    @property
    def handled_through(self) -> str | None:
        """The id of the last event before the first that is not acknowledged."""
        done: str | None = None
        for event in self.events:
            if not event.is_acknowledged:
                break
            done = event.id
        return done


class Rest:
    """Seconds to rest after a read that brought nothing: growing if the platform did not wait, none if it did."""

    def __init__(self) -> None:
        self._idle = _FIRST_IDLE

    def after(self, waited: float, refused: ConflictError | None) -> float:
        if waited >= _MAX_IDLE:
            return 0
        # Another worker of this client has the lock; it may end early.
        pause = self._idle if refused is None else min(_MAX_IDLE, refused.retry_after or _MAX_IDLE)
        self._idle = min(_MAX_IDLE, self._idle * 2)
        return pause * random.uniform(0.75, 1.25)


class Outages:
    """The times when the platform does not answer, after all attempts of a request."""

    def __init__(self, on_unavailable: OnUnavailable | None) -> None:
        self._tell = on_unavailable
        self._has_read = False
        self._failures = 0

    def end(self) -> None:
        """The platform answered."""
        self._has_read = True
        self._failures = 0

    def pause(self, error: PlinthError) -> float:
        """Seconds to wait before the loop goes on.

        Raises the error of a loop that has never read anything: its address may be wrong.
        """
        if not self._has_read:
            raise error
        if self._tell is not None:
            self._tell(error)
        self._failures += 1
        wait = max(error.retry_after or 0, backoff(self._failures, 0.5, _OUTAGE_MAX))
        return min(wait, _RETRY_MAX)
