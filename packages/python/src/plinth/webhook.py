"""Pushes: the check of their signature (Standard Webhooks)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from collections.abc import Mapping, Sequence

from .events import StoredEvent


class WebhookError(Exception):
    """The push is not from the platform, or too old. Answer it with 400 and do not read it."""


def verify_webhook(
    headers: Mapping[str, str], body: bytes | str, secrets: str | Sequence[str], *, tolerance: float = 300
) -> StoredEvent:
    """The event of a push. `body` is as it was received: a parsed and rewritten one has another signature.

    `secrets`: the subscription's `signingSecret`, or several. A push may come twice; `event.id` is the same then.
    """
    given = {name.lower(): value for name, value in headers.items()}
    for name in ("webhook-id", "webhook-timestamp", "webhook-signature"):
        if not given.get(name):
            raise WebhookError(f"The header {name} is missing.")
    timestamp = given["webhook-timestamp"]
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 12):
        raise WebhookError("webhook-timestamp is no time.")
    if abs(time.time() - int(timestamp)) > tolerance:
        raise WebhookError("The push is too old, or the clock of this machine is wrong.")
    raw = body.encode() if isinstance(body, str) else body
    signed = f"{given['webhook-id']}.{timestamp}.".encode() + raw
    for secret in _listed(secrets):
        digest = hmac.new(_key(secret), signed, hashlib.sha256).digest()
        expected = f"v1,{base64.b64encode(digest).decode()}"
        for signature in given["webhook-signature"].split(" "):
            if hmac.compare_digest(signature.encode(), expected.encode()):
                return StoredEvent.of(json.loads(raw))
    raise WebhookError("The signature is not of this secret and this body.")


def _listed(secrets: str | Sequence[str]) -> Sequence[str]:
    listed = [secrets] if isinstance(secrets, str) else secrets
    if not listed or not all(isinstance(one, str) for one in listed):
        raise TypeError("The signing secret is missing. Is its environment variable set?")
    return listed


def _key(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except binascii.Error:
        key = b""
    if not key:
        raise ValueError("A signing secret looks like whsec_… in base64.")
    return key
