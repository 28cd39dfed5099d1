"""The package while the platform, or the application's own function for tokens, does not answer."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import httpx
import jwt
import pytest

from conftest import URL
from plinth import (
    AsyncPlinth,
    AsyncTokenVerifier,
    AsyncTopic,
    Plinth,
    TokenVerifier,
    Topic,
    UnauthorizedError,
    UnavailableError,
)

# What a fetch of keys takes that does not get the published ones.
SILENCE = 1.0


def test_a_loop_of_another_tenant_gives_its_batch_back_when_the_client_closes(
    client: tuple[str, str], topic: Topic
) -> None:
    topic.publish("left")
    name = topic.status()["eventType"]

    async def run() -> None:
        async with AsyncPlinth(URL, client_id=client[0], client_secret=client[1]) as own:
            async for _ in own.for_tenant("demo").topic(client[0], name).consume():
                break

    asyncio.run(run())
    again = topic.read()
    assert again is not None
    topic.commit(again.token)


def test_many_loops_that_wait_leave_connections_to_others() -> None:
    waiting = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal waiting
        head = await reader.readuntil(b"\r\n\r\n")
        if b" /wait " in head:
            waiting += 1
            await asyncio.sleep(60)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        await writer.drain()

    async def run() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1")
        port = server.sockets[0].getsockname()[1]
        async with AsyncPlinth(f"http://127.0.0.1:{port}", token=lambda _: "token") as own:
            loops = [asyncio.create_task(own.request("GET", "/wait")) for _ in range(120)]
            while waiting < 100:
                await asyncio.sleep(0.05)
            await asyncio.wait_for(own.request("GET", "/quick"), 5)
            for loop in loops:
                loop.cancel()
            await asyncio.gather(*loops, return_exceptions=True)
        server.close()

    asyncio.run(run())


def test_an_upload_that_gets_no_answer_ends(
    plinth: Plinth, client: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("plinth.file_calls._ANSWER", SILENCE / 2)
    monkeypatch.setattr("plinth.file_calls._LINK_ATTEMPTS", 1)

    with socket.create_server(("127.0.0.1", 0)) as silent:

        class Elsewhere(httpx.HTTPTransport):
            def handle_request(self, request: httpx.Request) -> httpx.Response:
                if request.method == "PUT":
                    request.url = request.url.copy_with(host="127.0.0.1", port=silent.getsockname()[1])
                return super().handle_request(request)

        with httpx.Client(transport=Elsewhere()) as http:
            own = Plinth(URL, client_id=client[0], client_secret=client[1], http=http)
            with ThreadPoolExecutor() as pool, pytest.raises(UnavailableError):
                pool.submit(own.files.upload, b"bytes").result(5 * SILENCE)


def test_a_lock_is_renewed_although_the_function_for_tokens_fails_once(
    plinth: Plinth, client: tuple[str, str], topic: Topic
) -> None:
    failures: list[str] = []

    def token(_: str | None) -> str:
        if threading.current_thread().name == "plinth lock" and not failures:
            failures.append("once")
            raise RuntimeError("no token")
        return plinth.token()

    topic.publish("slow")
    with Plinth(URL, token=token) as own:
        for event in own.topic(client[0], topic.status()["eventType"]).consume(lock=1):
            time.sleep(2.5)
            event.ack()
            break
    assert failures == ["once"]
    assert topic.status()["lag"] == 0


def test_a_lock_is_renewed_although_the_function_for_tokens_fails_once_in_an_event_loop(
    plinth: Plinth, client: tuple[str, str], topic: Topic
) -> None:
    failures: list[str] = []

    async def token(_: str | None) -> str:
        task = asyncio.current_task()
        if task is not None and task.get_name() == "plinth lock" and not failures:
            failures.append("once")
            raise RuntimeError("no token")
        return plinth.token()

    async def consume_one(own: AsyncTopic) -> None:
        async for event in own.consume(lock=1):
            await asyncio.sleep(2.5)
            event.ack()
            break

    async def run() -> None:
        async with AsyncPlinth(URL, token=token) as own:
            await consume_one(own.topic(client[0], topic.status()["eventType"]))

    topic.publish("slow")
    asyncio.run(run())
    assert failures == ["once"]
    assert topic.status()["lag"] == 0


class Keys(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """The platform's keys, until they are withdrawn or the platform falls silent."""

    def __init__(self) -> None:
        self.state = "published"
        self.fetches = 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.fetches += 1
        if self.state != "published":
            time.sleep(SILENCE)
        return self._answer(request)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.fetches += 1
        if self.state != "published":
            await asyncio.sleep(SILENCE)
        return self._answer(request)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        if self.state == "silent":
            raise httpx.ReadTimeout("no answer")
        if self.state == "withdrawn":
            return httpx.Response(200, json={"keys": []})
        return httpx.Response(200, content=httpx.get(request.url).content)


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Moves the verifiers' clock on."""
    clock = {"ahead": 0.0}
    monkeypatch.setattr(
        "plinth.verify.time", SimpleNamespace(monotonic=lambda: time.monotonic() + clock["ahead"])
    )

    def move(seconds: float) -> None:
        clock["ahead"] += seconds

    return move


def of_unknown_key(token: str) -> str:
    claims = jwt.decode(token, options={"verify_signature": False})
    key = jwt.PyJWK.from_dict({"kty": "EC", "crv": "P-256", **EC_KEY}).key
    return jwt.encode(claims, key, "ES256", headers={"kid": "made-up", "typ": "at+jwt"})


# The example key of RFC 7515, A.3.
EC_KEY = {
    "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
    "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
    "d": "jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI",
}


def seconds_of(work: Callable[[], object]) -> float:
    began = time.monotonic()
    work()
    return time.monotonic() - began


def test_a_silent_platform_delays_no_check_of_a_known_key(plinth: Plinth, later: Callable[[float], None]) -> None:
    keys, token = Keys(), plinth.token()
    verify = TokenVerifier(URL, http=httpx.Client(transport=keys))
    verify(token)
    keys.state = "silent"

    later(1_801)
    with ThreadPoolExecutor(6) as pool:
        assert seconds_of(lambda: list(pool.map(verify, [token] * 6))) < SILENCE / 2
    assert keys.fetches == 2
    # A token of another key waits for the fetch that is under way, and the next one for none.
    with pytest.raises(UnavailableError):
        verify(of_unknown_key(token))
    with pytest.raises(UnavailableError):
        verify(of_unknown_key(token))
    assert keys.fetches == 2
    later(1_805)
    assert seconds_of(lambda: verify(token)) < SILENCE / 2
    time.sleep(SILENCE * 1.5)
    assert seconds_of(lambda: verify(token)) < SILENCE / 2
    assert keys.fetches == 3
    keys.state = "withdrawn"
    later(11)
    verify(token)
    time.sleep(SILENCE * 1.5)
    with pytest.raises(UnauthorizedError):
        verify(token)


def test_an_event_loop_waits_for_no_known_key_either(plinth: Plinth, later: Callable[[float], None]) -> None:
    keys, token = Keys(), plinth.token()

    async def run() -> None:
        verify = AsyncTokenVerifier(URL, http=httpx.AsyncClient(transport=keys))
        await verify(token)
        keys.state = "silent"
        later(1_801)
        began = time.monotonic()
        await asyncio.gather(*(verify(token) for _ in range(6)))
        assert time.monotonic() - began < SILENCE / 2
        # Whoever leaves ends no fetch that others wait for.
        waiting = [asyncio.create_task(verify(of_unknown_key(token))) for _ in range(2)]
        await asyncio.sleep(SILENCE / 4)
        waiting[0].cancel()
        with pytest.raises(UnavailableError):
            await waiting[1]
        await verify(token)
        assert keys.fetches == 2
        keys.state = "withdrawn"
        later(11)
        await verify(token)
        await asyncio.sleep(SILENCE * 1.5)
        with pytest.raises(UnauthorizedError):
            await verify(token)

    asyncio.run(run())


def test_a_key_that_was_withdrawn_is_not_accepted_after_a_quiet_hour(
    plinth: Plinth, later: Callable[[float], None]
) -> None:
    keys, token = Keys(), plinth.token()
    verify = TokenVerifier(URL, http=httpx.Client(transport=keys))
    verify(token)
    # One check waits for the silent platform; the next one, and those of the next hour, do not.
    keys.state = "silent"
    later(3_601)
    assert seconds_of(lambda: verify(token)) >= SILENCE
    assert seconds_of(lambda: verify(token)) < SILENCE / 2
    keys.state = "withdrawn"
    later(3_601)
    with pytest.raises(UnauthorizedError):
        verify(token)


class PoorLinks(httpx.HTTPTransport):
    """A download's link fails in these ways before it works: by silence, or by a 503 with this `Retry-After`."""

    def __init__(self, *failures: int | None) -> None:
        super().__init__()
        self.left = list(failures)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        is_link = request.method == "GET" and not request.url.path.startswith("/media/v2/files/")
        if not is_link or not self.left:
            return super().handle_request(request)
        retry_after = self.left.pop(0)
        if retry_after is None:
            raise httpx.ReadError("the connection was lost")
        body = {"status": 503, "type": "service_unavailable", "message": "no"}
        return httpx.Response(503, json=body, headers={"retry-after": str(retry_after)})


def test_a_download_is_repeated_after_no_answer_and_after_retry_after(
    plinth: Plinth, client: tuple[str, str]
) -> None:
    made = plinth.files.upload(b"some bytes", tenant="demo")
    links = PoorLinks(None, 1)
    with httpx.Client(transport=links) as http:
        own = Plinth(URL, client_id=client[0], client_secret=client[1], http=http)
        began = time.monotonic()
        assert own.files.download(made["id"]) == b"some bytes"
        assert time.monotonic() - began >= 1


@pytest.mark.parametrize(("failures", "left"), [([None] * 5, 1), ([61, 61], 1)])
def test_a_download_that_fails_to_the_end_or_for_long_is_an_unavailable_error(
    failures: list[int | None], left: int, plinth: Plinth, client: tuple[str, str]
) -> None:
    made = plinth.files.upload(b"some bytes", tenant="demo")
    links = PoorLinks(*failures)
    with httpx.Client(transport=links) as http:
        own = Plinth(URL, client_id=client[0], client_secret=client[1], http=http)
        with pytest.raises(UnavailableError):
            own.files.download(made["id"])
    assert len(links.left) == left


class Dripping(threading.Thread):
    """A server that sends a byte every tenth of a second: of the body, or of the headers too. Answers to the paths in
    `whole` come at once, and leave the connection open.
    """

    def __init__(self, *whole: str, headers: bool = False) -> None:
        super().__init__(daemon=True)
        self.whole = whole
        self.headers = headers
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listening.getsockname()[1]}"

    def run(self) -> None:
        while True:
            try:
                connection, _ = self.listening.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        try:
            while True:
                asked = b""
                while b"\r\n\r\n" not in asked:
                    asked += connection.recv(65_536)
                path = asked.split(b" ")[1].decode()
                if not any(path.endswith(one) for one in self.whole):
                    break
                body = b'{"access_token": "a.b.c", "expires_in": 3600}'
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            head = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n"
            for part in [bytes([byte]) for byte in head] if self.headers else [head + b"\r\n"]:
                connection.sendall(part)
                time.sleep(0.1)
            for _ in range(100):
                time.sleep(0.1)
                connection.sendall(b" ")
        except OSError:
            connection.close()


@pytest.mark.parametrize("headers", [False, True])
@pytest.mark.parametrize("whole", [(), ("/token",)])
def test_an_answer_that_comes_too_slowly_is_none(
    whole: tuple[str, ...], headers: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("plinth.tokens._ATTEMPTS", 1)
    slow = Dripping(*whole, headers=headers)
    slow.start()
    given = {"client_id": "a.b", "client_secret": "secret"}

    def ask() -> None:
        with Plinth(slow.url, **given, attempts=1, timeout=0.5) as own, pytest.raises(UnavailableError):
            own.request("GET", "/slow")

    async def ask_in_loop() -> None:
        async with AsyncPlinth(slow.url, **given, attempts=1, timeout=0.5) as own:
            with pytest.raises(UnavailableError):
                await own.request("GET", "/slow")

    try:
        assert seconds_of(ask) < 2
        assert seconds_of(lambda: asyncio.run(ask_in_loop())) < 2
    finally:
        slow.listening.close()


def test_keys_that_come_too_slowly_are_none(plinth: Plinth, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("plinth.verify.FETCH_TIMEOUT", 0.5)
    token = plinth.token()
    slow = Dripping()
    slow.start()

    def check() -> None:
        with pytest.raises(UnavailableError):
            TokenVerifier(slow.url)(token)

    try:
        assert seconds_of(check) < 2
    finally:
        slow.listening.close()
