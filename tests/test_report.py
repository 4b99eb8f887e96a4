"""Pages: the same content as HTML that stands alone and as Markdown."""

import base64
import re
from html.parser import HTMLParser

from budgetbandits.studies.report import Code, Document, Heading, Image, Rows, Text, to_html, to_markdown

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + (1500).to_bytes(4, "big")
PAGE = Document(
    "Regret & more",
    [
        Text("A text with <b>tags</b>."),
        Heading("Part one"),
        Rows(["claim", "verdict"], [["a | b", "holds"], ["c", "does not hold"], ["d", "holds: 1 of 2"]]),
        Image("figure.png", PNG, "What it shows"),
        Heading("Part <two>"),
        Heading("Part one"),
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
    data = base64.b64encode(PNG).decode()
    assert [image["src"] for image in images] == [f"data:image/png;base64,{data}"]
    assert images[0]["alt"] == "What it shows"


def test_html_begins_with_its_contents_and_every_entry_leads_somewhere() -> None:
    seen = parsed(to_html(PAGE)).seen
    targets = [attributes["href"] for name, attributes in seen if name == "a"]
    places = [f"#{attributes['id']}" for name, attributes in seen if name == "h2"]
    assert targets == places
    assert len(set(places)) == 3
    assert ">Part &lt;two&gt;</a>" in to_html(PAGE)
    assert "<nav" not in to_html(Document("Short", [Text("No parts.")]))


def test_figures_and_tables_keep_their_size_on_a_telephone_and_scroll() -> None:
    html = to_html(PAGE)
    seen = parsed(html).seen
    assert ("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}) in seen
    # 1500 points at 200 in an inch are 720 pixels of a page.
    assert [attributes["style"] for name, attributes in seen if name == "img"] == ["--natural: 720px"]
    assert "figure img { width: max(100%, var(--natural)); max-width: none; }" in html
    assert sum(attributes.get("class") == "scroll" for _, attributes in seen) == 2


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
