"""Events as they are published, stored and read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class NewEvent:
    """An event to publish. A payload that is no text is sent as JSON."""

    payload: Any
    metadata: Mapping[str, str] | None = None
    # The tenant that the event is about; the token's own by default.
    tenant: str | None = None


@dataclass(frozen=True)
class StoredEvent:
    id: str
    # When it was published, in milliseconds since 1970.
    created_at: int
    tenant: str
    source_client: str
    event_type: str
    payload: str
    metadata: Mapping[str, str] = field(default_factory=dict)

    def json(self) -> Any:
        """The payload as JSON."""
        return json.loads(self.payload)

    @staticmethod
    def of(wire: Mapping[str, Any]) -> StoredEvent:
        return StoredEvent(
            id=wire["id"],
            created_at=wire["createdAt"],
            tenant=wire["tenant"],
            source_client=wire["sourceClient"],
            event_type=wire["eventType"],
            payload=wire["payload"],
            metadata=wire.get("metadata") or {},
        )


@dataclass(frozen=True)
class Batch:
    events: list[StoredEvent]
    # Commits, extends or releases the batch.
    token: str
    # How often the first event was delivered, this time included.
    attempt: int
    # Events that retention removed before this consumer read them.
    lost: int
