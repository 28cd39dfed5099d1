"""Tokens while the token endpoint fails in ways that a platform seldom shows."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import parse_qs

import httpx
import pytest

import plinth.tokens
from plinth import AsyncPlinth, Plinth, UnavailableError

Answer = Callable[[], httpx.Response]
HELD = 1.0
_HOUR = 3_600


def granted(name: str, life: float = _HOUR) -> Answer:
    return lambda: httpx.Response(200, json={"access_token": name, "expires_in": life})


def busy(retry_after: int) -> Answer:
    return lambda: httpx.Response(503, headers={"retry-after": str(retry_after)})


def slowly(answer: Answer) -> Answer:
    def wait() -> httpx.Response:
        time.sleep(HELD)
        return answer()

    return wait


def connect(*answers: Answer) -> Plinth:
    rest = iter(answers)
    http = httpx.Client(transport=httpx.MockTransport(lambda _: next(rest)()))
    return Plinth("https://platform.example", client_id="a", client_secret="b", http=http)


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[float], None]]:
    """Moves the clock of the tokens."""

    class Clock:
        ahead = 0.0

        def monotonic(self) -> float:
            return time.monotonic() + self.ahead

    clock = Clock()
    monkeypatch.setattr(plinth.tokens, "time", clock)

    def move(seconds: float) -> None:
        clock.ahead = seconds

    yield move


def test_a_long_retry_after_goes_to_the_caller() -> None:
    with pytest.raises(UnavailableError) as thrown:
        connect(busy(61)).token()
    assert thrown.value.retry_after == 61


def test_a_valid_token_serves_the_others_while_one_renews_it(later: Callable[[float], None]) -> None:
    own = connect(granted("first"), slowly(granted("second")))
    assert own.token() == "first"
    later(_HOUR - 50)
    with ThreadPoolExecutor() as pool:
        renewing = pool.submit(own.token)
        time.sleep(HELD / 4)
        began = time.monotonic()
        assert own.token() == "first"
        assert time.monotonic() - began < HELD / 2
        assert renewing.result() == "second"
    assert own.token() == "second"


def test_a_renewal_that_fails_is_tried_again_later(later: Callable[[float], None]) -> None:
    own = connect(granted("first"), busy(30), granted("second"))
    assert own.token() == "first"
    later(_HOUR - 50)
    began = time.monotonic()
    assert [own.token(), own.token()] == ["first", "first"]
    assert time.monotonic() - began < 1
    later(_HOUR - 15)
    assert own.token() == "second"


def test_a_token_that_has_ended_is_replaced_whatever_a_renewal_was_told(later: Callable[[float], None]) -> None:
    own = connect(granted("first"), busy(59), granted("second"))
    assert own.token() == "first"
    later(_HOUR - 50)
    assert own.token() == "first"
    later(_HOUR + 1)
    assert own.token() == "second"


def test_in_an_event_loop_too(later: Callable[[float], None]) -> None:
    async def run() -> None:
        answers = iter([granted("first"), granted("second"), busy(61)])

        async def answer(_: httpx.Request) -> httpx.Response:
            await asyncio.sleep(HELD)
            return next(answers)()

        async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as http:
            own = AsyncPlinth("https://platform.example", client_id="a", client_secret="b", http=http)
            assert await own.token() == "first"
            later(_HOUR - 50)
            renewing = asyncio.create_task(own.token())
            await asyncio.sleep(HELD / 4)
            began = time.monotonic()
            assert await own.token() == "first"
            assert time.monotonic() - began < HELD / 2
            assert await renewing == "second"
            later(3 * _HOUR)
            with pytest.raises(UnavailableError):
                await own.token()

    asyncio.run(run())


def test_the_clients_of_tenants_keep_their_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("plinth.settings._MOST_TENANTS", 2)
    own = connect(*(granted(str(number)) for number in range(1, 5)))
    assert [own.for_tenant(name).token() for name in ("a", "b", "a", "c", "a", "b")] == ["1", "2", "1", "3", "1", "4"]


def test_a_client_of_a_tenant_asks_for_its_tokens_alone_whichever_tenant_it_was_for_before() -> None:
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.extend(parse_qs(request.content.decode())["scope"])
        return granted("token")()

    with httpx.Client(transport=httpx.MockTransport(answer)) as http:
        scopes = ["plat.tenant=first", "notes.read"]
        own = Plinth("https://platform.example", client_id="a", client_secret="b", scopes=scopes, http=http)
        own.token()
        own.for_tenant("second").token()
        own.for_tenant("second").for_tenant("third").token()
    assert asked == [f"plat.tenant={tenant} notes.read" for tenant in ("first", "second", "third")]


def test_a_function_learns_of_a_refused_token_from_the_thread_that_got_the_refusal() -> None:
    asked: list[tuple[str, str | None]] = []
    refusing, seen = threading.Event(), threading.Event()

    def token(refused: str | None) -> str:
        asked.append((threading.current_thread().name, refused))
        return "new" if refused is not None else "old"

    def answer(request: httpx.Request) -> httpx.Response:
        if request.headers["authorization"] == "Bearer new" or request.url.path == "/other":
            return httpx.Response(200, json={})
        return httpx.Response(401, json={})

    with httpx.Client(transport=httpx.MockTransport(answer)) as http:
        own = Plinth("https://platform.example", token=token, http=http)
        refuse = own._tokens.refuse

        def pausing(refused: str) -> None:
            refuse(refused)
            refusing.set()
            assert seen.wait(5)

        own._tokens.refuse = pausing  # type: ignore[method-assign]
        thread = threading.Thread(target=lambda: own.request("GET", "/mine"), name="mine")
        thread.start()
        assert refusing.wait(5)
        own.request("GET", "/other")
        seen.set()
        thread.join()
    assert asked[-1] == ("mine", "old")
