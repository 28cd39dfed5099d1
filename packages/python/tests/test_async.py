"""The client for asyncio against a started platform: what differs from the one for threads."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable

import httpx
import pytest

from conftest import URL, make_client
from plinth import (
    AsyncPlinth,
    AsyncTokenVerifier,
    AsyncTopic,
    Batch,
    ConflictError,
    ForbiddenError,
    NewEvent,
    NotFoundError,
    Plinth,
    Topic,
    UnauthorizedError,
    UnavailableError,
)

Story = Callable[[AsyncPlinth, AsyncTopic], Awaitable[None]]


@pytest.fixture
def tell(client: tuple[str, str], topic: Topic) -> Callable[[Story], None]:
    """Runs a story with a client and the topic of this test, and closes the client."""
    name = topic.status()["eventType"]

    def told(story: Story) -> None:
        async def run() -> None:
            async with AsyncPlinth(URL, client_id=client[0], client_secret=client[1]) as plinth:
                await story(plinth, plinth.topic(client[0], name))

        asyncio.run(run())

    return told


class AsyncLosing(httpx.AsyncBaseTransport):
    """Loses the first answer to each of these paths, after the platform did its work."""

    def __init__(self, *endings: str) -> None:
        self._inner = httpx.AsyncHTTPTransport()
        self._endings = set(endings)
        self.lost: list[str] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await self._inner.handle_async_request(request)
        ending = next((one for one in self._endings if request.url.path.endswith(one)), None)
        if ending is None:
            return response
        self._endings.remove(ending)
        self.lost.append(ending)
        await response.aclose()
        raise httpx.ReadError("the connection was lost")


async def read_soon(topic: AsyncTopic) -> Batch:
    """The next batch, once the one before is given back."""
    for _ in range(50):
        try:
            batch = await topic.read()
            assert batch is not None
            return batch
        except ConflictError:
            await asyncio.sleep(0.1)
    raise AssertionError("the topic is still locked")


def test_events_are_published_consumed_once_and_committed(tell: Callable[[Story], None]) -> None:
    async def story(plinth: AsyncPlinth, topic: AsyncTopic) -> None:
        assert await topic.create() is False
        ids = await topic.publish([NewEvent({"number": 1}, metadata={"kind": "first"}), NewEvent("two")])
        seen = []
        async for event in topic.consume():
            seen.append((event.id, event.payload, event.attempt))
            if len(seen) == 2:
                event.ack()
                break
        assert seen == [(ids[0], '{"number": 1}', 1), (ids[1], "two", 1)]
        peeked = [(event.id, dict(event.metadata)) async for event in topic.peek()]
        assert peeked == [(ids[0], {"kind": "first"}), (ids[1], {})]

    tell(story)


def test_a_loop_that_is_left_gives_back_what_it_did_not_handle(
    tell: Callable[[Story], None], topic: Topic
) -> None:
    ids = topic.publish([NewEvent(number) for number in range(3)])

    async def story(plinth: AsyncPlinth, topic: AsyncTopic) -> None:
        async for event in topic.consume():
            if event.id == ids[1]:
                break

    tell(story)
    again = topic.read()
    assert again is not None
    assert [event.id for event in again.events] == ids[1:]
    topic.release(again.token)


def test_a_cancelled_loop_leaves_nothing_locked(tell: Callable[[Story], None], topic: Topic) -> None:
    ids = topic.publish([NewEvent(number) for number in range(3)])

    async def story(plinth: AsyncPlinth, topic: AsyncTopic) -> None:
        reached = asyncio.Event()

        async def work() -> None:
            async for event in topic.consume():
                if event.id == ids[1]:
                    reached.set()
                    await asyncio.sleep(60)

        worker = asyncio.create_task(work())
        await reached.wait()
        worker.cancel()
        with pytest.raises(asyncio.CancelledError):
            await worker
        again = await read_soon(topic)
        assert [event.id for event in again.events] == ids[1:]
        await topic.release(again.token)

    tell(story)


def test_a_cancelled_read_takes_no_event(tell: Callable[[Story], None]) -> None:
    async def story(plinth: AsyncPlinth, topic: AsyncTopic) -> None:
        waiting = asyncio.create_task(topic.read(wait=20))
        await asyncio.sleep(1)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        ids = await topic.publish("for the next")
        # The platform may give the batch to the read that left, see that nobody takes it, and take it back.
        batch = await read_soon(topic)
        assert [event.id for event in batch.events] == ids
        await topic.commit(batch.token)

    tell(story)


def test_many_wait_at_once_in_one_thread(
    tell: Callable[[Story], None], client: tuple[str, str], topic: Topic
) -> None:
    name = topic.status()["eventType"]

    async def story(plinth: AsyncPlinth, topic: AsyncTopic) -> None:
        started = time.monotonic()
        readers = [plinth.topic(client[0], name, consumer=f"c{at}") for at in range(10)]
        waiting = [asyncio.create_task(reader.read(wait=20)) for reader in readers]
        await asyncio.sleep(1)
        await topic.publish("to all")
        batches = await asyncio.gather(*waiting)
        assert [batch.events[0].payload for batch in batches if batch is not None] == ["to all"] * 10
        assert time.monotonic() - started < 15

    tell(story)


def test_a_lock_is_renewed_while_its_event_is_in_work(tell: Callable[[Story], None], topic: Topic) -> None:
    topic.publish("slow")

    async def story(plinth: AsyncPlinth, topic: AsyncTopic) -> None:
        async for event in topic.consume(lock=1):
            await asyncio.sleep(2.5)
            assert (await topic.status())["lag"] == 1
            event.ack()
            break

    tell(story)
    assert topic.status()["lag"] == 0


def test_a_lost_answer_stores_and_delivers_once(client: tuple[str, str], topic: Topic) -> None:
    losing = AsyncLosing("/publish", "/read", "/commit")

    async def run() -> None:
        async with httpx.AsyncClient(transport=losing) as http:
            shaky = AsyncPlinth(URL, client_id=client[0], client_secret=client[1], http=http)
            same = shaky.topic(client[0], topic.status()["eventType"])
            ids = await same.publish("once")
            batch = await same.read()
            assert batch is not None and [event.id for event in batch.events] == ids
            await same.commit(batch.token)
            made = await shaky.files.upload("some bytes", content_type="text/plain", tenant="demo")
            assert await shaky.files.download(made["id"]) == b"some bytes"

    asyncio.run(run())
    assert sorted(losing.lost) == ["/commit", "/publish", "/read"]
    assert len(list(topic.peek())) == 1
    assert topic.status()["lag"] == 0


def test_a_file_is_uploaded_listed_and_deleted(tell: Callable[[Story], None]) -> None:
    async def story(plinth: AsyncPlinth, _: AsyncTopic) -> None:
        album = uuid.uuid4().hex
        made = await plinth.files.upload(b"some bytes", metadata={"album": album}, tenant="demo")
        listed = [file["id"] async for file in plinth.files.list(q=f"album:{album}")]
        assert listed == [made["id"]]
        assert await plinth.files.set_metadata(made["id"], {"album": "new"}) == {"album": "new"}
        assert await plinth.files.delete(made["id"]) is not None
        assert await plinth.files.delete(made["id"]) is None
        with pytest.raises(NotFoundError):
            await plinth.files.link(made["id"])
        for _ in range(2):
            await plinth.files.upload(b"four", metadata={"album": album})
        assert await plinth.files.count(q=f"album:{album}") == {"files": 2, "bytes": 8}
        assert await plinth.files.delete_all(q=f"album:{album}") is not None
        assert await plinth.files.count(q=f"album:{album}") == {"files": 0, "bytes": 0}

    tell(story)


def test_one_token_serves_all_tasks_and_a_refused_one_is_replaced(client: tuple[str, str]) -> None:
    asked: list[str | None] = []

    async def run() -> None:
        async with AsyncPlinth(URL, client_id=client[0], client_secret=client[1]) as plinth:
            assert len(set(await asyncio.gather(*(plinth.token() for _ in range(10))))) == 1

            async def token(refused: str | None) -> str:
                asked.append(refused)
                return "expired" if refused is None else await plinth.token()

            async with AsyncPlinth(URL, token=token) as person:
                await person.request("GET", "/pubsub/v1/topics")
                assert [topic async for topic in person.pages("/pubsub/v1/topics", {"pageSize": 1})]

    asyncio.run(run())
    assert asked[:2] == [None, "expired"]


def test_refusals_and_silence_are_the_same_classes(operator: Plinth) -> None:
    client_id, secret = make_client(operator, ["plat.media_view"])

    async def run() -> None:
        async with AsyncPlinth(URL, client_id=client_id, client_secret=secret) as weak:
            with pytest.raises(ForbiddenError):
                await weak.files.upload(b"no")
        async with AsyncPlinth("http://127.0.0.1:9", token=lambda _: "t", attempts=2) as nobody:
            with pytest.raises(UnavailableError):
                await nobody.request("GET", "/health")

    asyncio.run(run())


def test_a_token_is_verified_and_others_are_refused(plinth: Plinth, client: tuple[str, str]) -> None:
    async def run() -> None:
        verify = AsyncTokenVerifier(URL)
        token = plinth.token()
        callers = await asyncio.gather(*(verify(f"Bearer {token}") for _ in range(5)))
        assert {caller.client for caller in callers} == {client[0]}
        head, body, signature = token.split(".")
        for bad in (None, "Basic x", f"{head}.{body}.{'A' * len(signature)}"):
            with pytest.raises(UnauthorizedError):
                await verify(bad)
        with pytest.raises(UnavailableError):
            await AsyncTokenVerifier("http://127.0.0.1:9")(token)

    asyncio.run(run())
