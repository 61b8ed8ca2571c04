"""Static vectors: what the three file shapes give, and which errors are reported."""

from __future__ import annotations

import gzip
import lzma
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spansrl.errors import DataError, FormatError
from spansrl.inference.inputs.word_vectors import Vectors, read_vectors

GLOVE = "the 0.5 -1 2e-1\ncat 1 2 3\n( 0 0 1\nunk 9 9 9\n"


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def refusal(path: Path, **options: Path) -> str:
    with pytest.raises(FormatError) as caught:
        read_vectors(path, **options)
    return str(caught.value)


def test_a_glove_file_gives_its_words_and_numbers(tmp_path):
    vectors = read_vectors(write(tmp_path / "glove.txt", GLOVE))
    assert vectors.words == ("the", "cat", "(", "unk")
    assert vectors.matrix.dtype == np.float32
    assert vectors.matrix.tolist() == np.float32([[0.5, -1, 0.2], [1, 2, 3], [0, 0, 1], [9, 9, 9]]).tolist()


def test_a_word2vec_header_is_no_word(tmp_path):
    plain = read_vectors(write(tmp_path / "glove.txt", GLOVE))
    headed = read_vectors(write(tmp_path / "w2v.txt", "4 3\n" + GLOVE.replace("\n", " \n")))
    assert headed.words == plain.words
    assert (headed.matrix == plain.matrix).all()


def test_sennas_pair_of_files_is_read_line_by_line(tmp_path):
    words = write(tmp_path / "words.lst", "PADDING\nUNKNOWN\ncat\n")
    numbers = write(tmp_path / "embeddings.txt", "0 0\n1 1\n2 3\n")
    vectors = read_vectors(numbers, words_path=words)
    assert vectors.words == ("PADDING", "UNKNOWN", "cat")
    assert vectors.matrix[vectors.lookup(["Cat", "dog"])].tolist() == [[2, 3], [1, 1]]


@pytest.mark.parametrize(("suffix", "compress"), [(".gz", gzip.compress), (".xz", lzma.compress)])
def test_compressed_files_are_read_as_they_are(tmp_path, suffix, compress):
    path = tmp_path / f"glove.txt{suffix}"
    path.write_bytes(compress(GLOVE.encode()))
    assert read_vectors(path).words == ("the", "cat", "(", "unk")
    path.write_bytes(compress(GLOVE.encode())[:-9])
    assert refusal(path).startswith(f"{path}: the compressed file is damaged")


def test_tokens_are_looked_up_in_lower_case_with_digits_kept(tmp_path):
    vectors = read_vectors(write(tmp_path / "v.txt", "cat 1\n1984 2\n0000 3\nunk 0\n"))
    assert vectors.lookup(["CAT", "1984", "1985"]).tolist() == [0, 1, 3]
    assert vectors.normalize("Cat") == "cat"
    assert vectors.normalize("1985") == "unk"


@pytest.mark.parametrize(
    ("in_file", "token"),
    [
        ("(", "-LRB-"),
        ("-lrb-", "("),
        ("-LRB-", "("),
        ("]", "-RSB-"),
        ("{", "-LCB-"),
        ("-lcb-", "-LCB-"),
        ("-RRB-", ")"),
    ],
)
def test_brackets_are_found_in_whichever_spelling_the_file_has(tmp_path, in_file, token):
    vectors = read_vectors(write(tmp_path / "v.txt", f"unk 0 0\n{in_file} 1 1\n"))
    assert vectors.normalize(token) == in_file


@pytest.mark.parametrize(
    ("names", "chosen"),
    [(["unk", "<unk>", "UNKNOWN"], "UNKNOWN"), (["unk", "<unk>"], "<unk>"), (["unk"], "unk")],
)
def test_the_unknown_row_is_the_files_own(tmp_path, names, chosen):
    vectors = read_vectors(write(tmp_path / "v.txt", "".join(f"{name} 0\n" for name in ["cat", *names])))
    assert vectors.words[vectors.unknown] == chosen
    assert vectors.words[-1] == names[-1]


def test_without_an_unknown_row_the_mean_of_all_rows_is_added(tmp_path):
    vectors = read_vectors(write(tmp_path / "v.txt", "cat 1 2\ndog 3 4\ncow 8 0\n"))
    assert vectors.words == ("cat", "dog", "cow", "UNKNOWN")
    assert vectors.matrix[vectors.lookup(["elk"])].tolist() == [[4, 2]]


def test_words_with_blanks_inside_are_whole_words(tmp_path):
    path = write(tmp_path / "v.txt", "cat 1 2\n. . . 3 4\nto me@x.org 5 6\nno\u00a0break 7 8\nunk\t9  9\n")
    assert read_vectors(path).words == ("cat", ". . .", "to me@x.org", "no\u00a0break", "unk")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ": the file is empty"),
        ("\n", ":1: expected a word and its vector's numbers, found no numbers"),
        ("cat 1 2\ndog 3\n", ":2: expected a word and 2 numbers, found 1 numbers"),
        ("cat 1 2\ndog 3 4 5\n", ":2: expected a word and 2 numbers, found 3 numbers"),
        ("cat 1 2\n\ndog 3 4\n", ":2: expected a word and 2 numbers, found 0 numbers"),
        ("cat 1 2\ndog 3  \n", ":2: expected a word and 2 numbers, found 1 numbers"),
        ("cat 1 2 3\ndog 3  4\n", ":2: expected a word and 3 numbers, found 2 numbers"),
        ("cat 1 2\ndog 3 x4\n", ":2: 'x4' in the vector of 'dog' is not a finite number"),
        ("cat 1 2\ndog nan 4\n", ":2: 'nan' in the vector of 'dog' is not a finite number"),
        ("cat 1 2\ndog 1e99 4\n", ":2: '1e99' in the vector of 'dog' is not a finite number"),
        ("cat 1 2\ndog 1_0 4\n", ":2: '1_0' in the vector of 'dog' is not a finite number"),
        ("cat 1 2\ndog é 4\n", ":2: 'é' in the vector of 'dog' is not a finite number"),
        ("cat 1 2\n 3 4\n", ":2: the word is missing"),
        ("cat 1 2\ndog 1 2\ncat 3 4\n", ":3: the word 'cat' already has a vector in line 1"),
        ("3 2\ncat 1 2\n", ":1: the header promises 3 words, the file has 1"),
        ("2 3\ncat 1 2\ndog 1 2\n", ":2: expected a word and 3 numbers, found 2 numbers"),
        ("0 3\n", ":1: no vector follows the header"),
    ],
)
def test_a_file_that_is_no_table_of_vectors_is_refused_with_its_line(tmp_path, text, message):
    path = write(tmp_path / "v.txt", text)
    assert refusal(path).startswith(f"{path}{message}")


def test_words_that_are_not_utf8_are_refused_with_their_line(tmp_path):
    path = tmp_path / "v.txt"
    path.write_bytes(b"cat 1\n\xff\xfe 2\n")
    assert refusal(path).startswith(f"{path}:2: the word b'\\xff\\xfe' is not UTF-8")


def test_a_missing_file_is_refused_by_name(tmp_path):
    assert (
        refusal(tmp_path / "nowhere.txt")
        == f"{tmp_path / 'nowhere.txt'}: cannot be read (No such file or directory)"
    )


@pytest.mark.parametrize(
    ("words", "numbers", "where", "message"),
    [
        ("a\nb\n", "1 2\n", "words.lst:2", "ends before this line; the two do not belong together"),
        ("a\n", "1 2\n3 4\n", "embeddings.txt:2", "ends before this line; the two do not belong together"),
        ("a\nb\n", "1 2\n3\n", "embeddings.txt:2", "expected 2 numbers, found 1"),
        ("a\nb\n", "\n1\n", "embeddings.txt:1", "expected some numbers, found 0"),
        ("a\n\n", "1\n2\n", "words.lst:2", "the word is missing"),
        ("a\na\n", "1\n2\n", "words.lst:2", "the word 'a' already has a vector in line 1"),
        ("a\nb\n", "1\nb\n", "embeddings.txt:2", "'b' in the vector of 'b' is not a finite number"),
        ("", "", "words.lst", "the file is empty"),
    ],
)
def test_sennas_files_must_belong_together(tmp_path, words, numbers, where, message):
    words_path, path = write(tmp_path / "words.lst", words), write(tmp_path / "embeddings.txt", numbers)
    found = refusal(path, words_path=words_path)
    assert found.startswith(f"{tmp_path / where}: ")
    assert message in found


def test_vectors_must_fit_their_words_and_know_unknown_ones():
    with pytest.raises(DataError, match=r"2 words do not fit a matrix of shape \(1, 3\)"):
        Vectors(("unk", "cat"), np.zeros((1, 3), np.float32))
    with pytest.raises(DataError, match="no row for unknown words"):
        Vectors(("cat",), np.zeros((1, 3), np.float32))


word_lists = st.lists(st.from_regex(r"[a-zé]{1,5}", fullmatch=True), min_size=1, max_size=8, unique=True)
finite = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(words=word_lists, data=st.data())
def test_what_is_written_as_text_is_read_back_to_the_bit(tmp_path_factory, words, data):
    rows = [data.draw(st.lists(finite, min_size=4, max_size=4)) for _ in words]
    text = "".join(f"{word} {' '.join(map(repr, row))}\n" for word, row in zip(words, rows, strict=True))
    vectors = read_vectors(write(tmp_path_factory.mktemp("v") / "v.txt", text))
    assert vectors.matrix[vectors.lookup(words)].tolist() == np.array(rows, np.float32).tolist()
