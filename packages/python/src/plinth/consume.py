"""Reading without end:

    read ──batch──▶ deliver each ──all acknowledged──▶ commit ──▶ read …
      │                 │ a thread renews the lock at half its time
      │                 ├─ left, failed, stopped ──▶ release through the last acknowledged event in order
      │                 └─ lock lost (another reader may have the events) ──▶ read: the events come again
      ├─ nothing for 20 s ──▶ read: the platform waits, so an event comes at once
      ├─ locked by another worker of this client ──▶ wait
      └─ no answer, after all attempts ──▶ wait longer each time; if nothing was ever read, the loop ends with the error

`aio/consume.py` does the same in an event loop.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from .consumed import STOP_ASKED, WAIT, ConsumedEvent, OnUnavailable, Outages, Progress, Rest
from .errors import ConflictError, NotFoundError, RateLimitError, UnavailableError
from .events import Batch

if TYPE_CHECKING:
    from .topic import Topic

# Seconds in which a renewal that is on its way is answered, unless it must wait.
_RENEWAL = 1.0


def consume_each(
    topic: Topic,
    *,
    batch_size: int,
    lock: float,
    stop: Callable[[], bool],
    on_lost: Callable[[int], None] | None,
    on_unavailable: OnUnavailable | None,
) -> Iterator[ConsumedEvent]:
    outages = Outages(on_unavailable)
    while not stop():
        batch = _next_batch(topic, batch_size, lock, stop, outages)
        if batch is None:
            return
        held = _Held(topic, batch, lock)
        goes_on = False
        try:
            if batch.lost > 0 and on_lost is not None:
                on_lost(batch.lost)
            for event in held.progress.events:
                if held.is_lost or stop():
                    break
                yield event
                event.ack()
            goes_on = not stop()
        finally:
            try:
                held.end()
            except (UnavailableError, RateLimitError) as thrown:
                # What is not committed comes again.
                if not goes_on:
                    raise
                _rest(outages.pause(thrown), stop)


def _next_batch(
    topic: Topic, size: int, lock: float, stop: Callable[[], bool], outages: Outages
) -> Batch | None:
    rest = Rest()
    while not stop():
        began = time.monotonic()
        refused: ConflictError | None = None
        try:
            batch = topic.read(num_events=size, ttl=lock, wait=WAIT)
            outages.end()
            if batch is not None:
                return batch
        except (UnavailableError, RateLimitError) as thrown:
            _rest(outages.pause(thrown), stop)
            rest = Rest()
            continue
        except ConflictError as thrown:
            if thrown.type != "topic_locked":
                raise
            outages.end()
            refused = thrown
        time.sleep(rest.after(time.monotonic() - began, refused))
    return None


def _rest(seconds: float, stop: Callable[[], bool]) -> None:
    """Waits, unless the loop is stopped."""
    ends = time.monotonic() + seconds
    while not stop() and (left := ends - time.monotonic()) > 0:
        time.sleep(min(left, STOP_ASKED))


class _Held:
    """A locked batch whose lock is renewed until `end`."""

    def __init__(self, topic: Topic, batch: Batch, lock: float) -> None:
        self.progress = Progress(batch)
        self.is_lost = False
        self._topic = topic
        self._lock = lock
        self._ended = threading.Event()
        self._renewing = threading.Thread(target=self._renew, name="plinth lock", daemon=True)
        self._renewing.start()

    def _renew(self) -> None:
        pause = self._lock / 2
        while not self._ended.wait(pause):
            try:
                self._topic.extend(self.progress.token, self._lock)
                pause = self._lock / 2
            except (ConflictError, NotFoundError):
                # The lock or the topic is gone.
                self.is_lost = True
                return
            except Exception:
                # After any other failure, too many requests among them, it is tried again.
                pause = self._lock / 8

    def end(self) -> None:
        """Commits the batch, or gives back what is not acknowledged."""
        self._ended.set()
        # A renewal may be waiting for its next attempt, for longer than the lock lasts. It does no harm later.
        self._renewing.join(_RENEWAL)
        if self.is_lost:
            return
        progress = self.progress
        try:
            if progress.is_done:
                self._topic.commit(progress.token)
            else:
                self._topic.release(progress.token, progress.handled_through)
        except ConflictError:
            # The lock ended meanwhile: what is not committed comes again.
            pass
