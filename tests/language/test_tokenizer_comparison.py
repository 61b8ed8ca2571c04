"""Hard cases beside spaCy's blank English pipeline and sentencizer, where spaCy is installed."""

from __future__ import annotations

import pytest

from spansrl.language.english.tokenizer import split

# Tokens are joined by bars, sentences by " || ".
AGREED = {
    "abbreviations": "Dr. No met Mr. Bond in the U.S. on Monday.",
    "an abbreviation at the end": "pears, apples, etc.",
    "a time of day": "She left at 5 p.m. yesterday.",
    "initials": "J. R. R. Tolkien wrote it.",
    "negations": "I can't, won't and shouldn't go; it's what they've said.",
    "clitics": "She'd said we'll see you're right.",
    "fused words": "I cannot go and I'm gonna stay.",
    "a forgotten apostrophe": "dont do that",
    "possessives": "the cats' bowls and Ann's dog",
    "addresses": "See http://a.example/b?c=d, or www.b.example/x.",
    "e-mail": "Write to ann.lee@mail.example today!",
    "file names": "open notes.txt or plan.doc",
    "hyphens": "A 10-year-old, well-known boy.",
    "dashes": "yes -- no—maybe",
    "money": "He paid $5.50, or 20% of it.",
    "ampersands": "He works at AT&T & Sons.",
    "quotes": '"No," he said, "never!"',
    "curved quotes": "“No,” she said.",
    "brackets": "(see the note [sic] below)",
    "an emoticon": "That's fine :) isn't it?",
    "emoji": "Nice 👍 work 🎉!",
    "tabs": "a b\tc\td",
    "stops": "One came. Two left! Did three? Yes.",
    "a quotation at the end": 'He said: "Go!" Then he left.',
    "numbers before a stop": "Prices rose 5%. In 2010 it ended.",
    "brackets before a stop": "It rained (a lot). We stayed in.",
    "paragraphs": "First one.\n\nSecond one",
}

# Text, our cuts, spaCy's; the treebank cuts as we do.
DISAGREED = {
    "prefixes keep their hyphen": ("Send an e-mail.", "Send|an|e-mail|.", "Send|an|e|-|mail|."),
    "repeated stops are one token": ("what?!", "what|?!", "what|?|!"),
    "a unit is cut from its number": ("at 10:30am", "at|10:30|am", "at|10:30am"),
    "a slash is a token": ("this and/or that", "this|and|/|or|that", "this|and/or|that"),
    "a fraction is cut": ("1/2 of it", "1|/|2|of|it", "1/2|of|it"),
    "a telephone number is one token": ("call 555-0123", "call|555-0123", "call|555|-|0123"),
    "a tag is one token": ("likes #cats", "likes|#cats", "likes|#|cats"),
    "a rule is one token": ("========", "========", "=|=|=|=|=|=|=|="),
    "joined emoji are one token": ("👩‍👩‍👧 came", "👩‍👩‍👧|came", "👩|\u200d|👩|\u200d|👧|came"),
    "an acronym may end a sentence": (
        "He lives in Washington, D.C. It is nice.",
        "He|lives|in|Washington|,|D.C|. || It|is|nice|.",
        "He|lives|in|Washington|,|D.C.|It|is|nice|.",
    ),
    "a blank line ends a sentence without a stop": (
        "A heading\n\nWe go",
        "A|heading || We|go",
        "A|heading|We|go",
    ),
}


def ours(text: str) -> str:
    return " || ".join("|".join(sent.words(text)) for sent in split(text))


@pytest.fixture(scope="module")
def theirs():
    nlp = pytest.importorskip("spacy", reason="compares with spaCy where it is installed").blank("en")
    nlp.add_pipe("sentencizer")

    def cut(text: str) -> str:
        sentences = ([token.text for token in sent if not token.is_space] for sent in nlp(text).sents)
        return " || ".join("|".join(words) for words in sentences)

    return cut


@pytest.mark.parametrize("text", AGREED.values(), ids=AGREED.keys())
def test_spacy_finds_the_same_boundaries(theirs, text):
    assert ours(text) == theirs(text)


@pytest.mark.parametrize(("text", "own", "other"), DISAGREED.values(), ids=DISAGREED.keys())
def test_where_spacy_differs_we_cut_as_the_treebank_does(theirs, text, own, other):
    assert ours(text) == own
    assert theirs(text) == other
