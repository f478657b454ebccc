"""What can go wrong on the way out; every failure has a code and a sentence for people.

    EgressError
    ├── Refused       the guard said no; nothing left this host
    ├── Unreachable   no connection: DNS, TCP or TLS; nothing of the request left
    ├── Interrupted   the connection broke before the answer was complete
    ├── TimedOut      a limit of time was reached
    └── BadAnswer     an answer came that breaks a bound, or that nobody can read

A sentence names the host as it was given, and what to do. It never names an address that
DNS gave, nor anything the other side said.
"""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """Stable codes: they may be stored, logged and counted."""

    # Refused, in the order of the guard
    BAD_URL = "bad_url"
    SCHEME = "scheme"
    USERINFO = "userinfo"
    BAD_HOST = "bad_host"
    NUMERIC_HOST = "numeric_host"
    BAD_PORT = "bad_port"
    OWN_HOST = "own_host"
    DENIED = "denied"
    NOT_ALLOWED = "not_allowed"
    PORT = "port"
    TOO_MANY_ADDRESSES = "too_many_addresses"
    NOT_PUBLIC = "not_public"
    # Refused besides
    BAD_REQUEST = "bad_request"
    DOWNGRADE = "downgrade"
    UNKNOWN_GROUP = "unknown_group"
    MISCONFIGURED = "misconfigured"
    # Unreachable
    NO_ADDRESS = "no_address"
    DNS_FAILED = "dns_failed"
    CONNECT_FAILED = "connect_failed"
    CERTIFICATE = "certificate"
    TLS = "tls"
    # Interrupted
    BROKEN_OFF = "broken_off"
    # TimedOut
    DEADLINE = "deadline"
    IDLE = "idle"
    # BadAnswer
    BODY_TOO_LARGE = "body_too_large"
    HEADERS_TOO_LARGE = "headers_too_large"
    ENCODING = "encoding"
    TOO_MANY_REDIRECTS = "too_many_redirects"


class EgressError(Exception):
    """`has_left` says whether any byte of the request may have left this host.

    Only where it is False is it certain that the other side has not acted.
    """

    def __init__(
        self, reason: Reason, sentence: str, *, has_left: bool = False
    ) -> None:
        super().__init__(sentence)
        self.reason = reason
        self.sentence = sentence
        self.has_left = has_left


class Refused(EgressError):
    """The guard's verdict; asking again gives the same one until a setting changes."""

    def __init__(self, reason: Reason, sentence: str) -> None:
        super().__init__(reason, sentence)


class Unreachable(EgressError):
    """No connection was made; the same request may be tried again later."""

    def __init__(self, reason: Reason, sentence: str) -> None:
        super().__init__(reason, sentence)


class Interrupted(EgressError):
    """Reset, ended, or no HTTP; the other side may have acted where `has_left`."""


class TimedOut(EgressError):
    """The deadline of the operation, or the limit of silence, was reached."""


class BadAnswer(EgressError):
    """There was an answer, so the other side has acted."""

    def __init__(self, reason: Reason, sentence: str) -> None:
        super().__init__(reason, sentence, has_left=True)
