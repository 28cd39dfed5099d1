"""The package over a poor network, and with functions that fail: with threads and in an event loop."""

from __future__ import annotations

import asyncio
import io
import time
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import httpx
import pytest

from conftest import URL
from plinth import (
    AsyncPlinth,
    ConflictError,
    ConsumedEvent,
    ForbiddenError,
    InvalidRequestError,
    NewEvent,
    NotFoundError,
    Plinth,
    PlinthError,
    TokenVerifier,
    Topic,
    UnauthorizedError,
    UnavailableError,
    verify_webhook,
)

Pass = Callable[[], httpx.Response]
# Gets the end of the path, which request to it this is, and the way to the platform.
Change = Callable[[str, int, Pass], httpx.Response]


class Poor(httpx.BaseTransport):
    def __init__(self, change: Change) -> None:
        self._inner = httpx.HTTPTransport()
        self._change = change
        self.seen: dict[str, int] = {}

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        ending = request.url.path.rsplit("/", 1)[-1]
        self.seen[ending] = self.seen.get(ending, 0) + 1
        return self._change(ending, self.seen[ending], lambda: self._inner.handle_request(request))


class AsyncPoor(httpx.AsyncBaseTransport):
    """The same network for an event loop, which waits meanwhile."""

    def __init__(self, change: Change) -> None:
        self._poor = Poor(change)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        body = await request.aread()
        plain = httpx.Request(request.method, request.url, headers=request.headers, content=body)
        response = self._poor.handle_request(plain)
        content = response.read()
        return httpx.Response(response.status_code, headers=response.headers, content=content)


def too_many(retry_after: int) -> httpx.Response:
    body = {"status": 429, "type": "insufficient_resources", "message": "no"}
    return httpx.Response(429, json=body, headers={"retry-after": str(retry_after)})


@pytest.fixture
def over(client: tuple[str, str], topic: Topic) -> Iterator[Callable[[Change], Topic]]:
    """The topic of this test over another network."""
    name = topic.status()["eventType"]
    opened: list[httpx.Client] = []

    def connected(change: Change) -> Topic:
        http = httpx.Client(transport=Poor(change))
        opened.append(http)
        return Plinth(URL, client_id=client[0], client_secret=client[1], http=http).topic(client[0], name)

    yield connected
    for http in opened:
        http.close()


def test_an_answer_that_cannot_be_unpacked_is_asked_for_again(
    over: Callable[[Change], Topic], topic: Topic
) -> None:
    def change(ending: str, nth: int, passed: Pass) -> httpx.Response:
        response = passed()
        if ending not in ("publish", "token") or nth > 1:
            return response
        response.read()
        return httpx.Response(
            response.status_code, headers={"content-encoding": "gzip"}, stream=httpx.ByteStream(b"no gzip")
        )

    ids = over(change).publish("once")
    assert [event.id for event in topic.peek()] == ids


PAGE = httpx.Response(200, html="<p>Please sign in to this network.</p>")


def test_a_success_that_is_not_json_is_asked_for_again(over: Callable[[Change], Topic], topic: Topic) -> None:
    paths = ("publish", "token", "events")
    own = over(lambda ending, nth, passed: PAGE if ending in paths and nth == 1 else passed())
    ids = own.publish("once")
    assert [event.id for event in own.peek()] == ids


@pytest.mark.parametrize("path", ["topics", "token"])
def test_a_success_that_is_never_json_is_an_unavailable_error(
    path: str, client: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("plinth.tokens._ATTEMPTS", 1)
    with httpx.Client(transport=Poor(lambda ending, _, passed: PAGE if ending == path else passed())) as http:
        own = Plinth(URL, client_id=client[0], client_secret=client[1], http=http, attempts=2)
        with pytest.raises(UnavailableError):
            own.request("GET", "/pubsub/v1/topics")


def test_a_success_without_a_token_is_an_unavailable_error(
    client: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("plinth.tokens._ATTEMPTS", 1)
    lives = ({"access_token": "only", "expires_in": life} for life in (None, [], "soon", 0))
    for body in ({}, [], "text", {"access_token": "only"}, *lives):
        answer = httpx.Response(200, json=body)
        with httpx.Client(transport=httpx.MockTransport(lambda _, answer=answer: answer)) as http:
            own = Plinth(URL, client_id=client[0], client_secret=client[1], http=http)
            with pytest.raises(UnavailableError):
                own.token()


def test_what_is_missing_is_named_before_any_request(client: tuple[str, str]) -> None:
    with pytest.raises(TypeError, match="client_secret is missing"):
        Plinth(URL, client_id=client[0], client_secret="")
    unset: Any = None
    with pytest.raises(TypeError, match="client_secret is missing"):
        Plinth(URL, client_id=client[0], client_secret=unset)
    for make in (lambda url: Plinth(url, client_id="a.b", client_secret="c"), TokenVerifier):
        with pytest.raises(TypeError, match="127.0.0.1:8787' is no address: url must begin with https://"):
            make("127.0.0.1:8787")
        with pytest.raises(TypeError, match=f"url is the platform's address: {URL}$"):
            make(f"{URL}/oauth2/v1/")


def test_an_address_or_a_secret_that_is_no_text_is_named(plinth: Plinth) -> None:
    unset: Any = None
    for make in (lambda url: Plinth(url, client_id="a.b", client_secret="c"), TokenVerifier):
        with pytest.raises(TypeError, match="url must be a text .* Is its environment variable set?"):
            make(unset)
    with pytest.raises(ValueError, match="'pubsub/v1/topics' is no path: it must begin with /."):
        plinth.request("GET", "pubsub/v1/topics")
    now = {"webhook-id": "a", "webhook-timestamp": str(int(time.time())), "webhook-signature": "v1,abc"}
    for secrets in (unset, [], [unset]):
        with pytest.raises(TypeError, match="The signing secret is missing."):
            verify_webhook(now, b"{}", secrets)


@pytest.mark.parametrize("given", [None, "", "two lines\nof text"])
def test_a_function_that_gives_no_token_is_named(given: Any) -> None:
    def none(_: str | None) -> Any:
        return given

    asked: list[httpx.Request] = []
    http = httpx.Client(transport=httpx.MockTransport(lambda one: asked.append(one) or httpx.Response(401)))
    with pytest.raises(UnauthorizedError, match="The function for tokens returned none."):
        Plinth(URL, token=none, http=http).request("GET", "/pubsub/v1/topics")

    async def in_loop() -> None:
        async with AsyncPlinth(URL, token=none) as own:
            with pytest.raises(UnauthorizedError, match="The function for tokens returned none."):
                await own.token()

    asyncio.run(in_loop())
    assert asked == []


def test_a_line_end_behind_a_token_does_no_harm(plinth: Plinth) -> None:
    with Plinth(URL, token=lambda _: f"{plinth.token()}\n") as own:
        assert own.request("GET", "/pubsub/v1/topics") is not None


@pytest.mark.parametrize("name", ["", ".", "..", None])
def test_what_has_no_name_does_not_count_as_deleted(name: Any, plinth: Plinth, client: tuple[str, str]) -> None:
    files: Any = plinth.files
    for call in (files.delete, files.link, files.download, files.metadata, files.variants):
        with pytest.raises(InvalidRequestError, match="is no id of a file."):
            call(name)
    with pytest.raises(InvalidRequestError, match="is no type of events."):
        plinth.topic(client[0], name)
    with pytest.raises(InvalidRequestError, match="is no owner of a topic."):
        plinth.topic(name, "numbers")


def test_a_payload_that_is_no_json_is_not_published(topic: Topic) -> None:
    with pytest.raises(ValueError):
        topic.publish({"price": float("nan")})
    assert list(topic.peek()) == []


def test_events_may_come_from_a_generator(topic: Topic) -> None:
    assert len(topic.publish(NewEvent(number) for number in range(3))) == 3
    assert [event.json() for event in topic.peek()] == [0, 1, 2]


def test_a_name_that_is_cut_in_the_middle_of_a_character_is_kept(plinth: Plinth) -> None:
    made = plinth.files.upload(b"x", file_name="boats \ud83d.txt")
    named = {file["id"]: file["fileName"] for file in plinth.files.list(sort="createdAt:desc")}
    assert named[made["id"]] == "boats \ufffd.txt"


def test_a_topic_of_another_client_is_not_created_as_ones_own(plinth: Plinth, client: tuple[str, str]) -> None:
    with pytest.raises(ForbiddenError, match=f"Only demo.shop creates its topics. This client makes those of {client[0]}"):
        plinth.topic("demo.shop", "foreign").create()
    with pytest.raises(NotFoundError):
        plinth.topic(client[0], "foreign").status()


def test_a_list_of_payloads_is_not_taken_for_one_payload(topic: Topic) -> None:
    for payloads in ([{"number": 1}, {"number": 2}], [NewEvent(1), 2], (1, 2)):
        with pytest.raises(TypeError, match="Wrap each event of a list"):
            topic.publish(payloads)
    topic.publish(NewEvent([1, 2]))
    assert [event.json() for event in topic.peek()] == [[1, 2]]


def test_scopes_may_be_one_text(client: tuple[str, str]) -> None:
    with Plinth(URL, client_id=client[0], client_secret=client[1], scopes="plat.tenant=demo plat.media_view") as own:
        assert TokenVerifier(URL)(own.token()).scopes == {"plat.tenant=demo", "plat.media_view"}


def test_a_token_of_another_address_names_the_issuer(plinth: Plinth) -> None:
    other = URL.replace("127.0.0.1", "localhost")
    with pytest.raises(UnauthorizedError, match=f"not one of {other}/oauth2/v1"):
        TokenVerifier(other)(plinth.token())


def test_an_upload_takes_nothing_but_bytes_and_texts(plinth: Plinth) -> None:
    streams: list[Any] = [io.BytesIO(b"bytes"), iter([b"bytes"]), None, 7]
    for stream in streams:
        with pytest.raises(TypeError):
            plinth.files.upload(stream)
    kinds: list[Any] = [bytearray(b"bytes"), memoryview(b"bytes"), "bytes"]
    for content in kinds:
        assert plinth.files.download(plinth.files.upload(content)["id"]) == b"bytes"


@pytest.mark.parametrize("refused", ["uploads", "commit"])
def test_an_upload_that_is_refused_leaves_no_file(
    refused: str, client: tuple[str, str], plinth: Plinth
) -> None:
    ids: list[str] = []

    class Refusing(httpx.HTTPTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            if request.url.path.endswith("/files"):
                response = super().handle_request(request)
                response.read()
                ids.append(response.json()["id"])
                return response
            return httpx.Response(409) if refused in request.url.path else super().handle_request(request)

    with httpx.Client(transport=Refusing()) as http:
        own = Plinth(URL, client_id=client[0], client_secret=client[1], http=http)
        with pytest.raises(ConflictError):
            own.files.upload(b"bytes")
    with pytest.raises(NotFoundError):
        plinth.request("POST", f"/media/v2/files/{ids[0]}/commit", json={})


def test_an_upload_waits_for_its_earlier_attempt_that_is_still_being_stored(
    client: tuple[str, str], plinth: Plinth
) -> None:
    sent = 0

    class Slow(httpx.HTTPTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            nonlocal sent
            if "/uploads/" not in request.url.path:
                return super().handle_request(request)
            sent += 1
            if sent == 1:
                raise httpx.ReadError("cut")
            busy = {"type": "conflict_resource", "message": "no", "details": [{"type": "upload_changed"}]}
            return httpx.Response(409, json=busy) if sent == 2 else super().handle_request(request)

    with httpx.Client(transport=Slow()) as http:
        own = Plinth(URL, client_id=client[0], client_secret=client[1], http=http)
        made = own.files.upload(b"bytes")
    assert plinth.files.download(made["id"]) == b"bytes"
    assert sent == 3


def test_an_upload_that_is_cancelled_leaves_no_file(client: tuple[str, str], plinth: Plinth) -> None:
    ids: list[str] = []

    class Hanging(httpx.AsyncHTTPTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            response = await super().handle_async_request(request)
            if request.url.path.endswith("/files"):
                await response.aread()
                ids.append(response.json()["id"])
            if request.url.path.endswith("/commit"):
                await asyncio.sleep(60)
            return response

    async def run() -> None:
        async with httpx.AsyncClient(transport=Hanging()) as http:
            own = AsyncPlinth(URL, client_id=client[0], client_secret=client[1], http=http)
            await asyncio.wait_for(own.files.upload(b"bytes"), 1)

    with pytest.raises(asyncio.TimeoutError):
        asyncio.run(run())
    with pytest.raises(NotFoundError):
        plinth.files.link(ids[0])


def test_a_download_without_an_answer_is_an_unavailable_error(client: tuple[str, str], plinth: Plinth) -> None:
    made = plinth.files.upload(b"bytes", tenant="demo")

    class Cut(httpx.HTTPTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            if request.url.path.startswith("/media/v2/files/") or request.method == "POST":
                return super().handle_request(request)
            raise httpx.ConnectError("cut")

    with httpx.Client(transport=Cut()) as http:
        own = Plinth(URL, client_id=client[0], client_secret=client[1], http=http)
        with pytest.raises(UnavailableError):
            own.files.download(made["id"])


@pytest.mark.parametrize("kind", ["topic_deletion_in_progress", "too_many_topics"])
def test_create_raises_unless_there_is_such_a_topic(
    kind: str, over: Callable[[Change], Topic], topic: Topic
) -> None:
    # An answer in the platform's form: a deletion is over too soon to meet it, and a thousand topics take long.
    body = {"status": 409, "type": "conflict_resource", "message": "no", "details": [{"type": kind}]}
    own = over(lambda ending, _, passed: httpx.Response(409, json=body) if ending == "topics" else passed())
    with pytest.raises(ConflictError) as thrown:
        own.create()
    assert thrown.value.has(kind)
    assert topic.create() is False


def test_a_batch_is_released_once_when_the_answer_is_lost(
    over: Callable[[Change], Topic], topic: Topic
) -> None:
    def change(ending: str, nth: int, passed: Pass) -> httpx.Response:
        response = passed()
        if ending == "release" and nth == 1:
            response.close()
            raise httpx.ReadError("the connection was lost")
        return response

    ids = topic.publish([NewEvent(number) for number in range(2)])
    batch = topic.read()
    assert batch is not None
    over(change).release(batch.token)
    with pytest.raises(ConflictError) as late:
        topic.release(batch.token, ids[0])
    assert late.value.has("lock_expired")
    again = topic.read()
    assert again is not None
    over(change).release(again.token, ids[0])
    assert topic.status()["lag"] == 1


def test_a_renewal_that_comes_too_often_loses_no_lock(over: Callable[[Change], Topic], topic: Topic) -> None:
    topic.publish([NewEvent(number) for number in range(2)])
    own = over(lambda ending, nth, passed: too_many(61) if (ending, nth) == ("extend", 1) else passed())
    seen = []
    for event in own.consume(lock=2):
        seen.append(event.json())
        if len(seen) == 1:
            time.sleep(2.5)
            continue
        event.ack()
        break
    assert seen == [0, 1]
    assert topic.status()["lag"] == 0


def test_a_batch_is_committed_while_a_renewal_waits(over: Callable[[Change], Topic], topic: Topic) -> None:
    topic.publish("quick")
    own = over(lambda ending, _, passed: too_many(8) if ending == "extend" else passed())
    for event in own.consume(lock=4):
        time.sleep(2.2)
        event.ack()
        break
    assert topic.status()["lag"] == 0


class Cut:
    """A network whose requests to one path fail, and what a loop over it brings."""

    def __init__(self, client: tuple[str, str], topic: Topic) -> None:
        self.path = "none"
        self.told: list[PlinthError] = []
        self.seen: list[tuple[str, int]] = []
        self._client = client
        self._topic = topic
        self._name = topic.status()["eventType"]
        topic.publish("first")

    def change(self, ending: str, _: int, passed: Pass) -> httpx.Response:
        if ending == self.path:
            raise httpx.ConnectError("cut")
        return passed()

    def tell(self, error: PlinthError) -> None:
        self.told.append(error)
        if len(self.told) == 2:
            self.path = "none"
            self._topic.publish("second")

    def handle(self, event: ConsumedEvent) -> None:
        self.seen.append((event.payload, event.attempt))

    def loop(self, **options: Any) -> Iterator[ConsumedEvent]:
        http = httpx.Client(transport=Poor(self.change))
        own = Plinth(URL, client_id=self._client[0], client_secret=self._client[1], http=http, attempts=1)
        return own.topic(self._client[0], self._name).consume(**options)

    async def take(self, **options: Any) -> None:
        async with httpx.AsyncClient(transport=AsyncPoor(self.change)) as http:
            own = AsyncPlinth(
                URL, client_id=self._client[0], client_secret=self._client[1], http=http, attempts=1
            )
            async for event in own.topic(self._client[0], self._name).consume(**options):
                self.handle(event)


@pytest.fixture
def cut(client: tuple[str, str], topic: Topic) -> Cut:
    return Cut(client, topic)


@pytest.mark.parametrize("how", ["in a thread", "in an event loop"])
def test_a_loop_goes_on_after_an_outage(cut: Cut, how: str) -> None:
    def stop() -> bool:
        if len(cut.seen) == 1 and not cut.told:
            cut.path = "read"
        return len(cut.seen) == 2

    if how == "in a thread":
        for event in cut.loop(on_unavailable=cut.tell, stop=stop):
            cut.handle(event)
    else:
        asyncio.run(cut.take(on_unavailable=cut.tell, stop=stop))
    assert cut.seen == [("first", 1), ("second", 1)]
    assert [type(error) for error in cut.told] == [UnavailableError, UnavailableError]


@pytest.mark.parametrize("how", ["in a thread", "in an event loop"])
def test_a_loop_brings_what_it_could_not_commit_again(cut: Cut, how: str) -> None:
    def stop() -> bool:
        cut.path = "commit" if len(cut.seen) == 1 else "none"
        return len(cut.seen) == 2

    if how == "in a thread":
        for event in cut.loop(lock=1, stop=stop):
            cut.handle(event)
    else:
        asyncio.run(cut.take(lock=1, stop=stop))
    assert cut.seen == [("first", 1), ("first", 2)]


def test_a_loop_ends_with_its_first_read_and_with_what_on_unavailable_raises(cut: Cut) -> None:
    def enough(_: PlinthError) -> NoReturn:
        raise RuntimeError("enough")

    cut.path = "read"
    with pytest.raises(UnavailableError):
        next(cut.loop())
    cut.path = "none"
    loop = cut.loop(on_unavailable=enough)
    assert next(loop).payload == "first"
    cut.path = "read"
    with pytest.raises(RuntimeError, match="enough"):
        next(loop)


def with_lost_events(ending: str, _: int, passed: Pass) -> httpx.Response:
    response = passed()
    if ending == "read":
        response.headers["x-plat-events-lost"] = "2"
    return response


def refuse(count: int) -> NoReturn:
    raise RuntimeError(f"{count} lost")


def test_a_batch_is_given_back_when_on_lost_raises(over: Callable[[Change], Topic], topic: Topic) -> None:
    topic.publish("still there")
    with pytest.raises(RuntimeError, match="2 lost"):
        next(iter(over(with_lost_events).consume(on_lost=refuse)))
    again = topic.read()
    assert again is not None
    topic.commit(again.token)


def test_in_an_event_loop_too(client: tuple[str, str], topic: Topic) -> None:
    name = topic.status()["eventType"]
    topic.publish([NewEvent(number) for number in range(2)])

    def change(ending: str, nth: int, passed: Pass) -> httpx.Response:
        if (ending, nth) == ("extend", 1):
            return too_many(61)
        return with_lost_events(ending, nth, passed)

    async def run() -> list[int]:
        async with httpx.AsyncClient(transport=AsyncPoor(change)) as http:
            own = AsyncPlinth(URL, client_id=client[0], client_secret=client[1], http=http)
            same = own.topic(client[0], name)
            with pytest.raises(RuntimeError, match="2 lost"):
                async for _ in same.consume(on_lost=refuse):
                    pass
            seen = []
            async for event in same.consume(lock=2):
                seen.append(event.json())
                if len(seen) == 1:
                    await asyncio.sleep(2.5)
                    continue
                event.ack()
                break
            await own.aclose()
            return seen

    assert asyncio.run(run()) == [0, 1]
    assert topic.status()["lag"] == 0
