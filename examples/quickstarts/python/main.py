import json
import os
import uuid

import httpx

URL = os.environ.get("PLINTH_URL", "http://127.0.0.1:8787")
TOPIC = "/pubsub/v1/topics/demo.shop/pythonOrders"


def sign_in() -> httpx.Client:
    answer = httpx.post(
        f"{URL}/oauth2/v1/token",
        auth=("demo.shop", os.environ["DEMO_CLIENT_SECRET"]),
        data={"grant_type": "client_credentials"},
    )
    answer.raise_for_status()
    token = answer.json()["access_token"]  # works for an hour
    return httpx.Client(base_url=URL, headers={"Authorization": f"Bearer {token}"}, timeout=40)


def publish(plinth: httpx.Client, payload: dict) -> None:
    # Repeat a lost request with the same key, and the event is stored once.
    key = {"Idempotency-Key": str(uuid.uuid4())}
    answer = plinth.post(f"{TOPIC}/publish", json={"payload": json.dumps(payload)}, headers=key)
    answer.raise_for_status()


def consume(plinth: httpx.Client) -> list[dict]:
    # The platform holds the request open until there is an event, here for 20 seconds at most.
    answer = plinth.post(f"{TOPIC}/read", json={"numEvents": 10}, headers={"Prefer": "wait=20"})
    answer.raise_for_status()
    if answer.status_code == 204:
        return []
    batch = answer.json()
    found = [json.loads(event["payload"]) for event in batch["events"]]
    plinth.post(f"{TOPIC}/commit", json={"token": batch["token"]}).raise_for_status()
    return found


with sign_in() as plinth:
    created = plinth.post("/pubsub/v1/topics", json={"eventType": "pythonOrders"})
    if created.status_code != 409:  # 409: the topic exists
        created.raise_for_status()
    publish(plinth, {"order": 4711})
    for order in consume(plinth):
        print("order", order["order"])
