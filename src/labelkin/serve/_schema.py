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


def _object(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, **more}


def _array(items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **more}


_NUMBER, _STRING, _INTEGER = {"type": "number"}, {"type": "string"}, {"type": "integer"}


def row_schema(model: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of one row, from what `Service.describe` returns."""
    columns = model["columns"]
    if columns is None:
        n = model["n_features"]
        order = "The features, in the order of the training data."
        return _array(_NUMBER, minItems=n, maxItems=n, description=order)
    return _object(
        {
            one["name"]: {
                "type": _TYPES[one["kind"]],
                "description": one["kind"],
                **({"examples": one["values"][:10]} if one.get("values") else {}),
            }
            for one in columns
        },
        additionalProperties=True,
        description="Columns of the training data by name. A missing value is null; other "
        "columns are ignored.",
    )


def request_schema(model: dict[str, Any], limits: Limits) -> dict[str, Any]:
    """Return the JSON schema of the body of ``POST /predict``."""
    numbers = _array({"type": "integer", "minimum": 1}, maxItems=limits.explained)
    explain = {
        "description": "Numbers of the rows to explain, counted from 1; true: all.",
        "anyOf": [{"type": "boolean"}, numbers],
        "default": False,
    }
    rows = _array(row_schema(model), minItems=1, maxItems=limits.rows)
    return _object(
        {"rows": rows, "explain": explain}, required=["rows"], additionalProperties=False
    )


def answer_schema(model: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of the answer."""
    label = _object(
        {
            "label": _STRING,
            "predicted": {"type": "boolean"},
            "probability": _NUMBER,
            "added": _array(
                _object({"part": _STRING, "log_odds": _NUMBER}),
                description="What words and values add to the log odds.",
            ),
            "rows": _array(
                _object({"row": _INTEGER, "score": _NUMBER}),
                description="Training rows, counted from 1, for or against the label.",
            ),
        }
    )
    members = "What each member of an ensemble predicts."
    row = _object(
        {
            "row": _INTEGER,
            "labels": _array({"type": "string", "enum": list(model["labels"])}),
            "confidence": {
                **_NUMBER,
                "description": "How sure the model is of the label it is least sure of.",
            },
            "probabilities": {"type": "object", "additionalProperties": _NUMBER},
            "explanation": _object(
                {
                    "labels": _array(label),
                    "members": _array({"type": "object"}, description=members),
                    "nearest": _array(_STRING),
                }
            ),
        },
        required=["row", "labels", "confidence", "probabilities"],
    )
    return _object({"model": _STRING, "rows": _array(row)}, required=["model", "rows"])


def openapi(model: dict[str, Any], limits: Limits) -> dict[str, Any]:
    """Return the OpenAPI document of the application."""

    def answer(description: str, schema: dict[str, Any]) -> dict[str, Any]:
        return {"description": description, "content": {"application/json": {"schema": schema}}}

    error = _object({"error": _STRING}, required=["error"])
    errors = {
        "408": "The body did not arrive within the time limit.",
        "413": "The body or the number of rows is over the limit.",
        "415": "The body is neither JSON nor CSV.",
        "422": "The rows do not fit the model.",
        "503": "Too many requests wait; try again later.",
        "504": "The prediction took longer than the time limit.",
    }
    anything = {"type": "object"}
    explain = {
        "name": "explain",
        "in": "query",
        "description": "For CSV: numbers of the rows to explain, separated by commas.",
        "schema": _STRING,
    }
    predict = {
        "summary": "Predict the labels of rows",
        "parameters": [explain],
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {"schema": request_schema(model, limits)},
                "text/csv": {"schema": _STRING},
            },
        },
        "responses": {
            "200": answer("Labels, confidence and probabilities.", answer_schema(model)),
            **{status: answer(text, error) for status, text in errors.items()},
        },
    }

    def get(summary: str) -> dict[str, Any]:
        return {"get": {"summary": summary, "responses": {"200": answer(summary, anything)}}}

    return {
        "openapi": "3.1.0",
        "info": {"title": f"labelkin: {model['name']}", "version": labelkin.__version__},
        "paths": {
            "/predict": {"post": predict},
            "/schema": get("The model's columns and labels, and the form of requests"),
            "/health": get("Whether the application runs"),
        },
    }
