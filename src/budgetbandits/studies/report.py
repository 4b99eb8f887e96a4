"""A page of text, tables and figures, written once and rendered as HTML and as Markdown.

The HTML stands alone: figures and style are inside the file, nothing is fetched, and nothing runs. All text is escaped.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from budgetbandits.core.optional import require

__all__ = ["Code", "Document", "Heading", "Image", "Rows", "Text", "block_markdown", "to_html", "to_markdown"]


@dataclass(frozen=True)
class Heading:
    """The title of a section."""

    text: str


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Rows:
    """A table.

    Attributes
    ----------
    names
        The heads of the columns.
    cells
        One sequence of texts for each row.
    """

    names: Sequence[str]
    cells: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Image:
    """A figure: a PNG file beside the page, and what it shows."""

    file: str
    png: bytes
    caption: str


@dataclass(frozen=True)
class Code:
    """Text that is to be typed or read letter by letter."""

    text: str


Block = Heading | Text | Rows | Image | Code


@dataclass(frozen=True)
class Document:
    """A page."""

    title: str
    blocks: Sequence[Block]


def to_markdown(document: Document) -> str:
    r"""Return the page as Markdown; its figures are files beside it.

    >>> print(to_markdown(Document("Regret", [Text("Two runs."), Rows(["a", "b"], [["1", "x|y"]])])))
    # Regret
    <BLANKLINE>
    Two runs.
    <BLANKLINE>
    | a | b |
    | --- | --- |
    | 1 | x\|y |
    <BLANKLINE>
    """
    return "\n\n".join([f"# {document.title}", *(block_markdown(block) for block in document.blocks)]) + "\n"


def block_markdown(block: Block) -> str:
    """Return a part of a page as Markdown."""
    match block:
        case Heading(text):
            return f"## {text}"
        case Text(text):
            return text
        case Rows(names, cells):
            lines = [names, ["---"] * len(names), *cells]
            return "\n".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |" for line in lines)
        case Image(file, _, caption):
            return f"![{caption}]({file})\n\n*{caption}*"
        case Code(text):
            return "\n".join(f"    {line}" for line in text.splitlines())


def to_html(document: Document) -> str:
    """Return the page as HTML that needs no other file.

    >>> "<h1>1 &lt; 2</h1>" in to_html(Document("1 < 2", []))
    True
    """
    require("report")
    from jinja2 import Environment

    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters["base64"] = lambda content: base64.b64encode(content).decode()
    environment.filters["kind"] = lambda block: type(block).__name__
    return environment.from_string(_PAGE).render(document=document)


_PAGE: Final = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ document.title }}</title>
<style>
:root { color-scheme: light dark; --line: #d5d5d5; --soft: #f4f4f4; --good: #00664a; --bad: #a8410a; }
@media (prefers-color-scheme: dark) { :root { --line: #444; --soft: #262626; --good: #4fd0a5; --bad: #ff9d5c; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
h1 { line-height: 1.2; }
h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line); padding-bottom: .2rem; }
p { max-width: 50rem; }
figure { margin: 1.5rem 0; }
figure img { width: 100%; max-width: 68rem; background: white; border-radius: 6px; display: block; }
figcaption { font-size: .9rem; margin-top: .4rem; max-width: 50rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: .3rem .7rem .3rem 0; border-bottom: 1px solid var(--line); }
th { position: sticky; top: 0; background: Canvas; }
td.holds { color: var(--good); font-weight: 600; }
td.fails { color: var(--bad); font-weight: 600; }
pre { background: var(--soft); padding: .8rem 1rem; border-radius: 6px; overflow-x: auto; font-size: .85rem; }
</style>
</head>
<body>
<h1>{{ document.title }}</h1>
{% for block in document.blocks %}
{% if block | kind == "Heading" %}
<h2>{{ block.text }}</h2>
{% elif block | kind == "Text" %}
<p>{{ block.text }}</p>
{% elif block | kind == "Rows" %}
<div class="scroll"><table>
<thead><tr>{% for name in block.names %}<th>{{ name }}</th>{% endfor %}</tr></thead>
<tbody>
{% for cells in block.cells %}
<tr>{% for cell in cells %}<td
{%- if cell == "holds" %} class="holds"{% elif cell == "does not hold" %} class="fails"{% endif -%}
>{{ cell }}</td>{% endfor %}</tr>
{% endfor %}
</tbody>
</table></div>
{% elif block | kind == "Image" %}
<figure>
<img src="data:image/png;base64,{{ block.png | base64 }}" alt="{{ block.caption }}">
<figcaption>{{ block.caption }}</figcaption>
</figure>
{% elif block | kind == "Code" %}
<pre>{{ block.text }}</pre>
{% endif %}
{% endfor %}
</body>
</html>
"""
