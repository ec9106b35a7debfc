"""The form of requests and answers: a JSON schema of the rows, and an OpenAPI document."""

from typing import Any

import labelkin
from labelkin.serve._service import Limits

_TYPES = {
    "number": ["number", "string", "null"],
    "text": ["string", "null"],
    "category": ["string", "number", "null"],
    "date": ["string", "null"],
    "any": ["number", "string", "null"],
}
_NUMBER, _STRING, _OBJECT = {"type": "number"}, {"type": "string"}, {"type": "object"}


def request_schema(model: dict[str, Any], limits: Limits) -> dict[str, Any]:
    """Return the JSON schema of the body of ``POST /predict``.

    `model` is what `Service.describe` returns.
    """
    n = model["n_features"]
    row: dict[str, Any] = {"type": "array", "items": _NUMBER, "minItems": n, "maxItems": n}
    if model["columns"] is not None:
        columns = {one["name"]: {"type": _TYPES[one["kind"]]} for one in model["columns"]}
        text = "Columns of the training data; a missing value is null, others are ignored."
        row = {**_OBJECT, "properties": columns, "description": text}
    numbers = {
        "type": "array",
        "items": {"type": "integer", "minimum": 1},
        "maxItems": limits.explained,
    }
    explain = {
        "description": "Numbers of the rows to explain, counted from 1; true: all.",
        "anyOf": [{"type": "boolean"}, numbers],
        "default": False,
    }
    rows = {"type": "array", "items": row, "minItems": 1, "maxItems": limits.rows}
    return {
        **_OBJECT,
        "properties": {"rows": rows, "explain": explain},
        "required": ["rows"],
        "additionalProperties": False,
    }


def openapi(model: dict[str, Any], limits: Limits) -> dict[str, Any]:
    """Return the OpenAPI document of the application."""

    def answer(description: str, schema: dict[str, Any] = _OBJECT) -> dict[str, Any]:
        return {"description": description, "content": {"application/json": {"schema": schema}}}

    def get(summary: str) -> dict[str, Any]:
        return {"get": {"summary": summary, "responses": {"200": answer(summary)}}}

    row = {
        "row": {"type": "integer"},
        "labels": {"type": "array", "items": {"type": "string", "enum": list(model["labels"])}},
        "confidence": _NUMBER,
        "probabilities": {**_OBJECT, "additionalProperties": _NUMBER},
        "explanation": _OBJECT,
    }
    rows = {"type": "array", "items": {**_OBJECT, "properties": row}}
    found = {**_OBJECT, "properties": {"model": _STRING, "rows": rows}}
    error = {**_OBJECT, "properties": {"error": _STRING}}
    bodies = {"application/json": request_schema(model, limits), "text/csv": _STRING}
    predict = {
        "summary": "Predict the labels of rows",
        "parameters": [
            {
                "name": "explain",
                "in": "query",
                "description": "For CSV: numbers of the rows to explain, separated by commas.",
                "schema": _STRING,
            }
        ],
        "requestBody": {
            "required": True,
            "content": {kind: {"schema": schema} for kind, schema in bodies.items()},
        },
        "responses": {
            "200": answer("Labels, confidence and probabilities.", found),
            "default": answer("An error, in one sentence.", error),
        },
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": f"labelkin: {model['name']}", "version": labelkin.__version__},
        "paths": {
            "/predict": {"post": predict},
            "/schema": get("The model's columns and labels, and the form of requests"),
            "/health": get("Whether the application runs"),
        },
    }
