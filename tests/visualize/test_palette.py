from __future__ import annotations

import itertools
import re

import pytest

from spansrl.inventory import PROPBANK
from spansrl.structures import Sentence
from spansrl.visualize import STYLE
from spansrl.visualize.palette import GROUPS
from spansrl.visualize.palette import colors as colors_of
from spansrl.visualize.svg import sentence_svg

THEMES = ("light", "dark")
# Machado, Oliveira and Fernandes (2009), severity 1: what is left of linear red, green and blue.
BLINDNESS = {
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}


def linear(color: str) -> tuple[float, ...]:
    parts = [int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    return tuple(part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)


def contrast(one: str, other: str) -> float:
    dark, light = sorted(
        sum(w * v for w, v in zip((0.2126, 0.7152, 0.0722), linear(c), strict=True)) for c in (one, other)
    )
    return (light + 0.05) / (dark + 0.05)


def lab(rgb: tuple[float, ...]) -> tuple[float, float, float]:
    """CIE L*a*b* of linear RGB."""
    rows = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
    xyz = [sum(w * v for w, v in zip(row, rgb, strict=True)) for row in rows]
    x, y, z = (
        v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116
        for v in (max(v, 0) / white for v, white in zip(xyz, (0.9505, 1.0, 1.089), strict=True))
    )
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def properties(theme: str) -> dict[str, str]:
    """The colors that the style sheet has for a theme, as a browser would read them."""
    block = re.search(rf"\[data-theme={theme}\][^{{]*{{([^}}]*)}}", STYLE)
    assert block is not None
    return dict(re.findall(r"--srl-([\w-]+): (#[0-9a-f]{6})", block[1]))


@pytest.mark.parametrize("theme", THEMES)
def test_every_text_of_a_html_picture_has_a_contrast_of_at_least_four_and_a_half(theme):
    colors = properties(theme)
    assert contrast(colors["ink"], colors["paper"]) >= 4.5
    assert contrast(colors["ink"], colors["desk"]) >= 4.5
    for group in GROUPS:
        assert contrast(colors[f"{group}-label"], colors["paper"]) >= 4.5, group


def test_the_setting_of_the_reader_and_of_the_page_lead_to_the_same_colors():
    plain, media, light, dark = re.findall(r"color-scheme: (?:light|dark); ([^}]*) }", STYLE)
    assert (plain, media) == (light, dark)


@pytest.mark.parametrize("theme", THEMES)
def test_svg_pictures_have_the_same_colors(theme):
    light, dark = sentence_svg(Sentence(("a",))).split("@media(prefers-color-scheme:dark)")
    expected = properties(theme)
    for group in GROUPS:
        rules = light if theme == "light" else dark
        assert f".{group} .bar{{fill:{expected[f'{group}-line']}}}" in rules
        assert f".{group} text.label{{fill:{expected[f'{group}-label']}}}" in rules


@pytest.mark.parametrize("theme", THEMES)
def test_bars_can_be_seen_on_their_background(theme):
    found = colors_of(theme)
    assert all(contrast(found[f"{group}-line"], found["paper"]) >= 2 for group in GROUPS)


@pytest.mark.parametrize("kind", BLINDNESS)
@pytest.mark.parametrize("theme", THEMES)
def test_core_roles_can_be_told_apart_by_people_who_are_color_blind(kind, theme):
    def seen(color: str) -> tuple[float, float, float]:
        rgb = linear(color)
        return lab(tuple(sum(w * v for w, v in zip(row, rgb, strict=True)) for row in BLINDNESS[kind]))

    colors = properties(theme)
    cores = [group for group in GROUPS if group.startswith("arg")]
    for one, other in itertools.combinations(cores, 2):
        distance = sum(
            (a - b) ** 2 for a, b in zip(*(seen(colors[f"{g}-line"]) for g in (one, other)), strict=True)
        )
        assert distance**0.5 > 10, (one, other)  # 2.3 is what can just be noticed


def test_groups_that_share_a_color_differ_in_their_line():
    looks = {(group.light.line, group.modifier) for group in GROUPS.values()}
    assert len(looks) == len(GROUPS)


def test_colors_of_a_terminal_can_be_read_on_black_and_on_white():
    steps = (0, 95, 135, 175, 215, 255)
    for name, group in GROUPS.items():
        number = group.terminal
        gray = 8 + 10 * (number - 232)
        cube = [steps[(number - 16) // size % 6] for size in (36, 6, 1)]
        red, green, blue = [gray] * 3 if number >= 232 else cube
        color = f"#{red:02x}{green:02x}{blue:02x}"
        assert min(contrast(color, "#000000"), contrast(color, "#ffffff")) > 4.2, name


@pytest.mark.parametrize(
    ("role", "group"),
    [
        ("A0", "arg0"),
        ("ARG4", "arg4"),
        ("ARGA", "arg5"),
        ("AA", "arg5"),
        ("R-ARG1", "arg1"),
        ("C-A2", "arg2"),
        ("R-AM-TMP", "time"),
        ("ARGM-LOC", "place"),
        ("AM-CAU", "manner"),
        ("ARGM-NEG", "clause"),
        ("C-ARGM-TMP", "time"),
        ("ARG1-LOC", "place"),
        ("agent", "clause"),
        ("", "clause"),
    ],
)
def test_a_role_has_the_group_of_what_it_belongs_to(role, group):
    assert PROPBANK.group(role) == group
