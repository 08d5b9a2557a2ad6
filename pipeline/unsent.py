"""Calls of which not one byte left: how that is known, and what fault it is. Such a call is free and no call at all.

What a client refuses by itself (credentials, region, address, a header) ends the run, since it refuses the next call too;
a connection that did not open may pass.
"""

import re
from collections.abc import Callable

from pipeline.faults import Exchange, Fault, Redactor, chain

NOT_OPENED = re.compile(
    r"ConnectError|ConnectTimeout|PoolTimeout|ProxyError|ClientConnector|ClientProxyConnection|ClientHttpProxy|EndpointConnection"
    r"|ProxyConnection|ConnectionRefused|gaierror|SSLCertVerification|SSLError")
"""Exceptions, by name, of a connection that never came to be."""
REFUSED = re.compile(
    r"NoCredentials|PartialCredentials|CredentialRetrieval|NoAuthToken|TokenRetrieval|SSOError|SSOToken|UnauthorizedSSO|NoRegion|InvalidRegion"
    r"|ProfileNotFound|UnknownEndpoint|EndpointResolution|EndpointProvider|InvalidEndpoint|ConfigNotFound|ConfigParse|InvalidProxies"
    r"|DefaultCredentials|RefreshError|GoogleAuth|TransportError|ClientAuthentication|CredentialUnavailable"
    r"|UnsupportedProtocol|LocalProtocol|InvalidURL|InvalidUrl|UnicodeEncode|LocationParse"
    r"|Prerequisite|ImportError|ModuleNotFound|FileNotFound|SSLCertVerification")
"""Exceptions, by name, with which a client refuses a request that it will refuse every time."""
PASSING = "The provider could not be reached."
MOST_WORDS = 300


def departed(exchange: Exchange, error: BaseException | None) -> bool:
    """Whether a byte of the request may have left. Where that cannot be seen, the exception tells; else it may have."""
    if error is None or exchange.status is not None or exchange.body is not None or exchange.went:
        return True
    if exchange.traced or exchange.hooked and not exchange.requests:
        return False
    seen = chain(exchange.error or error)
    if any("ClientConnectorError" not in n and n in ("ClientOSError", "ServerDisconnectedError") for n in map(_name, seen)):
        return True  # botocore calls a connection that broke by the same name as one that never opened
    return not any(NOT_OPENED.search(n) or REFUSED.search(n) for n in map(_name, seen))


def _name(error: BaseException) -> str:
    return type(error).__name__


def unsent(exchange: Exchange, error: BaseException | None, redact: Redactor, public: Callable[[str], str] = str) -> Fault:
    """The fault behind a call that never left.

    Args:
        redact, public: as in `pipeline.faults.classify`.
    """
    seen = chain(exchange.error or error)
    names = " ".join(map(_name, seen))
    words = public(redact(_words(seen)))[:MOST_WORDS].strip().rstrip(".")
    says = f" {words}." if words else ""
    text = any(isinstance(e, UnicodeEncodeError) and e.encoding.startswith("utf") for e in seen)  # of this task, not of the key
    if REFUSED.search(names) and not text:
        return Fault("setup", f"The request could not be made.{says}", stops_run=True)
    if NOT_OPENED.search(names) or "Timeout" in names:
        return Fault("unreachable", f"{PASSING}{says}", again=True)
    return Fault("not_sent", f"The request could not be made.{says}")


def _words(seen: list[BaseException]) -> str:
    """The deepest exception that says anything: the SDKs wrap it in words such as "Connection error."."""
    for error in reversed(seen):
        if isinstance(error, UnicodeEncodeError):
            return f"A {error.encoding} text cannot hold the character U+{ord(error.object[error.start]):04X}"
        words = " ".join(str(error).split())
        if words and not isinstance(error, TimeoutError):
            return re.sub(r"\[/?[a-z ]*\]", "", words).removeprefix("ERROR: ")
    return "The connection did not open in time" if seen else ""
