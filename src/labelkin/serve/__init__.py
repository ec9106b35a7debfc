"""A model as a web page and a JSON endpoint, on the user's own machine."""

from labelkin.serve._app import make_app
from labelkin.serve._connections import PLACES, make_connection_class
from labelkin.serve._service import BadRows, Limits, Service
from labelkin.serve._work import Deadline

__all__ = [
    "PLACES",
    "BadRows",
    "Deadline",
    "Limits",
    "Service",
    "make_app",
    "make_connection_class",
]
