"""A model as a web page and a JSON endpoint, on the user's own machine."""

from labelkin.serve._app import make_app
from labelkin.serve._service import BadRows, Limits, Service

__all__ = ["BadRows", "Limits", "Service", "make_app"]
