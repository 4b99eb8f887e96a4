"""The docs site: the pages of this folder, and a reference from the docstrings. ``make docs`` builds it."""

import gc
import logging
import sys
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

import budgetbandits

logging.basicConfig(level=logging.WARNING)  # before the theme's colours do so, and let every library talk
sys.path.insert(0, str(Path(__file__).parent / "extensions"))
gc.disable()  # all pages live to the end, and to look through them for garbage took a third of the time

project = "budgetbandits"
release = budgetbandits.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "docstrings", "drawn", "public_names"]
exclude_patterns = ["_build"]

myst_heading_anchors = 4  # what links to headings mean in a repository browser, they mean here
default_role = "py:obj"  # what docstrings have in single backticks is a name, which may be known

autodoc_member_order = "bysource"
python_maximum_signature_line_length = 100
toc_object_entries = False  # the reference has tables; entries for all methods took most of the time to write pages

html_theme = "furo"
html_title = f"budgetbandits {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_search_summary = False  # a browser refuses to fetch pages where no server is
html_show_copyright = False


def strip_code(app: Sphinx, page: nodes.document) -> None:
    """Take the empty line away that doctests need at the end of a block."""
    for block in page.findall(nodes.literal_block):
        text = block.astext().rstrip()
        block.replace_self(nodes.literal_block(text, text, **block.attributes))


def setup(app: Sphinx) -> None:
    """Let Sphinx call the function above."""
    app.connect("doctree-read", strip_code)
