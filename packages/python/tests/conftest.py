"""What the tests share: a started platform (`npm run test:python`), a client, a topic."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator

import pytest

from plinth import Plinth, Topic

URL = os.environ["PLINTH_URL"]
SCOPES = ["plat.pubsub_publish", "plat.media_view", "plat.media_manage"]


@pytest.fixture(scope="session")
def operator() -> Iterator[Plinth]:
    with Plinth(URL, client_id="plat.operator", client_secret=os.environ["OPERATOR_CLIENT_SECRET"]) as plinth:
        yield plinth


def make_client(operator: Plinth, scopes: list[str] = SCOPES) -> tuple[str, str]:
    client_id = f"demo.python{uuid.uuid4().hex[:8]}"
    body = {
        "tenant": "demo",
        "confidential": True,
        "grantTypes": ["client_credentials"],
        "scopes": scopes,
        "redirectUris": [],
    }
    made = operator.request("PUT", f"/admin/v1/clients/{client_id}", json=body)
    return client_id, made["clientSecret"]


@pytest.fixture(scope="session")
def client(operator: Plinth) -> tuple[str, str]:
    return make_client(operator, [*SCOPES, "plat.media_admin"])


@pytest.fixture(scope="session")
def plinth(client: tuple[str, str]) -> Iterator[Plinth]:
    with Plinth(URL, client_id=client[0], client_secret=client[1]) as made:
        yield made


@pytest.fixture
def topic(plinth: Plinth, client: tuple[str, str]) -> Topic:
    made = plinth.topic(client[0], f"numbers{uuid.uuid4().hex[:8]}")
    assert made.create() is True
    assert made.create() is False
    return made
