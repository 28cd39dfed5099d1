"""Checks of access tokens without asking the platform."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx
import jwt

from .errors import UnauthorizedError, UnavailableError
from .flow import Flow, Runner, Send
from .transport import check_address

# The shortest time between two tries to fetch keys: anybody can make up a key id, and a platform that does not answer
# has no other keys.
_REFETCH = 10.0
# Older keys are fetched anew beside the checks.
_REFRESH = 1_800.0
# Without a try for so long, a check waits for the keys, since the platform may have withdrawn one meanwhile.
_KEYS_MAX_AGE = 3_600.0
_MAX_TOKEN_CHARS = 16_384
FETCH_TIMEOUT = 5.0


@dataclass(frozen=True)
class Caller:
    """Who calls, as the platform signed it."""

    # Empty in a person's token without a tenant.
    tenant: str
    # The calling application's client id.
    client: str
    # The person; empty if the application acts for itself.
    user: str
    scopes: frozenset[str]
    claims: Mapping[str, Any]


@dataclass(frozen=True)
class UncheckedToken:
    token: str
    kid: str
    audience: str


class TokenRules:
    """The checks of a token, and the public keys that they need."""

    def __init__(self, url: str, service: str | None, leeway: float) -> None:
        check_address(url)
        self._issuer = f"{url.rstrip('/')}/oauth2/v1"
        parts = urlsplit(url)
        self._audiences = {"at+jwt": f"{parts.scheme}://{parts.netloc}", "service+jwt": service}
        self._leeway = leeway
        self._keys: dict[str, jwt.PyJWK] = {}
        self._fetched = self._tried = float("-inf")
        # Why the last try failed.
        self._failure: Exception | None = None

    def read(self, authorization: str | None) -> UncheckedToken:
        """The token of a header, if it is of a kind that this service takes."""
        match = re.fullmatch(r"(?:Bearer +)?([\w-]+\.[\w-]+\.[\w-]+)", authorization or "", re.I | re.A)
        if match is None or len(match[1]) > _MAX_TOKEN_CHARS:
            raise _refusal("This needs an access token: send Authorization: Bearer <token>.")
        token = match[1]
        try:
            head = jwt.get_unverified_header(token)
        except jwt.InvalidTokenError as thrown:
            raise _refusal("The access token cannot be read.") from thrown
        kind, kid = head.get("typ"), head.get("kid")
        audience = self._audiences.get(kind) if isinstance(kind, str) else None
        if head.get("alg") != "ES256" or audience is None or not isinstance(kid, str):
            raise _refusal("The access token is not one for this service.")
        return UncheckedToken(token, kid, audience)

    def needs_keys(self, kid: str) -> bool:
        now = time.monotonic()
        return now - self._tried > _REFETCH and (kid not in self._keys or now - self._fetched > _REFRESH)

    def must_wait(self, kid: str) -> bool:
        """True if a check needs the result of the fetch; otherwise the key that is known serves meanwhile."""
        return kid not in self._keys or time.monotonic() - self._tried > _KEYS_MAX_AGE

    def load(self) -> Flow[None]:
        """Fetches the keys. A failure is remembered: it counts for tokens whose key is not known."""
        try:
            response: httpx.Response = yield Send("GET", f"{self._issuer}/jwks", {}, FETCH_TIMEOUT)
            response.raise_for_status()
            found = response.json()["keys"]
            # The set has keys of ID tokens too, which sign no access token.
            wanted = [one for one in found if one.get("kty") == "EC" and one.get("crv") == "P-256" and "kid" in one]
            self._keys = {one["kid"]: jwt.PyJWK(one, algorithm="ES256") for one in wanted}
            self._failure = None
            self._fetched = time.monotonic()
        except Exception as thrown:
            self._failure = thrown
        self._tried = time.monotonic()

    def check(self, unchecked: UncheckedToken) -> Caller:
        key = self._keys.get(unchecked.kid)
        if key is None:
            if self._failure is None:
                raise _refusal("The access token is not signed by the platform.")
            message = f"{self._issuer}/jwks does not answer."
            raise UnavailableError(message, status=503, type="keys_unavailable") from self._failure
        try:
            claims = jwt.decode(
                unchecked.token,
                key.key,
                algorithms=["ES256"],
                audience=unchecked.audience,
                issuer=self._issuer,
                leeway=self._leeway,
                # A clock that is a little behind makes no token invalid; `exp` and `nbf` decide.
                options={"require": ["exp", "iss", "aud"], "verify_iat": False, "strict_aud": True},
            )
        except jwt.ExpiredSignatureError as thrown:
            raise _refusal("The access token has expired.") from thrown
        except jwt.InvalidIssuerError as thrown:
            raise _refusal(f"The access token is not one of {self._issuer}.") from thrown
        except jwt.InvalidTokenError as thrown:
            raise _refusal(f"The access token is not valid: {thrown}.") from thrown
        return Caller(
            tenant=_text(claims, "tenant"),
            client=_text(claims, "client_id"),
            user=_text(claims, "user"),
            scopes=frozenset(_text(claims, "scope").split()),
            claims=claims,
        )


class TokenVerifier:
    """Checks an `Authorization` header or a bare token: signature (ES256), `typ` with its audience, issuer, expiry.

        verify = TokenVerifier("https://platform.example", service="notes")
        caller = verify(request.headers.get("authorization"))

    `at+jwt` is for the whole platform, `service+jwt` for one service, named by `service`. A revoked token is valid
    here until it ends; only the platform knows sooner.
    """

    def __init__(
        self, url: str, *, service: str | None = None, leeway: float = 5, http: httpx.Client | None = None
    ) -> None:
        self._rules = TokenRules(url, service, leeway)
        self._runner = Runner(http or httpx.Client(timeout=FETCH_TIMEOUT))
        self._fetching = threading.Lock()

    def __call__(self, authorization: str | None) -> Caller:
        unchecked = self._rules.read(authorization)
        if self._rules.needs_keys(unchecked.kid):
            if self._rules.must_wait(unchecked.kid):
                with self._fetching:
                    self._fetch(unchecked.kid)
            else:
                self._fetch_beside(unchecked.kid)
        return self._rules.check(unchecked)

    def _fetch(self, kid: str) -> None:
        # Another thread may have fetched them meanwhile.
        if self._rules.needs_keys(kid):
            self._runner.run(self._rules.load())

    def _fetch_beside(self, kid: str) -> None:
        """Fetches the keys in a thread, unless another one does."""
        if not self._fetching.acquire(blocking=False):
            return

        def fetch() -> None:
            try:
                self._fetch(kid)
            finally:
                self._fetching.release()

        try:
            threading.Thread(target=fetch, name="plinth keys", daemon=True).start()
        except RuntimeError:
            # The process ends, or may start no more threads: the known key serves.
            self._fetching.release()


def _text(claims: Mapping[str, Any], name: str) -> str:
    value = claims.get(name)
    return value if isinstance(value, str) else ""


def _refusal(message: str) -> UnauthorizedError:
    return UnauthorizedError(message, status=401, type="insufficient_credentials")
