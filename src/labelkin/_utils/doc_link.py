"""Links from the HTML representation of an estimator to its documentation."""

from functools import lru_cache
from importlib.metadata import PackageNotFoundError, metadata


@lru_cache
def documentation_url(package: str = "labelkin") -> str:
    """Return the ``Documentation`` entry of a package's ``project.urls``, "" without one."""
    try:
        entries = metadata(package).get_all("Project-URL") or []
    except PackageNotFoundError:
        return ""
    urls = dict(entry.split(", ", 1) for entry in entries)
    return urls.get("Documentation", "").rstrip("/")


class DocLinkMixin:
    """Links the HTML representation of an estimator to its page of the API reference."""

    def _get_doc_link(self) -> str:
        """Return the address of the page; "" for a subclass elsewhere, which has none."""
        url = documentation_url()
        if not url or not type(self).__module__.startswith("labelkin."):
            return ""
        return f"{url}/api/generated/labelkin.{type(self).__name__}.html"
