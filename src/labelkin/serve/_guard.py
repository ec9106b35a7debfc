"""What is refused before a request is read, and the headers of every answer.

A page of another site that is open in the user's browser must not reach the model: names that an
attacker's name server could let point to this machine are refused, and so are requests that
another page sends.
"""

import re
from collections.abc import Iterable
from ipaddress import ip_address
from typing import Any

HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


# An address of version 6 is in brackets; a port may follow.
_HOST = re.compile(r"(?:\[([^\[\]]+)\]|([^\[\]:]+))(?::[0-9]*)?")


def guard(app: Any, hosts: Iterable[str] = ()) -> Any:
    """Check host and origin of each request to an application, and add `HEADERS` to each answer.

    `hosts` are names under which the application may be reached, besides ``localhost`` and
    addresses in digits, which no name server can redirect.
    """
    known = {"localhost", *(host.lower().rstrip(".") for host in hosts)}

    async def guarded(scope: Any, receive: Any, send: Any) -> None:
        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                own = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", []), *own]}
            await send(message)

        answer, refusal = app, _refusal(scope, known) if scope["type"] == "http" else None
        if refusal is not None:
            from starlette.responses import JSONResponse

            status, error = refusal
            answer = JSONResponse({"error": error}, status)
        await answer(scope, receive, send_with_headers)

    return guarded


def _refusal(scope: Any, known: set[str]) -> tuple[int, str] | None:
    """Return status and sentence of a request that is refused."""
    headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
    if sum(name == b"host" for name, _ in scope["headers"]) != 1:
        return 400, "A request must name exactly one host."
    host, origin = headers[b"host"], headers.get(b"origin")
    if not _is_known(host, known):
        return 421, (
            "This host name is not served; use the address that labelkin serve printed, or "
            "start it with --allow-host."
        )
    foreign = origin is not None and origin.partition("://")[2] != host
    if foreign or headers.get(b"sec-fetch-site") == "cross-site":
        return 403, "Pages of other sites may not use this model."
    return None


def _is_known(host: str, known: set[str]) -> bool:
    """Return whether a host, with its port or without, is a known name or an address."""
    found = _HOST.fullmatch(host)
    name = (found[1] or found[2]) if found else ""
    try:
        return name.lower().rstrip(".") in known or bool(ip_address(name))
    except ValueError:
        return False
