"""The style of HTML pictures, made from the palette.

Light or dark follows the reader's setting; `data-theme="light"` or `"dark"` on an element around the picture
overrules it. A picture brings its own ground, so that its contrast does not depend on the page around it.
"""

from __future__ import annotations

from spansrl.pictures.palette import GROUPS, INK, PAPER, css, shades

LABEL_SIZE = 0.69  # of a label, in units of the words' size
PADDING = 0.3  # left and right of a label, in the same units
_HOVERED_ROWS = 40  # rows that stand out when one of their bars is pointed at

_LAYOUT = f"""\
.srl {{
  display: flex; flex-wrap: wrap; align-items: stretch; row-gap: .7em; box-sizing: border-box; max-width: 100%;
  margin: .75em 0; padding: .8em 1em .9em; border-radius: .6em; overflow-x: auto;
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  background: var(--srl-paper); color: var(--srl-ink); border: 1px solid var(--srl-edge);
}}
.srl-g {{ display: inline-flex; align-items: stretch; max-width: 100% }}
.srl-w {{ display: inline-flex; flex-direction: column; min-width: 0; max-width: 100% }}
.srl-t {{ flex: 1; overflow-wrap: anywhere; white-space: pre-wrap; padding-bottom: .1em }}
.srl-s > .srl-t, .srl-s > .srl-e {{ margin-inline-end: .28em }}
.srl-c {{ position: relative; box-sizing: border-box; height: 1.3em; margin-top: 2px }}
.srl-n {{ margin-top: 4px }}
.srl-m {{ background: var(--tint); border-top: 3px solid var(--line) }}
.srl-b {{ border-start-start-radius: 4px; border-end-start-radius: 4px; margin-inline-start: 1px }}
.srl-e {{ border-start-end-radius: 4px; border-end-end-radius: 4px; margin-inline-end: 1px }}
.srl-l {{
  position: absolute; inset-block-start: 0; inset-inline-start: 0; z-index: 1; padding: 0 {PADDING / LABEL_SIZE:.2f}em;
  font-size: {LABEL_SIZE}em; font-weight: 600; line-height: calc({1.3 / LABEL_SIZE:.2f}em - 3px); white-space: nowrap;
  color: var(--label); user-select: none; -webkit-user-select: none; pointer-events: none
}}
.srl-f {{ position: static; display: block }}
.srl-predicate {{ --line: var(--srl-ink); --tint: var(--srl-ink); --label: var(--srl-paper) }}
.srl-page {{
  max-width: 60rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; background: var(--srl-desk); color: var(--srl-ink);
  font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif
}}
.srl-page > h1 {{ font-size: 1.25rem; overflow-wrap: anywhere }}
"""


def _theme(theme: str) -> str:
    """The custom properties that hold one theme's colours."""
    edge, desk = {"light": ("#e2e4ea", "#f5f6f8"), "dark": ("#343843", "#101216")}[theme]
    found = {"paper": css(PAPER[theme]), "ink": css(INK[theme]), "edge": edge, "desk": desk}
    for group in GROUPS:
        line, tint, ink = shades(group, theme)
        found |= {f"{group}-line": line, f"{group}-tint": tint, f"{group}-label": ink}
    return f"color-scheme: {theme}; " + "; ".join(f"--srl-{key}: {value}" for key, value in found.items())


def _style() -> str:
    themes = (
        f":where(.srl, .srl-page) {{ {_theme('light')} }}\n"
        f"@media (prefers-color-scheme: dark) {{ :where(.srl, .srl-page) {{ {_theme('dark')} }} }}\n"
        f"[data-theme=light] :where(.srl, .srl-page) {{ {_theme('light')} }}\n"
        f"[data-theme=dark] :where(.srl, .srl-page) {{ {_theme('dark')} }}\n"
    )
    groups = "".join(
        f".srl-{name} {{ --line: var(--srl-{name}-line); --tint: var(--srl-{name}-tint); "
        f"--label: var(--srl-{name}-label){'; border-top-style: double' if group.adjunct else ''} }}\n"
        for name, group in GROUPS.items()
    )
    return themes + _LAYOUT + groups + _hovering()


def _hovering() -> str:
    """Point at a bar, and the other rows fade; a column's first child is its word, then come the rows."""
    return "".join(
        f".srl:has(.srl-w > .srl-m:nth-child({k}):hover) .srl-m:not(:nth-child({k})) {{ opacity: .25 }}\n"
        for k in range(2, _HOVERED_ROWS + 2)
    )


STYLE = _style()
