"""Fuzz the tokenizer: many short random texts of many scripts, and a few long ones against the clock.

    python experiments/fuzz_tokenizer.py [--texts 1000000] [--long 300] [--seed 1] [--seconds 300]

Short texts mix characters of any script, lone surrogates, controls, right-to-left text, parts of emoji, white
space of every kind, and what the scanner has rules for. Every text must come back as sentences whose
tokens are its own slices, in order, with all that is not white space in just one of them. Long texts have
10,000 characters, made of a few repeated units, because repetition is what slow patterns choke on. The first
failure ends the run with the text that caused it.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Sequence
from itertools import pairwise

from spansrl.language.english.tokenizer import split
from spansrl.language.english.tokenizer.token_lists import (
    ABBREVIATIONS,
    CONTRACTIONS,
    EMOTICONS,
    FILE_ENDINGS,
    UNITS,
)

SCRIPTS = {
    "Latin": (0x20, 0x24F),
    "marks": (0x300, 0x36F),
    "Greek and Cyrillic": (0x370, 0x52F),
    "Hebrew and Arabic": (0x590, 0x6FF),
    "Indic": (0x900, 0xDFF),
    "Thai to Georgian": (0xE00, 0x10FF),
    "Ethiopic to Mongolian": (0x1200, 0x18AF),
    "punctuation": (0x2000, 0x206F),
    "symbols": (0x20A0, 0x2BFF),
    "Kana and Han": (0x3000, 0x9FFF),
    "Hangul": (0xAC00, 0xD7A3),
    "surrogates": (0xD800, 0xDFFF),
    "presentation forms": (0xFB00, 0xFFFF),
    "emoji": (0x1F000, 0x1FAFF),
    "tags": (0xE0000, 0xE01EF),
    "controls": (0x00, 0x1F),
    "anything": (0x00, 0x10FFFF),
}
GLUE = [*" \t\n\r\f\v\x85\u00a0\u2003\u2028\u2029\u200b\u200d\ufeff\ufe0f", "\n\n", "\r\n", ". ", ", "]
WORDS = [
    *(word.replace("|", "") for word in sorted(CONTRACTIONS)),
    *(f"{word}." for word in sorted(ABBREVIATIONS)),
    *sorted(EMOTICONS),
    *(f"a.{ending}" for ending in sorted(FILE_ENDINGS)),
    *(f"7{unit}" for unit in sorted(UNITS)),
    *("http://a.example/(b)?c=d.", "www.", "ann.lee+x@b.example", "@ann", "#cats", "U.S.", "J. R.", "No. 5"),
    *(
        "10-year-old",
        "555-0123",
        "9/11/2001",
        "$5.50",
        "US$3M",
        "'n'",
        "“No,” ‘yes’",
        "--",
        "...",
        "?!",
        "👩‍👩‍👧",
        "🇬🇧",
        "1️⃣",
    ),
]
LONG = 10_000
LIMIT = 1.0  # seconds of processor time for a long text


def short_text(dice: random.Random) -> str:
    """Up to 15 parts: runs of characters of one script, glue, and words that there are rules for."""
    parts = []
    for _ in range(dice.randrange(16)):
        kind = dice.random()
        if kind < 0.5:
            parts.append(characters(dice, dice.randrange(1, 5)))
        else:
            parts.append(dice.choice(GLUE if kind < 0.75 else WORDS))
    return "".join(parts)


def characters(dice: random.Random, count: int) -> str:
    """Characters of one script."""
    first, last = dice.choice(list(SCRIPTS.values()))
    return "".join(chr(dice.randint(first, last)) for _ in range(count))


def long_text(dice: random.Random) -> str:
    """A few units again and again, with now and then another one in between."""
    units = [dice.choice([*WORDS, *GLUE, characters(dice, 1), characters(dice, 3)]) for _ in range(3)]
    unit = "".join(units[: dice.randint(1, 3)])
    text = unit * (LONG // len(unit))
    return (text[: LONG // 2] + short_text(dice) + text)[:LONG]


def fault(text: str) -> str | None:
    """What is wrong with the tokens of a text, if anything is."""
    sentences = split(text)
    tokens = [token for sent in sentences for token in sent.tokens]
    if any(not 0 <= start < end <= len(text) for start, end in tokens):
        return "a token lies outside the text"
    if any(left[1] > right[0] for left, right in pairwise(tokens)):
        return "tokens overlap or are out of order"
    if "".join(text[start:end] for start, end in tokens) != "".join(text.split()):
        return "the tokens are not what is left without white space"
    for sent in sentences:
        if (sent.start, sent.end) != (sent.tokens[0][0], sent.tokens[-1][1]):
            return "a sentence does not reach from its first token to its last"
        if sent.words(text) != tuple(text[start:end] for start, end in sent.tokens):
            return "a word is not its slice"
    return None


def main(arguments: Sequence[str] | None = None) -> None:
    """Print what was tried and how long it took, or the text that failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--texts", type=int, default=1_000_000)
    parser.add_argument("--long", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=300, help="stop after so much processor time")
    options = parser.parse_args(arguments)
    dice = random.Random(options.seed)
    begin = time.process_time()
    slowest, slow_text = 0.0, ""
    for _ in range(options.long):
        text = long_text(dice)
        before = time.process_time()
        found = fault(text)
        seconds = time.process_time() - before
        if found or seconds > LIMIT:
            sys.exit(f"{found or f'{seconds:.2f} seconds'}: {text[:200]!r}")
        if seconds > slowest:
            slowest, slow_text = seconds, text
    print(f"{options.long} texts of {LONG} characters: slowest {slowest:.3f} s, {slow_text[:30]!r}...")
    done = size = 0
    while done < options.texts and time.process_time() - begin < options.seconds:
        text = short_text(dice)
        if found := fault(text):
            sys.exit(f"{found}: {text!r}")
        done, size = done + 1, size + len(text)
    print(
        f"{done:,} texts of {size / max(1, done):.0f} characters on average (seed {options.seed}): "
        f"every token is its slice, none is lost; {time.process_time() - begin:.0f} s in all"
    )


if __name__ == "__main__":
    main()
