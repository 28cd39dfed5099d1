"""The loop of `../consume.py` in an event loop: a task renews the lock."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

from ..consumed import STOP_ASKED, WAIT, ConsumedEvent, OnUnavailable, Outages, Progress, Rest
from ..errors import ConflictError, NotFoundError, RateLimitError, UnavailableError
from ..events import Batch
from .unfinished import Unfinished

if TYPE_CHECKING:
    from .topic import AsyncTopic


async def consume_each(
    topic: AsyncTopic,
    unfinished: Unfinished,
    *,
    batch_size: int,
    lock: float,
    stop: Callable[[], bool],
    on_lost: Callable[[int], None] | None,
    on_unavailable: OnUnavailable | None,
) -> AsyncIterator[ConsumedEvent]:
    outages = Outages(on_unavailable)
    while not stop():
        batch = await _next_batch(topic, batch_size, lock, stop, outages)
        if batch is None:
            return
        held = _Held(topic, batch, lock, unfinished)
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
                await held.end()
            except (UnavailableError, RateLimitError) as thrown:
                # What is not committed comes again.
                if not goes_on:
                    raise
                await _rest(outages.pause(thrown), stop)


async def _next_batch(
    topic: AsyncTopic, size: int, lock: float, stop: Callable[[], bool], outages: Outages
) -> Batch | None:
    rest = Rest()
    while not stop():
        began = time.monotonic()
        refused: ConflictError | None = None
        try:
            batch = await topic.read(num_events=size, ttl=lock, wait=WAIT)
            outages.end()
            if batch is not None:
                return batch
        except (UnavailableError, RateLimitError) as thrown:
            await _rest(outages.pause(thrown), stop)
            rest = Rest()
            continue
        except ConflictError as thrown:
            if thrown.type != "topic_locked":
                raise
            outages.end()
            refused = thrown
        await asyncio.sleep(rest.after(time.monotonic() - began, refused))
    return None


async def _rest(seconds: float, stop: Callable[[], bool]) -> None:
    """Waits, unless the loop is stopped."""
    ends = time.monotonic() + seconds
    while not stop() and (left := ends - time.monotonic()) > 0:
        await asyncio.sleep(min(left, STOP_ASKED))


class _Held:
    """A locked batch whose lock is renewed until `end`."""

    def __init__(self, topic: AsyncTopic, batch: Batch, lock: float, unfinished: Unfinished) -> None:
        self.progress = Progress(batch)
        self.is_lost = False
        self._topic = topic
        self._lock = lock
        self._unfinished = unfinished
        self._ending: asyncio.Task[None] | None = None
        self._renewing = asyncio.create_task(self._renew(), name="plinth lock")
        unfinished.hold(self)
        # A traceback may keep the loop of a task that failed or was cancelled, so the task's end counts too.
        self._reader = asyncio.current_task()
        if self._reader is not None:
            self._reader.add_done_callback(self._leave)

    def _leave(self, _: asyncio.Task[Any]) -> None:
        self._unfinished.start(self.end())

    async def _renew(self) -> None:
        pause = self._lock / 2
        while True:
            await asyncio.sleep(pause)
            try:
                await self._topic.extend(self.progress.token, self._lock)
                pause = self._lock / 2
            except (ConflictError, NotFoundError):
                # The lock or the topic is gone.
                self.is_lost = True
                return
            except Exception:
                # After any other failure, too many requests among them, it is tried again.
                pause = self._lock / 8

    async def end(self) -> None:
        """Commits the batch, or gives back what is not acknowledged: also if the loop's task is cancelled."""
        if self._ending is None:
            self._ending = self._unfinished.start(self._finish())
            self._unfinished.drop(self)
            if self._reader is not None:
                self._reader.remove_done_callback(self._leave)
        await asyncio.shield(self._ending)

    async def _finish(self) -> None:
        self._renewing.cancel()
        await asyncio.wait([self._renewing])
        if self.is_lost:
            return
        progress = self.progress
        try:
            if progress.is_done:
                await self._topic.commit(progress.token)
            else:
                await self._topic.release(progress.token, progress.handled_through)
        except ConflictError:
            # The lock ended meanwhile: what is not committed comes again.
            pass
