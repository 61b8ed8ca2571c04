"""Which colour a role has, and shades of it that can be read on light and on dark ground.

The hues are those of Okabe and Ito (2008), which people with the common kinds of colour blindness can tell
apart. A core role has a hue of its own with a solid line; adjuncts have a hue a family with a double line,
so that where a hue serves twice the line differs. R- and C- roles look like the role that they belong to.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from spansrl.tags import base_role

Rgb = tuple[int, int, int]

PAPER = {"light": (255, 255, 255), "dark": (24, 26, 31)}
INK = {"light": (28, 30, 36), "dark": (232, 234, 239)}
THREAD = {"light": "#b4b8c2", "dark": "#5b606d"}  # the line that joins the marks of a proposition
READABLE = 5.0  # the contrast that inks are made for; WCAG AA asks for 4.5
SEEN = 2.0  # the contrast that lines are made for, since yellow on white would be none

_TINT = {"light": 0.17, "dark": 0.26}  # how much of the hue is in the ground of a bar


class Group(NamedTuple):
    """Roles that look alike: their hue, whether they are adjuncts, and their colour number in a terminal.

    The terminal's numbers are of the 256-colour cube, chosen to be read on black and on white alike.
    """

    hue: Rgb
    adjunct: bool
    terminal: int


GROUPS = {
    "arg0": Group((0, 114, 178), False, 63),  # blue
    "arg1": Group((230, 159, 0), False, 130),  # orange
    "arg2": Group((0, 158, 115), False, 29),  # bluish green
    "arg3": Group((204, 121, 167), False, 132),  # reddish purple
    "arg4": Group((86, 180, 233), False, 30),  # sky blue
    "arg5": Group((213, 94, 0), False, 131),  # vermilion; ARGA too, which is as rare
    "time": Group((213, 94, 0), True, 131),
    "place": Group((204, 121, 167), True, 132),
    "manner": Group((240, 228, 66), True, 64),  # yellow: how, why, what for, how much
    "clause": Group((127, 127, 127), True, 243),  # grey: modals, negation, discourse and all else
}

_CORE = re.compile(r"A(?:RG)?([0-5A])")
_FAMILIES = {
    "time": ("TMP",),
    "place": ("LOC", "DIR", "GOL"),
    "manner": ("MNR", "CAU", "PRP", "PNC", "EXT", "COM", "PRD", "REC"),
}
_FAMILY = {suffix: family for family, suffixes in _FAMILIES.items() for suffix in suffixes}


def group_of(role: str) -> str:
    """The group of a role, in the spelling of CoNLL-2005 or of PropBank.

    >>> group_of("ARG0"), group_of("R-A0"), group_of("AM-TMP"), group_of("ARGM-MOD")
    ('arg0', 'arg0', 'time', 'clause')
    """
    base = base_role(role)
    if core := _CORE.fullmatch(base):
        return f"arg{core[1].replace('A', '5')}"
    return _FAMILY.get(base.rpartition("-")[2], "clause")


class Shades(NamedTuple):
    """The colours of one group on one ground, as CSS has them."""

    line: str
    tint: str
    ink: str


def shades(group: str, theme: str) -> Shades:
    """The line, the bar's ground and the label's ink of a group on light or dark paper."""
    hue, paper = GROUPS[group].hue, PAPER[theme]
    tint = mix(hue, paper, _TINT[theme])
    towards = (0, 0, 0) if theme == "light" else (255, 255, 255)
    line, ink = _until(SEEN, hue, towards, paper), _until(READABLE, hue, towards, tint)
    return Shades(css(line), css(tint), css(ink))


def _until(wanted: float, hue: Rgb, towards: Rgb, ground: Rgb) -> Rgb:
    """The hue with the least black or white that has the wanted contrast, so that it keeps its colour."""
    mixed = (mix(towards, hue, step / 100) for step in range(101))
    return next((shade for shade in mixed if contrast(shade, ground) >= wanted), towards)


def mix(one: Rgb, other: Rgb, share: float) -> Rgb:
    """`share` of one colour, the rest of the other."""
    red, green, blue = (round(share * a + (1 - share) * b) for a, b in zip(one, other, strict=True))
    return red, green, blue


def contrast(one: Rgb, other: Rgb) -> float:
    """The contrast ratio of two colours as WCAG 2 defines it, from 1 to 21."""
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: Rgb) -> float:
    red, green, blue = (
        part / 12.92 if (part := value / 255) <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for value in colour
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def css(colour: Rgb) -> str:
    """#rrggbb."""
    return "#{:02x}{:02x}{:02x}".format(*colour)
