"""The style of HTML pictures, made from the palette.

Light or dark follows the reader's setting; `data-theme="light"` or `"dark"` on an element around the picture
overrules it, and so does the theme of a notebook. A picture brings its own ground, so that its contrast does
not depend on the page around it.
"""

from __future__ import annotations

from spansrl.visualize.flow import LABEL_SIZE, PADDING, SPACE, SPACER, SPACERS
from spansrl.visualize.palette import GROUPS, INK, PAPER, THREAD, css, shades

FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'
_HOVERED = 40  # propositions of a sentence that stand out when one of their bars is pointed at

_LAYOUT = f"""\
.srl {{
  display: flex; flex-wrap: wrap; align-items: stretch; row-gap: .6em; box-sizing: border-box;
  max-width: 100%; margin: .75em 0; padding: .7em 1em .9em; overflow-x: auto;
  font: 1rem/1.5 {FONT}; background: var(--srl-paper); color: var(--srl-ink);
  border: 1px solid var(--srl-edge); border-radius: .6em;
}}
.srl-g {{ display: inline-flex; align-items: stretch; max-width: 100%; }}
.srl-w {{ display: inline-flex; flex-direction: column; min-width: 0; max-width: 100%; }}
.srl-t {{ flex: 1; overflow-wrap: anywhere; white-space: pre-wrap; padding-bottom: .1em; }}
.srl-v {{ font-weight: 600; }}
.srl-s > .srl-t, .srl-s > .srl-e {{ margin-inline-end: {SPACE}em; }}
.srl-w > i, .srl-m {{ position: relative; box-sizing: border-box; height: 1.3em; margin-top: 3px; }}
.srl-k {{ background: linear-gradient(var(--srl-thread), var(--srl-thread)) center / 100% 1px no-repeat; }}
.srl-m {{ background: var(--tint); border-top: 3px solid var(--line); transition: opacity .15s; }}
.srl-b {{ border-start-start-radius: 4px; border-end-start-radius: 4px; }}
.srl-e {{ border-start-end-radius: 4px; border-end-end-radius: 4px; margin-inline-end: 2px; }}
.srl-l {{
  position: absolute; inset-block-start: 0; inset-inline-start: 0; z-index: 1;
  padding: 0 {PADDING / LABEL_SIZE:.2f}em; font-size: {LABEL_SIZE}em; font-weight: 600;
  line-height: calc({1.3 / LABEL_SIZE:.2f}em - 3px); white-space: nowrap; color: var(--label);
  -webkit-user-select: none; user-select: none; pointer-events: none;
}}
.srl-f {{ position: static; display: block; }}
.srl-predicate {{ --line: var(--srl-ink); --tint: var(--srl-ink); --label: var(--srl-paper); }}
.srl-page {{
  max-width: 60rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; font-family: {FONT};
  background: var(--srl-desk); color: var(--srl-ink);
}}
.srl-page > h1 {{ font-size: 1.25rem; overflow-wrap: anywhere; }}
"""

# How a page says what its reader chose: our own way, then those of JupyterLab and of VS Code's notebooks.
_CHOSEN = {
    "light": "[data-theme=light], [data-jp-theme-light=true], .vscode-light",
    "dark": "[data-theme=dark], [data-jp-theme-light=false], .vscode-dark",
}
_PLAIN = {
    "light": {"edge": "#e2e4ea", "desk": "#f5f6f8"},
    "dark": {"edge": "#343843", "desk": "#101216"},
}


def _theme(theme: str) -> str:
    """The custom properties that hold one theme's colours."""
    found = {"paper": css(PAPER[theme]), "ink": css(INK[theme]), "thread": THREAD[theme]} | _PLAIN[theme]
    for group in GROUPS:
        line, tint, ink = shades(group, theme)
        found |= {f"{group}-line": line, f"{group}-tint": tint, f"{group}-label": ink}
    return f"color-scheme: {theme}; " + "; ".join(f"--srl-{key}: {value}" for key, value in found.items())


def _themes() -> str:
    pictures = ":where(.srl, .srl-page)"
    return (
        f"{pictures} {{ {_theme('light')} }}\n"
        f"@media (prefers-color-scheme: dark) {{ {pictures} {{ {_theme('dark')} }} }}\n"
        f":is({_CHOSEN['light']}) {pictures} {{ {_theme('light')} }}\n"
        f":is({_CHOSEN['dark']}) {pictures} {{ {_theme('dark')} }}\n"
    )


def _groups() -> str:
    return "".join(
        f".srl-{name} {{ --line: var(--srl-{name}-line); --tint: var(--srl-{name}-tint); "
        f"--label: var(--srl-{name}-label);{' border-top-style: double;' if group.adjunct else ''} }}\n"
        for name, group in GROUPS.items()
    )


def _spacers() -> str:
    return "".join(
        f".srl-x{k} > .srl-t {{ padding-inline-end: {k * SPACER:g}em; }}\n" for k in range(1, SPACERS + 1)
    )


def _hovering() -> str:
    """Point at a bar, and all that belongs to other propositions fades."""
    return "".join(
        f".srl:has(.srl-{k}:hover) .srl-m:not(.srl-{k}) {{ opacity: .25; }}\n" for k in range(_HOVERED)
    )


STYLE = _themes() + _LAYOUT + _groups() + _spacers() + _hovering()
