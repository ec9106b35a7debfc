"""Connections of the server: a bounded number, with which no client keeps others out."""

from typing import Any

PLACES = 100
"""Number of connections that are open at the same time."""


def make_connection_class() -> Any:
    """Return uvicorn's class of connections, of which the oldest makes place for a new one.

    It parses by h11, which bounds the size of headers, unlike faster parsers.

    Closed is the oldest connection that waits for its client: for a request, for the rest of one,
    or for an answer to be taken. Requests that are computed stay, and `Work` bounds their number.
    """
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Connection(H11Protocol):
        """A connection that closes another one where there are too many."""

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.opened_at = self.loop.time()
            opened = [one for one in self.connections if not one.transport.is_closing()]
            if len(opened) > PLACES:
                waiting: Any = filter(_waits_for_client, opened)
                min(waiting, key=lambda one: one.opened_at).transport.abort()

    return Connection


def _waits_for_client(connection: Any) -> bool:
    request = connection.cycle
    between_requests = request is None or request.response_complete
    return between_requests or request.more_body or connection.flow.write_paused
