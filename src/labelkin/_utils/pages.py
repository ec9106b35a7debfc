"""Pages of one file: a template with its style, its script and its data inside."""

import base64
import hashlib
from importlib import resources
from typing import Any

from labelkin._utils.optional import import_optional


def render_page(package: str, name: str, extra: str, **content: Any) -> str:
    """Fill the template ``name.html.j2`` of a package's folder ``templates``; content is escaped.

    The template also gets ``name.css`` as ``style``, ``name.js``, if there is one, as ``script``,
    and ``script_hash`` (with it in the page's policy the browser runs this script and no other).
    `extra` installs Jinja, for the error without it.
    """
    jinja2 = import_optional("jinja2", extra)
    markup = import_optional("markupsafe", extra).Markup

    folder = resources.files(package) / "templates"

    def load(file: str) -> str:
        return (folder / file).read_text(encoding="utf-8")

    script = load(f"{name}.js") if (folder / f"{name}.js").is_file() else ""
    templates = jinja2.Environment(
        loader=jinja2.FunctionLoader(load),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    return templates.get_template(f"{name}.html.j2").render(
        **content,
        script=markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        style=markup(load(f"{name}.css")),
    )
