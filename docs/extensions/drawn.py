"""Figures that a page draws itself: its code is run when the site is built, and no picture is kept in the repository.

In Markdown::

    ```{drawn} spending
    What was spent, request by request.
    ```

shows the figure that the examples above have put into `spending`. They are run as doctests are, and one that
does not print what it should is an error. So a figure is always that of the code beside it.
"""

import doctest
import os
from pathlib import Path
from typing import Any, Final

from docutils import nodes
from matplotlib import rc_context
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

SAME_FILE_FOR_SAME_FIGURE: Final = "budgetbandits"


class Page:
    """The examples of a page, run one after the other as far as they are needed."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.examples = doctest.DocTestParser().get_examples(file.read_text(encoding="utf-8"))
        self.names: dict[str, Any] = {"__name__": "__main__"}

    def run_to(self, line: int) -> str:
        """Run the examples above a line that were not run yet, and return what is wrong with them."""
        above = [example for example in self.examples if example.lineno < line]
        self.examples = self.examples[len(above) :]
        test = doctest.DocTest(above, self.names, self.file.name, str(self.file), 0, None)
        complaints: list[str] = []
        doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(
            test, out=complaints.append, clear_globs=False
        )
        self.names = test.globs
        return "".join(complaints)


class Drawn(SphinxDirective):
    """Shows a figure that the page has drawn, with a caption."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Run the examples above, and save the figure."""
        (name,) = self.arguments
        if complaints := self.page.run_to(self.lineno):
            raise self.error(complaints)
        file = Path(self.env.doctreedir) / "drawn" / f"{self.env.docname.replace('/', '-')}-{name}.svg"
        file.parent.mkdir(exist_ok=True)
        with rc_context({"svg.hashsalt": SAME_FILE_FOR_SAME_FIGURE}):
            self.page.names[name].savefig(file, metadata={"Date": None})
        return [self.figure(os.path.relpath(file, self.page.file.parent))]

    @property
    def page(self) -> Page:
        """The page that is being read, the same for all of its figures."""
        found = self.env.temp_data.get("drawn")
        if not isinstance(found, Page):
            found = self.env.temp_data["drawn"] = Page(Path(self.env.doc2path(self.env.docname)))
        return found

    def figure(self, uri: str) -> nodes.figure:
        """Return the figure with its caption, which also stands for it where it cannot be seen."""
        caption = " ".join(self.content)
        children, messages = self.parse_inline(caption, lineno=self.lineno)
        image = nodes.image(uri=uri, alt=caption, classes=["drawn"])
        return nodes.figure("", image, nodes.caption(caption, "", *children), *messages)


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directive to Sphinx."""
    app.add_directive("drawn", Drawn)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
