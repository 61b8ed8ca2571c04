"""Word pieces: what a batch of windows says of its tokens, against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spansrl.errors import ModelError
from spansrl.inference.inputs.pieces import MOST_PIECES, PieceTokenizer, load_tokenizer
from tiny_bert import PIECES, make_tokenizer

WINDOW = 16
ROOM = WINDOW - 2
WORDS = [
    "cat",
    "cats",
    "chased",
    "unlikely",
    "the",
    ".",
    "?",
    "strange",
    "",
    "\u200d",
    "\ud800",
    "[SEP]",
    "[PAD]",
]
WORDS += ["cat" + "s" * 12, "." * 30, "." * 500]
SENTENCES = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=12), min_size=1, max_size=4)
QUICK = settings(deadline=None, max_examples=50)


def bare_tokenizer():
    tokenizer = make_tokenizer()
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


TOKENIZER = PieceTokenizer(bare_tokenizer(), WINDOW)


def pieces_of(token: str) -> list[int]:
    """The pieces of a token that is readable and not too long; those of '?' where there are none."""
    readable = token[:200].encode("utf-8", "replace").decode()
    own = TOKENIZER.tokenizer.encode([readable], is_pretokenized=True, add_special_tokens=False).ids
    return own or [PIECES.index("[UNK]")]


def windows_of(tokens) -> list[list[tuple[int, int]]]:
    """Windows of (piece, token), without special pieces: as many tokens in each as fit."""
    pieces = [pieces_of(token) for token in tokens]
    if sum(map(len, pieces)) > ROOM:
        pieces = [own[:MOST_PIECES] for own in pieces]
    out: list[list[tuple[int, int]]] = [[]]
    for t, own in enumerate(pieces):
        if len(out[-1]) + len(own) > ROOM:
            out.append([])
        out[-1] += [(piece, t) for piece in own]
    return out


@QUICK
@given(SENTENCES)
def test_windows_hold_the_pieces_of_whole_tokens_between_special_pieces(sentences):
    batch = TOKENIZER.prepare(sentences).take(np.arange(len(sentences)))
    expected = [(s, window) for s, tokens in enumerate(sentences) for window in windows_of(tokens)]
    assert len(batch.pieces) == len(expected)
    assert batch.pieces.shape == batch.mask.shape == batch.token.shape
    assert batch.pieces.shape[1] <= WINDOW
    none, longest = len(sentences) * batch.n_tokens, max(map(len, sentences))
    assert (batch.n_sentences, batch.n_tokens) == (len(sentences), longest)
    for w, (s, window) in enumerate(expected):
        assert batch.pieces[w][batch.mask[w]].tolist() == [2, *(piece for piece, _ in window), 3]
        places = [none, *(s * longest + t for _, t in window), none]
        assert batch.token[w].tolist() == places + [none] * (batch.token.shape[1] - len(places))


@QUICK
@given(SENTENCES)
def test_first_pieces_shares_and_windows_are_what_loops_find(sentences):
    batch = TOKENIZER.prepare(sentences).take(np.arange(len(sentences)))
    W, P = batch.token.shape
    first, shares, windows = batch.first_pieces(), batch.shares(), batch.windows()
    assert shares.shape == (W, batch.n_tokens, P)
    assert windows.shape == (len(sentences), W)
    for s, tokens in enumerate(sentences):
        for t in range(batch.n_tokens):
            own = [(w, p) for w in range(W) for p in range(P) if batch.token[w, p] == s * batch.n_tokens + t]
            if t >= len(tokens):
                assert not own
                assert first[s, t] == 0
                continue
            assert first[s, t] == own[0][0] * P + own[0][1]
            expected = np.zeros((W, P), np.float32)
            for place in own:
                expected[place] = 1 / len(own)
            np.testing.assert_allclose(np.einsum("w,wp->wp", windows[s], shares[:, t]), expected)
    assert (windows.sum(axis=0) == 1).all()


@QUICK
@given(SENTENCES)
def test_a_sentence_has_the_same_windows_alone_as_in_any_batch(sentences):
    store = TOKENIZER.prepare(sentences)
    rows = np.arange(len(sentences))[::-1]
    batch = store.take(rows)
    w = 0
    for row in rows:
        alone = TOKENIZER.prepare([sentences[row]]).take(np.array([0]))
        for k in range(len(alone.pieces)):
            assert batch.pieces[w][batch.mask[w]].tolist() == alone.pieces[k][alone.mask[k]].tolist()
            w += 1
    assert w == len(batch.pieces)


def test_windows_do_not_multiply_where_tokens_have_very_many_pieces():
    store = PieceTokenizer(bare_tokenizer(), 508).prepare([("." * 200,) * 256])
    assert len(store.pieces) <= 256 * MOST_PIECES // 500 + 1


def test_a_sentence_that_fits_keeps_all_of_its_pieces():
    store = PieceTokenizer(bare_tokenizer(), 508).prepare([("." * 200, "cat", "." * 200)])
    assert store.pieces.lengths.tolist() == [403]


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"version": "1.0"}', "\x00"])
def test_a_broken_tokenizer_is_refused_in_one_line(tmp_path, content):
    (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(ModelError, match=r"tokenizer\.json: not ") as caught:
        load_tokenizer(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_directory_without_a_tokenizer_is_refused(tmp_path):
    with pytest.raises(ModelError, match=r"no tokenizer\.json"):
        load_tokenizer(tmp_path)
