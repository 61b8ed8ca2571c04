"""The color of each role on light and on dark backgrounds.

The hues are those of Okabe and Ito (2008), which people with the common kinds of color blindness can tell
apart. A core role has its own hue and a solid bar; modifiers share a hue per family and have a dashed bar.
R- and C- roles look like their base role. A test checks the contrast: labels have at least 4.5
to 1 (WCAG AA), bars at least 2 to 1.
"""

from __future__ import annotations

import re
from typing import NamedTuple

PREDICATE = "predicate"

# The page, the words, the line that joins the marks of a proposition, borders, and the page around a picture.
THEMES = {
    "light": {
        "paper": "#ffffff",
        "ink": "#1c1e24",
        "thread": "#b4b8c2",
        "edge": "#e2e4ea",
        "desk": "#f5f6f8",
    },
    "dark": {"paper": "#181a1f", "ink": "#e8eaef", "thread": "#5b606d", "edge": "#343843", "desk": "#101216"},
}


class Shades(NamedTuple):
    """The colors of one group on one background: its bar and its labels."""

    line: str
    label: str


class Group(NamedTuple):
    """Roles that look alike; `terminal` is one of 256 colors that is readable on black and on white."""

    modifier: bool
    terminal: int
    light: Shades
    dark: Shades


_BLUE = Shades("#0072b2", "#00639b"), Shades("#0072b2", "#5ea6ce")
_ORANGE = Shades("#e69f00", "#885e00"), Shades("#e69f00", "#e8a817")
_GREEN = Shades("#009e73", "#007052"), Shades("#009e73", "#47b99a")
_PURPLE = Shades("#cc79a7", "#895170"), Shades("#cc79a7", "#d898bb")
_SKY = Shades("#56b4e9", "#336a89"), Shades("#56b4e9", "#69bceb")
_VERMILION = Shades("#d55e00", "#a04600"), Shades("#d55e00", "#e2904f")
_YELLOW = Shades("#c2b935", "#736d20"), Shades("#f0e442", "#f0e442")
_GRAY = Shades("#7f7f7f", "#626262"), Shades("#7f7f7f", "#a5a5a5")

GROUPS = {
    "arg0": Group(False, 63, *_BLUE),
    "arg1": Group(False, 130, *_ORANGE),
    "arg2": Group(False, 29, *_GREEN),
    "arg3": Group(False, 132, *_PURPLE),
    "arg4": Group(False, 30, *_SKY),
    "arg5": Group(False, 131, *_VERMILION),  # ARGA too, which is as rare
    "time": Group(True, 131, *_VERMILION),
    "place": Group(True, 132, *_PURPLE),
    "manner": Group(True, 64, *_YELLOW),  # how, why, what for, how much
    "clause": Group(True, 243, *_GRAY),  # modals, negation, discourse and everything else
}


def colors(theme: str) -> dict[str, str]:
    """All colors of a theme by name, such as `ink` or `arg0-label`."""
    shades = {
        f"{name}-{kind}": color
        for name, group in GROUPS.items()
        for kind, color in (group.light if theme == "light" else group.dark)._asdict().items()
    }
    return THEMES[theme] | shades


def themed(rules: str, theme: str) -> str:
    """Style rules with `var(--srl-NAME)` replaced by the colors of a theme."""
    return re.sub(r"var\(--srl-([\w-]+)\)", lambda match: colors(theme)[match[1]], rules)
