"""A page of text, tables and figures, written once and rendered as HTML and as Markdown.

The HTML stands alone: figures and style are inside the file, nothing is fetched, and nothing runs. All text is escaped.
It begins with its contents. On a narrow screen figures and tables keep a size that can be read, and scroll.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from budgetbandits.analysis.figures import FIGURE_DPI
from budgetbandits.core.optional import require
from budgetbandits.core.tables import markdown_table

__all__ = ["Code", "Document", "Heading", "Image", "Rows", "Text", "block_markdown", "to_html", "to_markdown"]

_PAGE_DPI: Final = 96  # pixels of a page in an inch


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
            return markdown_table(names, cells)
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
    environment.filters["natural_width"] = _natural_width
    headings = [block for block in document.blocks if isinstance(block, Heading)]
    return environment.from_string(_PAGE).render(document=document, headings=headings)


def _natural_width(png: bytes) -> int:
    """Return how wide a figure is to be, in pixels of a page, for its letters to have their size."""
    return round(int.from_bytes(png[16:20], "big") * _PAGE_DPI / FIGURE_DPI)


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
html { scroll-behavior: smooth; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
h1 { line-height: 1.2; }
h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line); padding-bottom: .2rem; }
p { max-width: 50rem; }
nav ul { columns: 2; padding-left: 1.2rem; max-width: 50rem; }
nav li { break-inside: avoid; padding: .15rem 0; }
figure { margin: 1.5rem 0; }
figure img { width: 100%; max-width: 68rem; background: white; border-radius: 6px; display: block; }
figcaption { font-size: .9rem; margin-top: .4rem; max-width: 50rem; }
.scroll { overflow-x: auto; }
.hint { display: none; font-size: .8rem; margin: .2rem 0; }
table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: .3rem .7rem .3rem 0; border-bottom: 1px solid var(--line); }
th { position: sticky; top: 0; background: Canvas; }
td.holds { color: var(--good); font-weight: 600; }
td.fails { color: var(--bad); font-weight: 600; }
pre { background: var(--soft); padding: .8rem 1rem; border-radius: 6px; overflow-x: auto; font-size: .85rem; }
@media (max-width: 62rem) {
  nav ul { columns: 1; }
  figure img { width: max(100%, var(--natural)); max-width: none; }
  table { width: max-content; max-width: 56rem; }
  .hint { display: block; }
}
</style>
</head>
<body>
<h1>{{ document.title }}</h1>
{% if headings %}
<nav aria-label="Contents"><ul>
{% for heading in headings %}
<li><a href="#part-{{ loop.index }}">{{ heading.text }}</a></li>
{% endfor %}
</ul></nav>
{% endif %}
{% set part = namespace(number=0) %}
{% for block in document.blocks %}
{% if block | kind == "Heading" %}
{% set part.number = part.number + 1 %}
<h2 id="part-{{ part.number }}">{{ block.text }}</h2>
{% elif block | kind == "Text" %}
<p>{{ block.text }}</p>
{% elif block | kind == "Rows" %}
<div class="scroll" tabindex="0"><table>
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
<div class="scroll" tabindex="0">
<img src="data:image/png;base64,{{ block.png | base64 }}" alt="{{ block.caption }}"
  style="--natural: {{ block.png | natural_width }}px">
</div>
<p class="hint">Swipe the figure to see all of it.</p>
<figcaption>{{ block.caption }}</figcaption>
</figure>
{% elif block | kind == "Code" %}
<pre>{{ block.text }}</pre>
{% endif %}
{% endfor %}
</body>
</html>
"""
