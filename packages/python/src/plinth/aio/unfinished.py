"""What a client must still give back before it closes: batches that are held, reads that were cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Protocol


class Held(Protocol):
    async def end(self) -> None:
        """Commits or releases; a second call waits for the first."""


class Unfinished:
    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._held: set[Held] = set()

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Work that goes on when whoever started it is cancelled."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def hold(self, held: Held) -> None:
        self._held.add(held)

    def drop(self, held: Held) -> None:
        self._held.discard(held)

    async def finish(self) -> None:
        """Ends all of it. A failure leaves a lock that expires by itself."""
        await asyncio.gather(*(held.end() for held in tuple(self._held)), return_exceptions=True)
        await asyncio.gather(*self._tasks, return_exceptions=True)
