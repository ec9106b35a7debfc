"""The application: a page, ``POST /predict``, and the documents that describe it."""

import asyncio
import json
import re
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import asdict
from email.message import EmailMessage
from functools import partial
from importlib import resources
from typing import Any

from labelkin._utils.optional import import_optional
from labelkin._utils.untrusted import iter_json
from labelkin.serve._guard import guard
from labelkin.serve._service import BadRows, Limits, Service

_CHUNK = 500  # rows predicted between two checks of the time limit
_NUMBER = re.compile("[0-9]{1,9}")
_SHEETS = (
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "application/vnd.oasis.opendocument.spreadsheet",
)
_CSV = ("text/csv", "application/csv", "text/tab-separated-values")
_JSON = ("application/json", "application/x-ndjson", "application/jsonl")
_STRINGS = ("text", "date")  # kinds of columns whose values are strings


def make_app(service: Service, limits: Limits | None = None, hosts: Iterable[str] = ()) -> Any:
    """Return an ASGI application that predicts by a model; needs the ``serve`` extra.

    `hosts` are names under which it may be reached, besides ``localhost`` and addresses.
    """
    import_optional("starlette", "serve")
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

    limits = limits or Limits()
    model = service.describe()
    schema = {**model, "request": _request_schema(model, limits), "limits": asdict(limits)}
    folder = resources.files("labelkin.serve") / "static"
    documents: dict[str, Response] = {
        "/": Response((folder / "serve.html").read_bytes(), media_type="text/html"),
        "/serve.css": Response((folder / "serve.css").read_bytes(), media_type="text/css"),
        "/serve.js": Response((folder / "serve.js").read_bytes(), media_type="text/javascript"),
        "/schema": JSONResponse(schema),
        "/health": JSONResponse({"status": "ok"}),
    }
    computing = _Worker(service, limits)

    async def labels(request: Request) -> Response:
        return JSONResponse({"labels": service.find_labels(request.query_params.get("search", ""))})

    async def predict(request: Request) -> Response:
        header = EmailMessage()
        header["content-type"] = request.headers.get("content-type", "")
        kind, charset = header.get_content_type(), header.get_content_charset()
        if kind not in (*_JSON, *_CSV, *_SHEETS):
            text = (
                "Send rows as application/json, or a table as text/csv or a spreadsheet, as the "
                "body of the request and with this Content-Type."
            )
            raise BadRows(text, 415)
        try:
            async with asyncio.timeout(limits.seconds):
                body = bytearray()
                async for chunk in request.stream():
                    body.extend(chunk)
                    if len(body) > limits.bytes:
                        text = f"The rows take more than {limits.bytes / 1e6:g} MB; send fewer."
                        raise BadRows(text, 413)
                listed = request.query_params.get("explain", "").split(",")
                if not all(_NUMBER.fullmatch(part) for part in filter(None, listed)):
                    raise BadRows("explain is a list of row numbers, separated by commas.")
                sent: Any = bytes(body)
                explain: Any = [int(part) for part in listed if part]
                if kind in _JSON:
                    sent, explain = _parse(sent, explain)
                found = await computing.run(sent, explain, charset)
        except TimeoutError:
            text = f"The request took longer than {limits.seconds:g} s; send fewer rows."
            raise BadRows(text, 504) from None
        return JSONResponse({"model": model["name"]} | found)

    async def answer_error(_: Request, error: Any) -> Response:
        if isinstance(error, BadRows):
            status, text = error.status, str(error)
        else:
            status = getattr(error, "status_code", 500)
            texts = {404: "There is nothing at this address.", 405: "Use another method here."}
            text = texts.get(status, f"The model failed on these rows ({type(error).__name__}).")
        headers = {"retry-after": "5"} if status == 503 else None
        return JSONResponse({"error": text}, status, headers)

    @asynccontextmanager
    async def lifespan(_: Any) -> Any:
        yield
        computing.pool.shutdown(wait=False, cancel_futures=True)

    # With a handler for clients that have disconnected, whose errors would be printed otherwise.
    kinds = (BadRows, HTTPException, ClientDisconnect, Exception)
    app = Starlette(
        routes=[
            *(Route(path, answer, methods=["GET"]) for path, answer in documents.items()),
            Route("/labels", labels),
            Route("/predict", predict, methods=["POST"]),
        ],
        exception_handlers=dict.fromkeys(kinds, answer_error),
        lifespan=lifespan,
    )
    return guard(app, hosts)  # around all, so that errors have its headers too


def _request_schema(model: dict[str, Any], limits: Limits) -> dict[str, Any]:
    """Return the JSON schema of the body of ``POST /predict``."""
    n = model["n_features"]
    row = {"type": "array", "items": {"type": "number"}, "minItems": n, "maxItems": n}
    if model["columns"] is not None:
        columns = {one["name"]: _value_schema(one) for one in model["columns"]}
        text = "Columns of the training data; a missing value is null, others are ignored."
        row = {"type": "object", "properties": columns, "description": text}
    numbers = {"type": "array", "items": {"type": "integer", "minimum": 1}}
    explain = {
        "description": "Numbers of the rows to explain, counted from 1; true: all.",
        "anyOf": [{"type": "boolean"}, numbers | {"maxItems": limits.explained}],
        "default": False,
    }
    rows = {"type": "array", "items": row, "minItems": 1, "maxItems": limits.rows}
    return {
        "description": "The rows may also be sent alone: as a list, as one row or more, such as "
        "one per line, or in another object, such as an export.",
        "type": "object",
        "properties": {"rows": rows, "explain": explain},
        "required": ["rows"],
        "additionalProperties": False,
    }


def _value_schema(column: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of the values of a column."""
    kinds, unit = ["string", "null"], column.get("unit")
    if unit == "%":
        return {"type": kinds, "description": "A percentage with its sign, as in 25 %."}
    if column["kind"] not in _STRINGS:
        kinds.insert(0, "number")
    text = f"A number, or a text with its unit, {unit}."
    return {"type": kinds} | ({"description": text} if unit else {})


class _Worker:
    """Computes in one thread; of further requests a few may wait.

    A thread cannot be ended from outside: after the time limit it ends with the part of a request
    that it computes, and requests that come meanwhile wait for it.
    """

    def __init__(self, service: Service, limits: Limits) -> None:
        self.service, self.limits, self.n_requests = service, limits, 0
        self.pool = ThreadPoolExecutor(1, thread_name_prefix="labelkin")

    async def run(
        self, sent: Any, explain: list[int] | bool, charset: str | None
    ) -> dict[str, Any]:
        """Return notes on the rows of a request and their predictions, some explained.

        ``csv`` is how a CSV file of the predictions is written, if the rows were one.
        """
        limits = self.limits
        in_thread = partial(asyncio.get_running_loop().run_in_executor, self.pool)
        if self.n_requests > limits.waiting:
            raise BadRows("Too many requests are waiting; try again in a few seconds.", 503)
        self.n_requests += 1
        try:
            rows = await in_thread(self.service.read, sent, charset)
            count = rows.features.shape[0]
            if count > limits.rows:
                text = f"The request has {count:,} rows; send at most {limits.rows:,}."
                raise BadRows(text, 413)
            wanted = explain if isinstance(explain, list) else list(range(1, explain * count + 1))
            if len(wanted) > limits.explained:
                raise BadRows(f"At most {limits.explained} rows can be explained in one request.")
            for number in wanted:
                if not 1 <= number <= count:
                    raise BadRows(f"explain: there is no row {number}; the rows are 1 to {count}.")
            found: list[dict[str, Any]] = []
            for first in range(0, count, _CHUNK):
                part = slice(first, first + _CHUNK)
                found += await in_thread(self.service.predict, rows, part)
            for number in wanted:
                why = await in_thread(self.service.explain, rows, number - 1)
                found[number - 1]["explanation"] = why
            form = {} if rows.csv is None else {"csv": asdict(rows.csv)}
            return {"notes": list(rows.notes), "rows": found} | form
        finally:
            self.n_requests -= 1


def _parse(body: bytes, explain: Any) -> tuple[Any, Any]:
    """Return the rows and the numbers of those to explain, by default `explain`.

    The body is an object with both, a list of rows, or one row or more, such as one per line.
    """

    def refuse(name: str) -> None:
        raise ValueError(f"{name} is not a number in JSON")

    try:
        text = body.decode(json.detect_encoding(body))
        values = list(iter_json(text, parse_constant=refuse))
        json.dumps(values, ensure_ascii=False).encode()  # fails for half a character, as in \\ud800
        if not values:
            raise ValueError("it is empty")
    except (ValueError, RecursionError) as error:
        raise BadRows(f"The body is not JSON ({str(error)[:100]}).") from None
    value = values[0] if len(values) == 1 else values
    if not isinstance(value, dict) or "rows" not in value:
        value = {"rows": [value] if value and isinstance(value, dict) else value}
    if not isinstance(value["rows"], list) or not value["rows"]:
        raise BadRows(
            'Send at least one row, as {"rows": [...]}, a list, or one object per line; GET '
            "/schema shows its form."
        )
    if unknown := sorted(set(value) - {"rows", "explain"}):
        raise BadRows(f"The request has no field {unknown[0]!r}; it has rows and explain.")
    explain = value.get("explain", explain)
    listed = isinstance(explain, list) and all(type(i) is int for i in explain)
    if not (isinstance(explain, bool) or listed):
        raise BadRows("explain is true, false, or a list of row numbers.")
    return value["rows"], explain
