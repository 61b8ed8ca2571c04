"""Words as ELMo reads them: bytes between marks, each distinct word once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spansrl.inference.inputs.characters import MAX_CHARS, CharacterBatch, char_ids

SENTENCES = st.lists(st.lists(st.text(max_size=60), max_size=6), max_size=5)


def test_a_word_is_its_bytes_between_marks_then_padding():
    [row] = char_ids(["né"]).tolist()
    assert row[:6] == [259, ord("n") + 1, 0xC3 + 1, 0xA9 + 1, 260, 261]
    assert set(row[5:]) == {261}
    assert len(row) == MAX_CHARS


@pytest.mark.parametrize("length", [48, 49, 200])
def test_long_words_are_cut_so_that_the_end_mark_stays(length):
    assert char_ids(["x" * length]).tolist() == [[259, *[ord("x") + 1] * 48, 260]]


def test_sentence_marks_in_the_text_are_one_character_words():
    assert char_ids(["<S>", "</S>"])[:, :4].tolist() == [[259, 257, 260, 261], [259, 258, 260, 261]]


def test_empty_words_and_lone_surrogates_have_no_bytes():
    assert char_ids(["", "\ud800"])[:, :3].tolist() == [[259, 260, 261]] * 2
    assert char_ids([]).shape == (0, MAX_CHARS)


@given(SENTENCES)
def test_every_sentence_stands_between_its_marks_and_every_distinct_word_once(sentences):
    batch = CharacterBatch.of(sentences)
    assert batch.words.shape == batch.mask.shape == (len(sentences), 2 + max(map(len, sentences), default=0))
    for tokens, words, mask in zip(sentences, batch.words, batch.mask, strict=True):
        assert mask.tolist() == [place < len(tokens) + 2 for place in range(len(mask))]
        assert np.array_equal(batch.chars[words[mask]], char_ids(["<S>", *tokens, "</S>"]))
    assert len(batch.chars) == len({"<S>", "</S>"}.union(*sentences))
