"""The application: a page, ``POST /predict``, and the documents that describe it."""

import json
from collections.abc import Iterable
from contextlib import asynccontextmanager
from importlib import resources
from typing import Any

from labelkin._utils.optional import import_optional
from labelkin.serve._guard import Guard
from labelkin.serve._schema import openapi, request_schema
from labelkin.serve._service import BadRows, Limits, Service
from labelkin.serve._work import Busy, Deadline, Expired, Work


class _Refused(Exception):
    """A request that is answered by an error."""

    def __init__(self, status: int, error: str) -> None:
        super().__init__(error)
        self.status = status


def make_app(service: Service, limits: Limits | None = None, hosts: Iterable[str] = ()) -> Any:
    """Return an ASGI application that predicts by a model; needs the ``serve`` extra.

    `hosts` are names under which it may be reached, besides ``localhost`` and addresses.
    """
    import_optional("starlette", "serve")
    from starlette.applications import Starlette
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

    limits = limits or Limits()
    model = service.describe()
    shown = {
        "bytes": limits.bytes,
        "rows": limits.rows,
        "explained_rows": limits.explained,
        "seconds": limits.seconds,
    }
    schema = {**model, "request": request_schema(model, limits), "limits": shown}
    document = openapi(model, limits)
    work = Work(limits.seconds, limits.waiting)

    async def predict(request: Request) -> Response:
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind not in ("application/json", "text/csv"):
            raise _Refused(415, "Send rows as application/json, or a table as text/csv.")
        body = await _read_body(request, limits)
        query = request.query_params.get("explain", "")

        def compute(deadline: Deadline) -> list[dict[str, Any]]:
            if kind == "text/csv":
                return _predict(service, service.read_csv(body), _numbers(query), limits, deadline)
            records, explain = _parse(body, limits)
            return _predict(service, service.read_records(records), explain, limits, deadline)

        rows = await work.run(compute)
        return JSONResponse({"model": model["name"], "rows": rows})

    async def answer(_: Request, error: Any) -> Response:
        status, text = _describe_error(error, limits)
        headers = {"retry-after": "5"} if isinstance(error, Busy) else None
        return JSONResponse({"error": text}, status, headers)

    def document_at(path: str, value: Any) -> Route:
        async def respond(_: Request) -> Response:
            return JSONResponse(value)

        return Route(path, respond)

    def file_at(path: str, name: str, kind: str) -> Route:
        content = (resources.files("labelkin.serve") / "static" / name).read_bytes()

        async def respond(_: Request) -> Response:
            return Response(content, media_type=kind)

        return Route(path, respond)

    @asynccontextmanager
    async def lifespan(_: Any) -> Any:
        yield
        work.close()

    from starlette.exceptions import HTTPException

    # A client that is gone gets no answer, but an error without a handler would be printed.
    kinds = (_Refused, BadRows, Busy, Expired, HTTPException, ClientDisconnect, Exception)
    app = Starlette(
        routes=[
            file_at("/", "serve.html", "text/html"),
            file_at("/serve.css", "serve.css", "text/css"),
            file_at("/serve.js", "serve.js", "text/javascript"),
            document_at("/schema", schema),
            document_at("/openapi.json", document),
            document_at("/health", {"status": "ok"}),
            Route("/predict", predict, methods=["POST"]),
        ],
        exception_handlers=dict.fromkeys(kinds, answer),
        lifespan=lifespan,
    )
    return Guard(app, hosts)  # around all, so that errors have its headers too


def _describe_error(error: Any, limits: Limits) -> tuple[int, str]:
    """Return the status and the sentence by which an error is answered."""
    if isinstance(error, _Refused):
        return error.status, str(error)
    if isinstance(error, BadRows):
        return 422, str(error)
    if isinstance(error, Busy):
        return 503, "Too many requests wait; try again in a few seconds."
    if isinstance(error, Expired):
        return 504, f"It took longer than {limits.seconds:g} s; send fewer rows."
    status = getattr(error, "status_code", 500)
    texts = {404: "There is nothing at this address.", 405: "Use another method here."}
    return status, texts.get(status, f"The model failed on these rows ({type(error).__name__}).")


async def _read_body(request: Any, limits: Limits) -> bytes:
    """Return the body; it is not read further than its limits of size and time allow."""
    import asyncio

    too_large = _Refused(413, f"The rows take more than {limits.megabytes:g} MB; send fewer.")
    declared = request.headers.get("content-length", "0")
    if declared.isdigit() and int(declared) > limits.bytes:
        raise too_large
    body = bytearray()

    async def read() -> None:
        async for chunk in request.stream():
            body.extend(chunk)
            if len(body) > limits.bytes:
                raise too_large

    try:
        await asyncio.wait_for(read(), limits.seconds)
    except TimeoutError:
        raise _Refused(408, f"The rows did not arrive within {limits.seconds:g} s.") from None
    return bytes(body)


def _parse(body: bytes, limits: Limits) -> tuple[list[Any], list[int] | bool]:
    """Return the rows and the numbers of those to explain."""

    def refuse(name: str) -> None:
        raise ValueError(f"{name} is no number in JSON")

    try:
        value = json.loads(body, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise BadRows(f"The body is not JSON ({str(error)[:100]}).") from None
    if not isinstance(value, dict) or not isinstance(value.get("rows"), list) or not value["rows"]:
        raise BadRows('Send {"rows": [...]} with at least one row; GET /schema shows its form.')
    if unknown := sorted(set(value) - {"rows", "explain"}):
        raise BadRows(f"The request has no field {unknown[0]!r}; it has rows and explain.")
    explain = value.get("explain", False)
    listed = isinstance(explain, list) and all(type(i) is int for i in explain)
    if not (isinstance(explain, bool) or listed):
        raise BadRows("explain is true, false, or a list of row numbers.")
    _check_count(len(value["rows"]), limits)
    return value["rows"], explain


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",") if part]
    except ValueError:
        raise BadRows("explain is a list of row numbers, separated by commas.") from None


def _check_count(count: int, limits: Limits) -> None:
    if count > limits.rows:
        raise _Refused(413, f"These are {count:,} rows; send at most {limits.rows:,}.")


def _predict(
    service: Service, rows: Any, explain: list[int] | bool, limits: Limits, deadline: Deadline
) -> list[dict[str, Any]]:
    count = service.count(rows)
    _check_count(count, limits)
    wanted = explain if isinstance(explain, list) else list(range(1, explain * count + 1))
    if len(wanted) > limits.explained:
        raise BadRows(f"At most {limits.explained} rows can be explained in one request.")
    for number in wanted:
        if not 1 <= number <= count:
            raise BadRows(f"explain: there is no row {number}; the rows are 1 to {count}.")
    found = service.predict(rows, deadline)
    for number in wanted:
        deadline.check()
        found[number - 1]["explanation"] = service.explain(rows, number - 1)
    return found
