"""Plinth for Python: tokens, events, files, token checks and webhooks."""

from .aio import AsyncFiles, AsyncPlinth, AsyncTokenVerifier, AsyncTopic
from .client import Plinth
from .consumed import ConsumedEvent
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
from .events import Batch, NewEvent, StoredEvent
from .files import Files
from .topic import Topic
from .verify import Caller, TokenVerifier
from .webhook import WebhookError, verify_webhook

__all__ = [
    "AsyncFiles",
    "AsyncPlinth",
    "AsyncTokenVerifier",
    "AsyncTopic",
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
