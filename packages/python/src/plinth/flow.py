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
import threading
import time
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import anyio
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
        _limit.ends = None if step.within is None else time.monotonic() + step.within
        try:
            return self.http.request(step.method, step.url, **_options(step), extensions={"trace": _bound})
        finally:
            _limit.ends = None


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
        try:
            with anyio.fail_after(step.within):
                return await self.http.request(step.method, step.url, **_options(step))
        except TimeoutError:
            raise httpx.ReadTimeout(_LATE) from None


def _options(step: Send) -> dict[str, Any]:
    return {**step.options} if step.within is None else {"timeout": step.within, **step.options}


_LATE = "the answer did not come in time"


class _Limit(threading.local):
    """Until when the answer that this thread waits for must have come, by the monotonic clock."""

    ends: float | None = None


_limit = _Limit()


def _bound(event: str, info: Mapping[str, Any]) -> None:
    """Lets no read of a new connection wait beyond the limit. The timeouts of httpx only limit the silence between two
    parts of an answer, be it of its headers or of its body.
    """
    if not event.endswith(("connect_tcp.complete", "start_tls.complete", "connect_unix_socket.complete")):
        return
    connection = info["return_value"]
    read = connection.read

    def read_until(max_bytes: int, timeout: float | None = None) -> bytes:
        if _limit.ends is not None:
            left = _limit.ends - time.monotonic()
            if left <= 0:
                raise httpx.ReadTimeout(_LATE)
            timeout = left if timeout is None else min(timeout, left)
        got: bytes = read(max_bytes, timeout)
        return got

    connection.read = read_until
