"""Written sentences: how they are read, what is wrong with them, and which are kept."""

from __future__ import annotations

import pytest

from spansrl.corpora.corpus import by_reason, write_corpus
from spansrl.corpora.examples import UnfitError
from spansrl.corpora.written import build_written, read_written, split_of
from spansrl.errors import FormatError
from spansrl.formats import read_sentences
from spansrl.inventory.frame_files import Roleset
from spansrl.inventory.frame_index import FrameIndex
from spansrl.structures import Argument, Sentence, Span

FRAMES = FrameIndex.of(
    [
        Roleset("turn_off.05", "stop", {"0": "stopper", "1": "machine"}, [("v", "turn_off")]),
        Roleset("rear_end.04", "hit from behind", {"0": "hitter", "1": "hit"}, [("v", "rear_end")]),
        Roleset("go.01", "move", {"1": "mover", "4": "goal"}, [("v", "go"), ("n", "going")]),
    ]
)


def read(roleset: str, text: str) -> Sentence:
    return read_written(roleset, text, FRAMES, "a.tsv:1")


def test_brackets_become_arguments_and_the_pieces_of_the_predicate():
    sent = read(
        "turn_off.05", "[ARG0 The old man] [V turned] [ARG1 the lights] [C-V off] at [ARGM-TMP ten] ."
    )
    assert sent.tokens == tuple("The old man turned the lights off at ten .".split())
    assert sent.id == "a.tsv:1"
    (prop,) = sent.props
    assert (prop.pred, prop.sense, prop.type) == (3, "turn_off.05", "verb")
    assert prop.v == (Span(3, 4), Span(6, 7))
    roles = Argument("ARG0", Span(0, 3)), Argument("ARG1", Span(4, 6)), Argument("ARGM-TMP", Span(8, 9))
    assert prop.args == roles


@pytest.mark.parametrize(
    ("roleset", "text"),
    [
        ("go.01", "[ARG1 He] [V went] [ARG4 home]"),
        ("go.01", "[ARG1 She] [V goes] [ARG4 to Rome] , [R-ARG4 where] they live"),
        ("rear_end.04", "[ARG0 A van] [V rear-ended] [ARG1 us]"),
        ("take.LV", "[ARG0 She] [V took] [ARGM-PRR a look]"),
    ],
)
def test_irregular_and_hyphenated_forms_are_words_of_their_sense(roleset, text):
    assert read(roleset, text).props[0].sense == roleset


@pytest.mark.parametrize(
    ("roleset", "text", "reason"),
    [
        ("go.99", "[V go]", "the frames have no go.99"),
        ("take.LV", "[ARG0 She] [V has] [ARGM-PRR a look]", "no word of the sense"),
        ("", "[V go]", "the frames have no sense without a name"),
        ("go.01", "[ARG1 He [V went] home]", "brackets"),
        ("go.01", "[ARG1 He] [V went home", "brackets"),
        ("go.01", "[ARG1] [V went] home", "brackets"),
        ("go.01", "[ARG1 He] went", "no predicate is marked"),
        ("go.01", "[V went] and [V went]", "not the only V"),
        ("turn_off.05", "[C-V off] [V turned] it", "not the first"),
        ("turn_off.05", "[V turned] [ARG1 it] off", "lacks a particle"),
        ("turn_off.05", "[V turned] [ARG1 it] [C-V on]", "lacks a particle"),
        ("turn_off.05", "[ARG0 He] [V shut] [C-V off]", "no word of the sense"),
        ("go.01", "[ARG0 He] [V went]", "does not have one of its roles"),
        ("go.01", "[R-ARG0 who] [V went]", "does not have one of its roles"),
        ("go.01", "[ARGM-XYZ He] [V went]", "ARGM-XYZ is no role"),
        ("go.01", "[C-ARG1 He] [V went]", "C- without the role"),
    ],
)
def test_sentences_that_are_wrong_are_refused_with_a_reason(roleset, text, reason):
    with pytest.raises(UnfitError, match=reason):
        read(roleset, text)


def test_a_stable_tenth_of_the_rolesets_is_for_development():
    names = [f"word.{k:02}" for k in range(2000)]
    assert 160 < sum(split_of(name) == "dev" for name in names) < 240
    assert [split_of(name) for name in ("abandon.01", "go.01", "act_up.04")] == ["train", "train", "train"]
    assert split_of("want.01") == "dev"


def test_repetitions_and_sentences_like_those_of_the_development_part_are_dropped(tmp_path):
    held_out = next(f"see.{k}" for k in range(99) if split_of(f"see.{k}") == "dev")
    wish = next(f"want.{k}" for k in range(99) if split_of(f"want.{k}") == "train")
    frames = FrameIndex.of(
        [
            Roleset(held_out, "", {"0": "x", "1": "y"}, [("v", "see")]),
            Roleset("go.01", "", {"1": "mover"}, [("v", "go")]),
            Roleset(wish, "", {"0": "x"}, [("v", "want")]),
        ]
    )
    lines = [
        "go.01\t[ARG1 He] wants to [V go]",
        f"{wish}\t[ARG0 He] [V wants] to go",  # the same words, another predicate
        "go.01\t[ARG1 he] wants to [V go]",  # again
        "go.01\t[ARG1 I] [V see] it",  # no word of the sense
        f"{held_out}\t[ARG0 She] [V sees] them go",
        "go.01\tShe sees [ARG1 them] [V go]",  # like the development part
        "go.01\t[ARG1 The test] [V goes] on",
    ]
    (tmp_path / "a.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    test = Sentence(("The", "test", "goes", "on"))
    corpus = build_written([tmp_path / "a.tsv"], [test], frames)
    write_corpus(corpus, tmp_path / "out")
    kept = [sent.id for sent in read_sentences(tmp_path / "out" / "train.jsonl")]
    assert kept == ["a.tsv:1", "a.tsv:2"]
    assert [sent.id for sent in read_sentences(tmp_path / "out" / "dev.jsonl")] == ["a.tsv:5"]
    assert by_reason(corpus.audit.dropped) == {
        ("sentence", "its predicate is no word of the sense, or lacks a particle"): 1,
        ("sentence", "like an earlier one"): 1,
        ("sentence", "like a sentence in an --unlike file or of the development part"): 2,
    }
    assert len(corpus.audit.sources["a.tsv"]["sha256"]) == 64


def test_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(FormatError, match=r"none\.tsv"):
        build_written([tmp_path / "none.tsv"], frames=FRAMES)
