"""What the package does, apart from how it waits.

A flow is a generator that yields steps and returns a result. `Runner` takes the steps in a thread, `AsyncRunner` in
an event loop. So each rule (what is repeated, when, under which key) stands once.

    def flow() -> Flow[str]:
        token = yield Token()
        response = yield Send("GET", url, {"headers": {"authorization": f"Bearer {token}"}})
        return response.text

A step that fails raises inside the flow, at its `yield`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Generator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import httpx


@dataclass(frozen=True)
class Send:
    """A request; the step's result is its answer."""

    method: str
    url: str
    # Those of `httpx.Client.request`.
    options: Mapping[str, Any]
    # Seconds until its answer must have come as a whole. None: as long as bytes come.
    within: float | None = None


@dataclass(frozen=True)
class Pause:
    seconds: float


@dataclass(frozen=True)
class Token:
    """The step's result is a valid access token."""


@dataclass(frozen=True)
class Refused:
    """The platform refused this token; the next one is a new one."""

    token: str


Step = Send | Pause | Token | Refused
T = TypeVar("T")
Flow = Generator[Step, Any, T]


class TokenSource(Protocol):
    def get(self) -> str:
        """A valid token."""

    def refuse(self, token: str) -> None:
        """The platform refused this token."""


class AsyncTokenSource(Protocol):
    async def get(self) -> str:
        """A valid token."""

    def refuse(self, token: str) -> None:
        """The platform refused this token."""


class Runner:
    """Takes the steps of a flow in this thread."""

    def __init__(self, http: httpx.Client, tokens: TokenSource | None = None) -> None:
        self.http = http
        self.tokens = tokens

    def run(self, flow: Flow[T]) -> T:
        try:
            step = next(flow)
            while True:
                try:
                    result = self._take(step)
                except Exception as thrown:
                    step = flow.throw(thrown)
                else:
                    step = flow.send(result)
        except StopIteration as ended:
            value: T = ended.value
            return value

    def _take(self, step: Step) -> Any:
        if isinstance(step, Send):
            return self._send(step)
        if isinstance(step, Pause):
            return time.sleep(step.seconds)
        assert self.tokens is not None
        return self.tokens.get() if isinstance(step, Token) else self.tokens.refuse(step.token)

    def _send(self, step: Send) -> httpx.Response:
        if step.within is None:
            return self.http.request(step.method, step.url, **step.options)
        ends = time.monotonic() + step.within
        with self.http.stream(step.method, step.url, timeout=step.within, **step.options) as response:
            assert isinstance(response.stream, httpx.SyncByteStream)
            response.stream = _Until(response.stream, ends)
            response.read()
        return response


class AsyncRunner:
    """Takes the steps of a flow in the running event loop."""

    def __init__(self, http: httpx.AsyncClient, tokens: AsyncTokenSource | None = None) -> None:
        self.http = http
        self.tokens = tokens

    async def run(self, flow: Flow[T]) -> T:
        try:
            step = next(flow)
            while True:
                try:
                    result = await self._take(step)
                except Exception as thrown:
                    step = flow.throw(thrown)
                else:
                    step = flow.send(result)
        except StopIteration as ended:
            value: T = ended.value
            return value

    async def _take(self, step: Step) -> Any:
        if isinstance(step, Send):
            return await self._send(step)
        if isinstance(step, Pause):
            return await asyncio.sleep(step.seconds)
        assert self.tokens is not None
        return await self.tokens.get() if isinstance(step, Token) else self.tokens.refuse(step.token)

    async def _send(self, step: Send) -> httpx.Response:
        if step.within is None:
            return await self.http.request(step.method, step.url, **step.options)
        ends = time.monotonic() + step.within
        async with self.http.stream(step.method, step.url, timeout=step.within, **step.options) as response:
            assert isinstance(response.stream, httpx.AsyncByteStream)
            response.stream = _AsyncUntil(response.stream, ends)
            await response.aread()
        return response


class _Until(httpx.SyncByteStream):
    """A body that must have come by `ends`. The timeouts of httpx only limit the silence between two parts."""

    def __init__(self, body: httpx.SyncByteStream, ends: float) -> None:
        self._body = body
        self._ends = ends

    def __iter__(self) -> Iterator[bytes]:
        for part in self._body:
            _check(self._ends)
            yield part

    def close(self) -> None:
        self._body.close()


class _AsyncUntil(httpx.AsyncByteStream):
    def __init__(self, body: httpx.AsyncByteStream, ends: float) -> None:
        self._body = body
        self._ends = ends

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._body:
            _check(self._ends)
            yield part

    async def aclose(self) -> None:
        await self._body.aclose()


def _check(ends: float) -> None:
    if time.monotonic() > ends:
        raise httpx.ReadTimeout("the answer did not come in time")
