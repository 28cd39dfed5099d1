"""The package against a started platform (`npm run test:python`), and its checks of tokens and pushes."""

from __future__ import annotations

import datetime
import inspect
import json
import threading
import time
import uuid
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from standardwebhooks import Webhook

from conftest import SCOPES, URL, make_client
from plinth import (
    AsyncFiles,
    AsyncPlinth,
    AsyncTopic,
    Files,
    ForbiddenError,
    InvalidRequestError,
    NewEvent,
    NotFoundError,
    Plinth,
    Topic,
    TokenVerifier,
    UnauthorizedError,
    UnavailableError,
    WebhookError,
    verify_webhook,
)

class Losing(httpx.BaseTransport):
    """Loses the first answer to each of these paths, after the platform did its work."""

    def __init__(self, *endings: str) -> None:
        self._inner = httpx.HTTPTransport()
        self._endings = set(endings)
        self.lost: list[str] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = self._inner.handle_request(request)
        ending = next((one for one in self._endings if request.url.path.endswith(one)), None)
        if ending is None:
            return response
        self._endings.remove(ending)
        self.lost.append(ending)
        response.close()
        raise httpx.ReadError("the connection was lost")


def test_a_published_event_is_consumed_once_and_committed(topic: Topic) -> None:
    ids = topic.publish([NewEvent({"number": 1}, metadata={"kind": "first"}), NewEvent("two")])
    seen = []
    for event in topic.consume():
        seen.append((event.id, event.payload, event.attempt))
        if len(seen) == 2:
            event.ack()
            break
    assert seen == [(ids[0], '{"number": 1}', 1), (ids[1], "two", 1)]
    assert topic.status()["lag"] == 0
    assert topic.read() is None
    assert [(event.id, dict(event.metadata)) for event in topic.peek()] == [(ids[0], {"kind": "first"}), (ids[1], {})]


def test_an_event_whose_handler_fails_comes_again(topic: Topic) -> None:
    ids = topic.publish([NewEvent(number) for number in range(3)])
    with pytest.raises(RuntimeError):
        for event in topic.consume():
            if event.id == ids[1]:
                raise RuntimeError("the handler failed")
    again = topic.read()
    assert again is not None
    assert [event.id for event in again.events] == ids[1:]
    topic.release(again.token)


def test_an_interrupted_read_leaves_nothing_locked(client: tuple[str, str], topic: Topic) -> None:
    class Interrupted(httpx.BaseTransport):
        """The first read is answered, and Ctrl-C comes before its answer."""

        def __init__(self) -> None:
            self._inner = httpx.HTTPTransport()
            self._reads = 0

        def handle_request(self, request: httpx.Request) -> httpx.Response:
            response = self._inner.handle_request(request)
            if request.url.path.endswith("/read"):
                self._reads += 1
                if self._reads == 1:
                    raise KeyboardInterrupt
            return response

    topic.publish("for the next")
    with httpx.Client(transport=Interrupted()) as http:
        own = Plinth(URL, client_id=client[0], client_secret=client[1], http=http)
        with pytest.raises(KeyboardInterrupt):
            own.topic(client[0], topic.status()["eventType"]).read(wait=20)
    again = topic.read()
    assert again is not None
    topic.commit(again.token)


def test_a_waiting_read_answers_when_an_event_comes(topic: Topic) -> None:
    started = time.monotonic()
    threading.Timer(1, lambda: topic.publish("late")).start()
    batch = topic.read(wait=20)
    assert batch is not None and batch.events[0].payload == "late"
    assert 0.9 < time.monotonic() - started < 10


def test_a_lock_is_renewed_while_its_event_is_in_work(topic: Topic) -> None:
    topic.publish("slow")
    for event in topic.consume(lock=1):
        time.sleep(2.5)
        assert topic.status()["lag"] == 1
        event.ack()
        break
    assert topic.status()["lag"] == 0


def test_many_events_are_published_in_parts_and_in_order(topic: Topic) -> None:
    ids = topic.publish([NewEvent(number) for number in range(2_100)])
    assert len(set(ids)) == 2_100
    assert [event.id for event in topic.peek()] == ids


def test_a_lost_answer_to_a_publish_and_a_read_stores_and_delivers_once(
    client: tuple[str, str], topic: Topic
) -> None:
    losing = Losing("/publish", "/read", "/commit")
    with httpx.Client(transport=losing) as http:
        shaky = Plinth(URL, client_id=client[0], client_secret=client[1], http=http)
        same = shaky.topic(client[0], topic.status()["eventType"])
        ids = same.publish("once")
        batch = same.read()
        assert batch is not None and [event.id for event in batch.events] == ids
        same.commit(batch.token)
    assert sorted(losing.lost) == ["/commit", "/publish", "/read"]
    assert [event.id for event in topic.peek()] == ids
    assert topic.status()["lag"] == 0


def test_named_consumers_each_get_every_event(plinth: Plinth, client: tuple[str, str], topic: Topic) -> None:
    topic.publish("for all")
    name = topic.status()["eventType"]
    for consumer in ("one", "two"):
        batch = plinth.topic(client[0], name, consumer=consumer).read()
        assert batch is not None and batch.events[0].payload == "for all"


def test_a_file_is_uploaded_listed_and_deleted(client: tuple[str, str], plinth: Plinth) -> None:
    album = uuid.uuid4().hex
    losing = Losing("/commit")
    with httpx.Client(transport=losing) as http:
        shaky = Plinth(URL, client_id=client[0], client_secret=client[1], http=http)
        made = shaky.files.upload(
            "some bytes", content_type="text/plain", file_name="ä b.txt", metadata={"album": album}, tenant="demo"
        )
    assert losing.lost == ["/commit"]
    assert plinth.files.download(made["id"]) == b"some bytes"
    (listed,) = plinth.files.list(q=f"album:{album}")
    assert (listed["id"], listed["fileName"], listed["size"]) == (made["id"], "ä b.txt", 10)
    assert plinth.files.set_metadata(made["id"], {"album": "new"}) == {"album": "new"}
    assert plinth.files.metadata(made["id"]) == {"album": "new"}
    assert plinth.files.delete(made["id"]) is not None
    assert plinth.files.delete(made["id"]) is None
    with pytest.raises(NotFoundError):
        plinth.files.link(made["id"])


def test_files_that_match_are_counted_and_deleted(plinth: Plinth) -> None:
    album = uuid.uuid4().hex
    for _ in range(2):
        plinth.files.upload(b"four", metadata={"album": album})
    kept = plinth.files.upload(b"kept")
    assert plinth.files.count(q=f"album:{album}") == {"files": 2, "bytes": 8}
    report = plinth.files.delete_all(q=f"album:{album}")
    assert report is not None and "/erasures/" in report
    assert plinth.files.count(tenant="demo", q=f"album:{album}") == {"files": 0, "bytes": 0}
    assert plinth.files.download(kept["id"]) == b"kept"


def test_files_are_not_deleted_by_a_condition_that_is_misspelt_or_that_was_forgotten(plinth: Plinth) -> None:
    kept = plinth.files.upload(b"kept")
    call: Any
    for call in (plinth.files.count, plinth.files.delete_all):
        with pytest.raises(TypeError, match="query"):
            call(tenant="demo", query="album:none")
        # As from a form without the field.
        with pytest.raises(TypeError, match="q is None. To mean all files, leave it out."):
            call(tenant="demo", q=None)
        with pytest.raises(InvalidRequestError):
            call(tenant="demo", q="")
    with pytest.raises(InvalidRequestError, match="tenant is missing"):
        plinth.files.delete_all()
    assert plinth.files.download(kept["id"]) == b"kept"


def test_variants_are_made_and_waited_for(plinth: Plinth) -> None:
    photo = Path(__file__).parents[3] / "scripts" / "data" / "photo.jpg"
    made = plinth.files.upload(photo.read_bytes(), content_type="image/jpeg", tenant="demo")
    (variant,) = plinth.files.make_variants(made["id"], crop="64x64")
    assert (variant["type"], variant["size"], variant["state"]) == ("crop", "64x64", "ready")
    assert plinth.files.variants(made["id"]) == [variant]
    assert plinth.files.download(made["id"], crop="64x64")[:3] == b"\xff\xd8\xff"


@pytest.mark.parametrize(("plain", "awaited"), [(Plinth, AsyncPlinth), (Topic, AsyncTopic), (Files, AsyncFiles)])
def test_what_threads_can_do_asyncio_can_do_too(plain: type, awaited: type) -> None:
    def offers(kind: type) -> dict[str, list[str]]:
        found = inspect.getmembers(kind, inspect.isfunction)
        # A client ends by the name that its world knows.
        names = {"aclose": "close"}
        signatures = {name: list(inspect.signature(one).parameters) for name, one in found}
        return {names.get(name, name): given for name, given in signatures.items() if not name.startswith("_")}

    assert offers(awaited) == offers(plain)


def test_another_client_of_the_tenant_reaches_shared_files_alone(operator: Plinth, plinth: Plinth) -> None:
    made = plinth.files.upload(b"mine", tenant="demo")
    client_id, secret = make_client(operator)
    with Plinth(URL, client_id=client_id, client_secret=secret) as other:
        with pytest.raises(NotFoundError):
            other.files.link(made["id"])
        shared = plinth.files.upload(b"ours", tenant="demo", shared="tenant")
        assert other.files.download(shared["id"]) == b"ours"
        assert shared["id"] in [file["id"] for file in other.files.list(tenant="demo", shared="tenant")]


def test_lists_are_walked_page_by_page(plinth: Plinth, client: tuple[str, str]) -> None:
    names = {f"paged{at}x{uuid.uuid4().hex[:6]}" for at in range(3)}
    for name in names:
        plinth.topic(client[0], name).create()
    found = plinth.pages("/pubsub/v1/topics", {"pageSize": 2})
    assert names <= {topic["eventType"] for topic in found}


def test_refusals_are_classes_with_their_details(operator: Plinth, topic: Topic, client: tuple[str, str]) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        topic.read(num_events=0)
    assert refused.value.status == 400 and refused.value.details and refused.value.request_id
    client_id, secret = make_client(operator, ["plat.media_view"])
    with Plinth(URL, client_id=client_id, client_secret=secret) as weak, pytest.raises(ForbiddenError):
        weak.files.upload(b"no")
    with Plinth(URL, client_id=client[0], client_secret="wrong") as wrong, pytest.raises(UnauthorizedError):
        wrong.token()
    with Plinth("http://127.0.0.1:9", token=lambda _: "t", attempts=2) as nobody, pytest.raises(UnavailableError):
        nobody.request("GET", "/health")


def test_a_refused_token_is_replaced_once(plinth: Plinth) -> None:
    asked: list[str | None] = []

    def token(refused: str | None) -> str:
        asked.append(refused)
        return "expired" if refused is None else plinth.token()

    with Plinth(URL, token=token) as person:
        person.request("GET", "/pubsub/v1/topics")
    assert asked == [None, "expired"]


def test_a_token_is_sent_to_the_platform_alone(plinth: Plinth) -> None:
    with pytest.raises(ValueError, match="is not the platform"):
        plinth.request("GET", "https://elsewhere.example/")


def test_a_token_is_verified_and_others_are_refused(plinth: Plinth, client: tuple[str, str]) -> None:
    verify = TokenVerifier(URL)
    token = plinth.token()
    caller = verify(f"Bearer {token}")
    assert (caller.client, caller.tenant, caller.user) == (client[0], "demo", "")
    assert set(SCOPES) <= caller.scopes
    assert verify(token) == caller
    head, body, signature = token.split(".")
    claims = jwt.decode(token, options={"verify_signature": False})
    kid = jwt.get_unverified_header(token)["kid"]
    key = ec.generate_private_key(ec.SECP256R1())
    flipped = ("A" if signature[10] != "A" else "B").join((signature[:10], signature[11:]))
    forged = {
        "nothing": "",
        "another signature": f"{head}.{body}.{flipped}",
        "another key": jwt.encode(claims, key, "ES256", headers={"kid": kid, "typ": "at+jwt"}),
        "no signature": jwt.encode(claims, "", "none", headers={"kid": kid, "typ": "at+jwt"}),
        "an unknown key": jwt.encode(claims, key, "ES256", headers={"kid": "made-up", "typ": "at+jwt"}),
        "another kind": jwt.encode(claims, key, "ES256", headers={"kid": kid, "typ": "JWT"}),
    }
    for what, one in forged.items():
        with pytest.raises(UnauthorizedError):
            verify(one)
            pytest.fail(f"{what} was accepted")
    with pytest.raises(UnauthorizedError):
        TokenVerifier(URL.replace("127.0.0.1", "localhost"))(token)


def test_a_token_that_the_platform_signed_is_refused_after_its_end(monkeypatch: pytest.MonkeyPatch, plinth: Plinth) -> None:
    verify = TokenVerifier(URL)
    token = plinth.token()
    assert verify(token)
    later = datetime.datetime.now(tz=datetime.timezone.utc) + datetime.timedelta(hours=2)

    class Later(datetime.datetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> datetime.datetime:
            return later

    monkeypatch.setattr("jwt.api_jwt.datetime", Later)
    with pytest.raises(UnauthorizedError, match="expired"):
        verify(token)


SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
EVENT = {
    "id": "e1",
    "createdAt": 1,
    "tenant": "demo",
    "sourceClient": "demo.shop",
    "eventType": "orderPlaced",
    "payload": '{"order": "ä"}',
}


def signed(body: str, when: datetime.datetime) -> dict[str, str]:
    return {
        "Webhook-Id": "m1",
        "Webhook-Timestamp": str(int(when.timestamp())),
        "Webhook-Signature": f"v1,bm8= {Webhook(SECRET).sign('m1', when, body)}",
    }


def test_a_push_is_verified_by_any_of_the_secrets() -> None:
    body = json.dumps(EVENT, ensure_ascii=False)
    headers = signed(body, datetime.datetime.now(tz=datetime.timezone.utc))
    event = verify_webhook(headers, body.encode(), ["whsec_bm8=", SECRET])
    assert (event.id, event.json()) == ("e1", {"order": "ä"})


@pytest.mark.parametrize("change", ["body", "id", "time", "secret", "old", "missing"])
def test_a_push_that_was_changed_is_refused(change: str) -> None:
    body = json.dumps(EVENT)
    now = datetime.datetime.now(tz=datetime.timezone.utc)
    headers = signed(body, now - datetime.timedelta(minutes=6) if change == "old" else now)
    secret = SECRET
    if change == "body":
        body = body.replace("e1", "e2")
    elif change == "id":
        headers["Webhook-Id"] = "m2"
    elif change == "time":
        headers["Webhook-Timestamp"] = str(int(headers["Webhook-Timestamp"]) + 1)
    elif change == "secret":
        secret = "whsec_bm8="
    elif change == "missing":
        del headers["Webhook-Signature"]
    with pytest.raises(WebhookError):
        verify_webhook(headers, body, secret)
