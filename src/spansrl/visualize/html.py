"""Sentences as HTML: SVG images for several widths, of which the page shows the one that fits.

A fragment has no inline style and no script, so that it works under a strict content security policy; the
page needs STYLE once. Everything that comes with a sentence is escaped. Labels cannot be selected, so that
copying from a picture copies its words.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from itertools import pairwise

from spansrl.inventory import RoleInventory
from spansrl.structures import Sentence
from spansrl.visualize.palette import colors
from spansrl.visualize.printable import runs_right_to_left, visible
from spansrl.visualize.svg import LEGEND, rules, svg_element

_WIDTHS = (324, 580, 880)  # pixels: a phone, a tablet or a narrow column, a desktop
_HOVERED = 40  # propositions of a sentence that stand out when the pointer is on one of their bars
_FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'


def sentence_html(sent: Sentence, *, frames: RoleInventory | None = None, auxiliaries: bool = False) -> str:
    """The sentence as a fragment for a page that has STYLE; `frames` provides meanings of roles."""
    images: dict[str, list[str]] = {}
    for number, width in enumerate(_WIDTHS):
        image = svg_element(sent, width=width, frames=frames, auxiliaries=auxiliaries, classes="CLASSES")
        images.setdefault(image, []).append(f"srl-w{number}")
    body = "".join(image.replace("CLASSES", " ".join(names), 1) for image, names in images.items())
    direction = "rtl" if runs_right_to_left(sent.tokens) else "ltr"
    return f'<div class="srl" dir="{direction}">{body}</div>'


def fragment_html(sentences: Iterable[Sentence], *, frames: RoleInventory | None = None) -> str:
    """Sentences with their style and a legend, for notebooks and other pages that do not have STYLE."""
    pictures = "".join(sentence_html(sent, frames=frames) for sent in sentences)
    return f'<style>{STYLE}</style>{pictures}<p class="srl-legend">{LEGEND}</p>'


def document_html(
    sentences: Iterable[Sentence], *, title: str = "Semantic roles", frames: RoleInventory | None = None
) -> str:
    """A complete page, to be written to a file as UTF-8."""
    shown = escape(visible(title))
    pictures = "\n".join(sentence_html(sent, frames=frames) for sent in sentences)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<title>{shown}</title>\n<style>\n{STYLE}</style>\n</head>\n<body class="srl-page">\n'
        f'<h1>{shown}</h1>\n<p class="srl-legend">{LEGEND}</p>\n{pictures}\n</body>\n</html>\n'
    )


# How a page states the reader's choice: our own attribute, then those of JupyterLab and of VS Code's
# notebooks.
_CHOSEN = {
    "light": "[data-theme=light], [data-jp-theme-light=true], .vscode-light",
    "dark": "[data-theme=dark], [data-jp-theme-light=false], .vscode-dark",
}


def _themes() -> str:
    light, dark = (
        f":where(.srl, .srl-page, .srl-legend) {{ color-scheme: {theme}; "
        + "; ".join(f"--srl-{name}: {color}" for name, color in colors(theme).items())
        + " }\n"
        for theme in ("light", "dark")
    )
    return (
        f"{light}@media (prefers-color-scheme: dark) {{ {dark} }}\n"
        f":is({_CHOSEN['light']}) {light}:is({_CHOSEN['dark']}) {dark}"
    )


def _containers() -> str:
    """One image is shown, by the width of the element around it."""
    return "".join(
        f"@container srl ({least}px <= width < {most}px) {{ .srl > .srl-w{number} {{ display: block; }} }}\n"
        for number, (least, most) in enumerate(pairwise((0, *_WIDTHS[1:], 99999)))
    )


def _hovering() -> str:
    """Fade the other propositions while the pointer is on a bar."""
    return "".join(f".srl:has(.p{k} g:hover) .row:not(.p{k}) {{ opacity: .25; }}\n" for k in range(_HOVERED))


STYLE = (
    _themes()
    + f"""\
.srl {{
  container: srl / inline-size; box-sizing: border-box; max-width: 100%; margin: .75em 0; overflow-x: auto;
  background: var(--srl-paper); color: var(--srl-ink); border: 1px solid var(--srl-edge); border-radius: .6em;
}}
.srl > svg {{ display: none; max-width: none; direction: ltr; }}
.srl .row {{ transition: opacity .15s; }}
.srl .label, .srl .note {{ -webkit-user-select: none; user-select: none; }}
.srl-legend {{ font: .8rem/1.4 {_FONT}; color: var(--srl-ink); opacity: .8; }}
.srl-page {{
  max-width: 60rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; font-family: {_FONT};
  background: var(--srl-desk); color: var(--srl-ink);
}}
.srl-page > h1 {{ font-size: 1.25rem; overflow-wrap: anywhere; }}
"""
    + rules(".srl ")
    + _containers()
    + _hovering()
)
