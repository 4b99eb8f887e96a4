"""Pages: the same content as HTML that stands alone and as Markdown."""

import re
from html.parser import HTMLParser

from budgetbandits.studies.report import Code, Document, Heading, Image, Rows, Text, to_html, to_markdown

PAGE = Document(
    "Regret & more",
    [
        Text("A text with <b>tags</b>."),
        Heading("Part one"),
        Rows(["claim", "verdict"], [["a | b", "holds"], ["c", "does not hold"], ["d", "holds: 1 of 2"]]),
        Image("figure.png", b"\x89PNG", "What it shows"),
        Code("budgetbandits --help\n<x>"),
    ],
)


class Tags(HTMLParser):
    """Checks that tags are closed in order, and collects them."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def parsed(html: str) -> Tags:
    tags = Tags()
    tags.feed(html)
    assert tags.open == []
    return tags


def test_html_is_well_formed_and_fetches_and_runs_nothing() -> None:
    html = to_html(PAGE)
    names = [name for name, _ in parsed(html).seen]
    assert "script" not in names
    assert "link" not in names
    assert not re.search(r"https?://", html)
    images = [attributes for name, attributes in parsed(html).seen if name == "img"]
    assert images == [{"src": "data:image/png;base64,iVBORw==", "alt": "What it shows"}]


def test_html_escapes_all_text() -> None:
    html = to_html(PAGE)
    assert "<title>Regret &amp; more</title>" in html
    assert "&lt;b&gt;tags&lt;/b&gt;" in html
    assert "&lt;x&gt;" in html


def test_only_plain_verdicts_are_coloured() -> None:
    cells = [attributes.get("class") for name, attributes in parsed(to_html(PAGE)).seen if name == "td"]
    assert cells == [None, "holds", None, "fails", None, None]


def test_markdown_has_the_same() -> None:
    markdown = to_markdown(PAGE)
    assert markdown.startswith("# Regret & more\n\nA text with <b>tags</b>.\n\n## Part one\n\n| claim | verdict |\n")
    assert r"| a \| b | holds |" in markdown
    assert "![What it shows](figure.png)" in markdown
    assert "    budgetbandits --help\n    <x>" in markdown
