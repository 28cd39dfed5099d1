"""Plinth for Python: tokens, events, files, token checks and webhooks."""

from .client import Plinth
from .consume import ConsumedEvent
from .errors import (
    ConflictError,
    ForbiddenError,
    InvalidRequestError,
    NotFoundError,
    PlinthError,
    RateLimitError,
    UnauthorizedError,
    UnavailableError,
)
from .files import Files
from .topic import Batch, NewEvent, StoredEvent, Topic
from .verify import Caller, TokenVerifier
from .webhook import WebhookError, verify_webhook

__all__ = [
    "Batch",
    "Caller",
    "ConflictError",
    "ConsumedEvent",
    "Files",
    "ForbiddenError",
    "InvalidRequestError",
    "NewEvent",
    "NotFoundError",
    "Plinth",
    "PlinthError",
    "RateLimitError",
    "StoredEvent",
    "TokenVerifier",
    "Topic",
    "UnauthorizedError",
    "UnavailableError",
    "WebhookError",
    "verify_webhook",
]
