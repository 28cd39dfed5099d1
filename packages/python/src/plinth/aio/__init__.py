"""The same client for asyncio."""

from .client import AsyncPlinth
from .files import AsyncFiles
from .topic import AsyncTopic
from .verify import AsyncTokenVerifier

__all__ = ["AsyncFiles", "AsyncPlinth", "AsyncTokenVerifier", "AsyncTopic"]
