"""Tokens and sentences: the conventions by example, the promises as properties, the scores on real text."""

from __future__ import annotations

import importlib.util
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spansrl.errors import ConfigError
from spansrl.language.english.tokenizer import TextSentence, iter_sentences, split, tokenize
from timing import is_within, seconds

ROOT = Path(__file__).resolve().parents[2]
UD = ROOT.parent / "shared" / "data" / "ud-english-ewt.tar.xz"


def tokens(text: str) -> str:
    """The tokens of a text with a bar between them."""
    return "|".join(text[start:end] for start, end in tokenize(text))


def sentences(text: str) -> list[str]:
    return [text[sent.start : sent.end] for sent in split(text)]


CUTS = {
    "negation": ("I don't, can't and won't.", "I|do|n't|,|ca|n't|and|wo|n't|."),
    "clitics": ("It's I'm we've she'd they'll you're", "It|'s|I|'m|we|'ve|she|'d|they|'ll|you|'re"),
    "two clitics": ("I shouldn't've gone", "I|should|n't|'ve|gone"),
    "curved apostrophes": ("It’s what I don’t say", "It|’s|what|I|do|n’t|say"),
    "capital clitics": ("DON'T! IT'S", "DO|N'T|!|IT|'S"),
    "possessives": ("Ann's dogs' bowls", "Ann|'s|dogs|'|bowls"),
    "apostrophes inside names": ("O'Brien and the Shi'ite", "O'Brien|and|the|Shi'ite"),
    "apostrophes forgotten": ("dont cant im thats", "do|nt|ca|nt|i|m|that|s"),
    "words that only look contracted": ("its lens, the cats", "its|lens|,|the|cats"),
    "fused words": ("cannot gonna wanna gotta dunno", "can|not|gon|na|wan|na|got|ta|du|n|no"),
    "elided beginnings": ("rock 'n roll, get 'em", "rock|'n|roll|,|get|'em"),
    "hyphens": ("a 10-year-old, well-known", "a|10|-|year|-|old|,|well|-|known"),
    "prefixes keep their hyphen": (
        "e-mail co-operate Non-stop mid-1980s",
        "e-mail|co-operate|Non-stop|mid-1980s",
    ),
    "dashes": ("yes -- no—maybe – so", "yes|--|no|—|maybe|–|so"),
    "slashes": ("and/or w/o w/ him", "and|/|or|w/o|w/|him"),
    "titles": ("Dr. No met Mr. Bond", "Dr.|No|met|Mr.|Bond"),
    "abbreviations inside": (
        "apples, etc., from Acme Inc. in Sept. 2001",
        "apples|,|etc.|,|from|Acme|Inc.|in|Sept.|2001",
    ),
    "abbreviations at the end": ("We sell pears, etc.", "We|sell|pears|,|etc|."),
    "acronyms": ("the U.S. and i.e. the U.K. too", "the|U.S.|and|i.e.|the|U.K.|too"),
    "initials": ("J. R. R. Tolkien wrote", "J.|R.|R.|Tolkien|wrote"),
    "number signs": ("He is No. 5. No.", "He|is|No.|5|.|No|."),
    "ampersands": ("AT&T & Sons", "AT&T|&|Sons"),
    "numbers": ("3.5 of 2,000 at 10:30 on 9/11/2001", "3.5|of|2,000|at|10:30|on|9/11/2001"),
    "fractions and dates": ("1/2 on 5/18", "1|/|2|on|5/18"),
    "ranges": ("pages 10-15 in 1999-2001", "pages|10|-|15|in|1999|-|2001"),
    "telephone numbers": ("call 555-0123 or 1-800-555-0123", "call|555-0123|or|1-800-555-0123"),
    "units": ("10:30am 5pm 35mm 3rd 1980s 80's", "10:30|am|5|pm|35|mm|3rd|1980s|80's"),
    "versions": ("v1.2.3, V2.0 (Python3.11).", "v1.2.3|,|V2.0|(|Python3.11|)|."),
    "times of day": ("at 9 a.m on, 5 p.m. Monday", "at|9|a.m|on|,|5|p.m.|Monday"),
    "names with digits": ("MP3 B2B CO2 4th", "MP3|B2B|CO2|4th"),
    "money": ("$5.50, US$3M and 20% of €7", "$|5.50|,|US$|3|M|and|20|%|of|€|7"),
    "addresses": ("(see http://a.example/b_(c)?d=e.)", "(|see|http://a.example/b_(c)?d=e|.|)"),
    "bare domains": ("at www.a.example, b.com/c and d.org.", "at|www.a.example|,|b.com/c|and|d.org|."),
    "e-mail": ("<ann.lee+x@mail.example> wrote", "<|ann.lee+x@mail.example|>|wrote"),
    "file names": ("open notes.txt or my-plan_2.doc.", "open|notes.txt|or|my-plan_2.doc|."),
    "handles": ("@ann likes #cats and #1", "@ann|likes|#cats|and|#|1"),
    "emoticons": ("fine :) or :-( or ;-) <3", "fine|:)|or|:-(|or|;-)|<3"),
    "emoji": ("ok👍🏽 👩‍👩‍👧 🇬🇧🇫🇷 1️⃣", "ok|👍🏽|👩‍👩‍👧|🇬🇧|🇫🇷|1️⃣"),
    "quotes": ("\"No,\" he said, 'never.'", "\"|No|,|\"|he|said|,|'|never|.|'"),
    "curved quotes": ("“No,” ‘never’", "“|No|,|”|‘|never|’"),
    "ellipses": ("well... so…", "well|...|so|…"),
    "repeated stops": ("What?! No!!!", "What|?!|No|!!!"),
    "missing spaces": ("end.The cat,dog", "end|.|The|cat|,|dog"),
    "brackets": ("f(x) [sic] ((y))", "f|(|x|)|[|sic|]|(|(|y|)|)"),
    "rules": ("==== *** ----", "====|***|----"),
    "underscores": ("_so_ snake_case", "_|so|_|snake_case"),
    "masked words": ("what the f*ck", "what|the|f*ck"),
    "tabs": ("a\tb\u00a0c", "a|b|c"),
    "accents": ("café cafe\u0301 naïve", "café|cafe\u0301|naïve"),
    "other scripts": ("हिन्दी में। שלום עולם", "हिन्दी|में|।|שלום|עולם"),
    "a byte-order mark": ("\ufeffThe end", "\ufeffThe|end"),
}


@pytest.mark.parametrize(("text", "expected"), CUTS.values(), ids=CUTS.keys())
def test_text_is_cut_as_the_treebank_does(text, expected):
    assert tokens(text) == expected


# Python before 3.11.5 kept what a possessively repeated group had consumed in a round that failed.
FAILING_ROUNDS = {
    "He paid $5.50, or 20% of it.": "He|paid|$|5.50|,|or|20|%|of|it|.",
    "1,000.50.": "1,000.50|.",
    "at 10:30: go": "at|10:30|:|go",
    "It took 3.": "It|took|3|.",
    "the dogs' bowls": "the|dogs|'|bowls",
    "Ann's' 80's'": "Ann|'s|'|80's|'",
    "_so_ a_b_ c__ d": "_|so|_|a_b|_|c|__|d",
    "a_-": "a|_|-",
    "He is No. 5. No.": "He|is|No.|5|.|No|.",
    "alt.a.b. sci.": "alt.a.b|.|sci|.",
    "👩\u200d x": "👩|\u200d|x",
    "a.b. U.S.A": "a.b.|U.S.A",
    "--- '' ==": "---|''|==",
}


@pytest.mark.parametrize(("text", "expected"), FAILING_ROUNDS.items(), ids=FAILING_ROUNDS.keys())
def test_every_interpreter_finds_the_same_tokens(text, expected):
    assert tokens(text) == expected


ENDS = {
    "stops": ["One came.", "Two left!", "Did three?", "Yes."],
    "abbreviations": ["Dr. Smith of Acme Inc. met Mr. Jones.", "They left the U.S. in Jan. 2001."],
    "an acronym at the end": ["I live in Washington, D.C.", "It is nice."],
    "a time of day at the end": ["We left at 5 p.m.", "They talked.", "Come at 9 a.m. Monday."],
    "abbreviations before a pronoun": [
        "I asked Acme Inc.",
        "They paid Mr. So and Dr. Who.",
        "It is over, P.S. I left.",
    ],
    "quotes": ['"I know," he said.', '"Why?" she asked.', 'He said: "Go!"', "Then he left."],
    "curved quotes": ["“I see,” said Tom.", "“Do you?”", "Yes."],
    "brackets": ["(This is one.)", "And this (too) is one."],
    "lower case": ["i like it.", "it is good."],
    "names in a row": ["London, Paris and Rome are big.", "Peter, Paul and Mary sang."],
    "names without commas": ["On Monday Tim Cook of Apple Inc. spoke.", "The New York Stock Exchange fell."],
    "numbers": ["Sales fell 3.5 percent.", "Prices rose 5%.", "In 2010 it ended."],
    "addresses": ["Visit http://a.example/b.", "Then write to ann@b.example."],
    "ellipsis inside": ["Wait... what?", "No!!", "Really?!", "Ok."],
}


@pytest.mark.parametrize("expected", ENDS.values(), ids=ENDS.keys())
def test_sentences_end_where_a_reader_would_end_them(expected):
    assert sentences(" ".join(expected)) == expected


def test_a_forgotten_space_does_not_hide_the_end_of_a_sentence():
    assert sentences("That was the end.The next one began.") == ["That was the end.", "The next one began."]


def test_full_stops_of_other_scripts_end_sentences():
    assert sentences("他走了。我来了！") == ["他走了。", "我来了！"]


@pytest.mark.parametrize("blank", ["\n\n", "\r\n\r\n", "\n \t\n", "\n\n\n\n", "\f", "\u2029"])
def test_a_blank_line_always_ends_a_sentence(blank):
    assert sentences(f"we met and{blank}then left") == ["we met and", "then left"]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_a_wrapped_line_does_not_end_a_sentence(newline):
    lines = ["The committee of the northern district, which had not met since", "Easter, chose Ann Lee."]
    assert sentences(newline.join(lines)) == [newline.join(lines)]


def test_headings_lists_and_signatures_are_sentences_of_their_own():
    lines = [
        "Shopping List",
        "- green apples",
        "- Some pears",
        "2. Bread",
        "Best regards",
        "Ann Lee",
        "Acme Bakery",
    ]
    assert sentences("\n".join(lines)) == lines


def test_a_short_line_that_continues_in_lower_case_is_not_a_heading():
    assert sentences("We saw\nthe sea.") == ["We saw\nthe sea."]


@pytest.mark.parametrize("text", ["", " ", "\n\n\t\u00a0\u2003\r"])
def test_there_is_nothing_in_nothing(text):
    assert split(text) == []
    assert tokenize(text) == []


def test_offsets_count_code_points_of_the_whole_text():
    text = "👍 Yes. \n\n He can't."
    assert split(text)[-1] == TextSentence(10, 19, ((10, 12), (13, 15), (15, 18), (18, 19)))
    assert split(text)[-1].words(text) == ("He", "ca", "n't", ".")


def test_a_sentence_that_is_too_long_is_cut_after_punctuation():
    text = "a b c , d e f g h ; i j k l m n"
    pieces = split(text, max_tokens=6)
    assert [text[piece.start : piece.end] for piece in pieces] == ["a b c ,", "d e f g h ;", "i j k l m n"]
    assert all(piece.cut for piece in pieces)
    assert not any(sent.cut for sent in split(text))


def test_a_sentence_without_punctuation_is_cut_at_the_limit():
    assert [len(piece.tokens) for piece in split("a " * 25, max_tokens=10)] == [10, 10, 5]


def test_there_must_be_room_for_a_token():
    with pytest.raises(ConfigError, match="max_tokens is 0"):
        split("a", max_tokens=0)


def test_sentences_stream():
    """The first sentence is there before the rest of a long text was looked at."""
    text = "One came. Two left.\n\n" * 100_000
    assert next(iter_sentences(text)) == TextSentence(0, 9, ((0, 3), (4, 8), (8, 9)))
    assert is_within(0.1, lambda: next(iter_sentences(text)))


MARKS = "aAb1.,!?'’\"()-/@#&$%*_:;<=[]\\`~ \t\n\r\f\0\x1c\x85\u00a0\u0301\u200b\u200d\u2028\u2029\ufeff\ufe0f"
WORDS = [
    "\ud800",
    "\udfff",
    "👩",
    "🇬",
    "ש",
    "ि",
    "。",
    "İ",
    "ß",
    "n't",
    "'s",
    "http://",
    "www.",
    "a.b",
    "U.S.",
    "etc.",
]
ODD = st.sampled_from([*MARKS, *WORDS])
TEXTS = st.one_of(st.text(), st.lists(ODD, max_size=60).map("".join))


@settings(deadline=None)
@given(TEXTS, st.integers(1, 12))
def test_every_character_but_white_space_is_in_exactly_one_token(text, max_tokens):
    found = split(text, max_tokens=max_tokens)
    flat = [token for sent in found for token in sent.tokens]
    assert all(start < end for start, end in flat)
    assert all(left[1] <= right[0] for left, right in pairwise(flat))
    assert all(1 <= len(sent.tokens) <= max_tokens for sent in found)
    assert all((sent.start, sent.end) == (sent.tokens[0][0], sent.tokens[-1][1]) for sent in found)
    assert "".join(text[start:end] for start, end in flat) == "".join(text.split())
    assert all(text[start:end].split() == [text[start:end]] for start, end in flat)


@settings(deadline=None)
@given(TEXTS, TEXTS)
def test_paragraphs_do_not_influence_each_other(first, second):
    shift = len(first) + 2
    moved = [
        TextSentence(
            sent.start + shift, sent.end + shift, tuple((a + shift, b + shift) for a, b in sent.tokens)
        )
        for sent in split(second)
    ]
    assert split(f"{first}\n\n{second}") == split(first) + moved


@settings(deadline=None, max_examples=30)
@given(
    st.lists(st.sampled_from(["the", "Cat", "sat", ".", ",", "(", "!", "Mr."]), max_size=60),
    st.integers(1, 20),
)
def test_long_paragraphs_are_cut_into_pieces_that_fit(words, max_tokens):
    text = " ".join(words) * 40
    assert all(len(sent.tokens) <= max_tokens for sent in iter_sentences(text, max_tokens=max_tokens))
    assert "".join(text[a:b] for sent in split(text) for a, b in sent.tokens) == text.replace(" ", "")


HOSTILE = [
    *(
        "(",
        "a",
        ".",
        "-",
        "'",
        "@",
        "_",
        "\n",
        " ",
        "1",
        "\0",
        "\ud800",
        "\u200d",
        "🇬",
        "e\u0301",
        "<-",
        "$",
        "👩\u200d",
    ),
    *(
        "a.",
        "a-",
        "e-",
        "a's",
        "a@",
        "1-",
        "1/",
        "1.",
        "a&",
        "f*",
        "a$",
        "a~#",
        "http://(",
        "www.",
        "A.",
        "A. ",
        "A\n",
    ),
    *(") ", '" ', "A b\n", "The Cat ", "a\t", "\u00a0a"),
]


@pytest.mark.parametrize("unit", HOSTILE)
def test_ten_kilobytes_of_anything_take_well_under_a_second(unit):
    text = unit * (10_000 // len(unit))
    assert is_within(0.7, lambda: split(text))


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["(", "a.", "a-", "A. ", "http://(", "a's", "1/", "The Cat "])
def test_time_grows_with_the_length_of_the_text_and_no_faster(unit):
    def read(size: int) -> None:
        for _ in iter_sentences(unit * (size // len(unit))):
            pass

    short = seconds(lambda: read(15_000))
    assert is_within(10 * max(short, 0.01), lambda: read(60_000))


@pytest.mark.slow
@pytest.mark.skipif(not UD.exists(), reason="needs ud-english-ewt.tar.xz in ../shared/data")
@pytest.mark.parametrize("name", ["dev", "test"])
def test_tokens_and_sentences_of_real_text_are_found(name):
    spec = importlib.util.spec_from_file_location(
        "tokenizer_scores", ROOT / "experiments" / "tokenizer_scores.py"
    )
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, spec.name, module)  # dataclasses look their module up
        spec.loader.exec_module(module)
        found, ends = module.scores(module.raw_text(name, UD))
    assert found.f1 > 0.985
    assert ends.f1 > 0.85
