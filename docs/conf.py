"""Settings of the documentation: `make docs` builds it into docs/_build/html."""

import re
import sys
import warnings
from importlib.metadata import files
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "_ext")]

import labelkin  # noqa: E402

project = "labelkin"
author = "The labelkin developers"
copyright = "the labelkin developers, BSD 3-Clause licence"
version = release = labelkin.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    # Ours, in docs/_ext.
    "api_reference",
    "guide_figure",
    "measured",
    "results_page",
    "rooms",
]
exclude_patterns = ["_build", "README.md", "figures"]
# The reference hands a function to autosummary's templates, which cannot be cached.
suppress_warnings = ["config.cache"]
# What a block prints, and a shell's prompt, are not copied with it.
copybutton_exclude = ".linenos, .gp, .go"
copybutton_selector = "div:not(.highlight-text) > div.highlight > pre"

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 3

default_role = "py:obj"
autosummary_generate = True
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"  # numpydoc's sections say the types in words
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# ---------------------------------------------------------------------------------- appearance

html_theme = "pydata_sphinx_theme"
html_title = f"labelkin {version}"
templates_path = ["_templates"]
html_static_path = ["_static"]
html_css_files = ["labelkin.css"]
html_favicon = "_static/logo.svg"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {
        "text": "labelkin",
        "image_light": "_static/logo.svg",
        "image_dark": "_static/logo.svg",
    },
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
    "back_to_top_button": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {
    "index": [],
    "start": [],
    "results": [],
    "readings": [],
    "coming-from": [],
    "architecture": [],
    "changelog": [],
}

# --------------------------------------------------------------------------- nothing from the net

# One file with all of MathJax's fonts as outlines; Sphinx would link to a CDN.
_MATHJAX = next(
    path for path in files("sphinx-mathjax-offline") or () if path.match("mathjax/tex-svg.js")
)
mathjax_path = "tex-svg.js"
mathjax3_config = {
    "loader": {"load": []},
    "options": {"enableMenu": False},  # its accessibility parts would be fetched
    "svg": {"fontCache": "local"},
}

# ------------------------------------------------------------------------------------- gallery

warnings.filterwarnings("ignore", message=".*non-interactive", category=UserWarning)


def _large_text(gallery_conf, fname):
    """Draw the examples' text large enough to be read in a thumbnail."""
    import matplotlib

    matplotlib.rcParams.update({"font.size": 12, "figure.dpi": 110})


sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "doc_module": ("labelkin",),
    "backreferences_dir": "api/generated/backreferences",
    "reference_url": {"labelkin": None},
    "matplotlib_animations": False,
    "reset_modules": ("matplotlib", _large_text),
    "thumbnail_size": (480, 320),
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 3600,
    "write_computation_times": False,  # its page would fetch scripts from a CDN
    "abort_on_example_error": False,
    "image_scrapers": ("matplotlib",),
}


def _copy_mathjax(app, exception):
    if exception is None and app.builder.format == "html":
        target = Path(app.outdir) / "_static" / "tex-svg.js"
        target.write_bytes(Path(_MATHJAX.locate()).read_bytes())


def _drop_empty_patterns(app, docname, source):
    """Leave out patterns in a toctree that match no page: such pages can be dropped in later."""
    folder = (Path(app.srcdir) / docname).parent
    lines = source[0].splitlines()
    source[0] = "\n".join(
        line
        for line in lines
        if not re.fullmatch(r"[\w-]+\*", line) or any(folder.glob(f"{line}.md"))
    )


def setup(app):
    """Add what the settings above need."""
    app.connect("source-read", _drop_empty_patterns)
    app.connect("build-finished", _copy_mathjax)
