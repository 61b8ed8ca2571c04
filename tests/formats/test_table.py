from pathlib import Path

import pytest

from spansrl.errors import DataError, FormatError
from spansrl.formats import READABLE, WRITABLE, read_sentences, write_sentences
from spansrl.formats.table import FORMATS, Head, format_of_content, format_of_name
from spansrl.formats.text_files import Line
from spansrl.structures import Sentence

DATA = Path(__file__).resolve().parents[1] / "data"
CONTENTS = {
    "sample.train.conll05": "conll05-train",
    "aligned.train.conll05": "conll05-train",
    "sample.test.conll05": "conll05-test",
    "sample.words.conll05": "conll05-words",
    "sample.props": "conll05-props",
    "sample.v4_gold_conll": "conll12",
    "sample.gold_skel": "skel",
    "sample.bio": "bio",
}


def blocks(text):
    """A file with its sentences as separate texts, markers of documents taken out."""
    lines = [line for line in text.split("\n") if not line.startswith("#")]
    return [block for block in "\n".join(lines).split("\n\n") if block.strip()]


def guess(text):
    return format_of_content(Head([Line(k, line) for k, line in enumerate(text.split("\n"), start=1)]))


@pytest.mark.parametrize(("name", "format"), CONTENTS.items())
def test_the_format_is_detected_from_any_sentence_even_without_predicates(name, format):
    found = blocks((DATA / name).read_text())
    assert len(found) >= 2
    assert [guess(block) for block in found] == [format] * len(found)


@pytest.mark.parametrize(("name", "format"), CONTENTS.items())
def test_a_file_without_a_telling_name_is_read_by_its_content(name, format, tmp_path):
    nameless = tmp_path / "nameless"
    nameless.write_bytes((DATA / name).read_bytes())
    assert list(read_sentences(nameless)) == list(read_sentences(DATA / name, format))


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("a.jsonl", "jsonl"),
        ("a.jsonl.gz", "jsonl"),
        ("a.ndjson.xz", "jsonl"),
        ("train.props.gz", "conll05-props"),
        ("x.gold_skel", "skel"),
        ("x_skel", "skel"),
        ("x.bio", "bio"),
        ("x.conll05", "conll05"),
        ("x.conll2012", "conll12"),
        ("x.v4_gold_conll", None),
        ("x.txt", None),
        ("props", None),
        ("-", None),
    ],
)
def test_names_that_tell_their_format(name, format):
    assert format_of_name(name) == format


def test_a_word_that_looks_like_json_is_still_a_word():
    assert guess("{\t-\n}\t-") == "conll05-words"
    assert guess('{"tokens": [') == "jsonl"


def test_one_wrong_cell_does_not_hide_the_form():
    path_free = "a\tDT\t*\t*\t-\t(A0*)\nkeep\tVB\t*\t*\tkeep\tV\nit\tPRP\t*\t*\t-\t(A1*)"
    assert guess(path_free) == "conll05-test"


def test_content_of_no_format_is_refused_with_a_list_of_them(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("\nonce upon a time\n")
    with pytest.raises(FormatError) as caught:
        list(read_sentences(path))
    assert str(caught.value) == (f"{path}:2: unknown format; name it with --from: {', '.join(READABLE)}")


@pytest.mark.parametrize(("content", "found"), [('["a"]', "a list (['a'])"), ('"a b"', "a string ('a b')")])
def test_json_that_is_not_an_object_is_refused_as_json(content, found, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text(f"{content}\n{content}\n")
    with pytest.raises(FormatError) as caught:
        list(read_sentences(path))
    assert str(caught.value) == f"{path}:1: expected a JSON object for a sentence, found {found}"


@pytest.mark.parametrize("word", ["[", '"', "[x]", '"x"'])
def test_a_word_that_begins_like_json_is_still_a_word(word):
    assert guess(f"{word}\t-\t(A0*)\nkeep\tkeep\t(V*)") == "conll05-words"


@pytest.mark.parametrize("content", ["", "\n", "\ufeff", " \r\n\n"])
@pytest.mark.parametrize("format", [None, *READABLE])
def test_an_empty_file_has_no_sentences_in_any_format(content, format, tmp_path):
    path = tmp_path / "empty"
    path.write_text(content, encoding="utf-8", newline="")
    assert list(read_sentences(path, format)) == []


@pytest.mark.parametrize("format", [name for name in WRITABLE if name != "conllup"])  # it has a header
def test_no_sentences_make_an_empty_file(format, tmp_path):
    assert not write_sentences(tmp_path / "empty.ann", [], format)
    assert (tmp_path / "empty.ann").read_bytes() == b""


def test_every_name_and_suffix_belongs_to_one_format():
    suffixes = [suffix for found in FORMATS.values() for suffix in found.suffixes + found.shared_suffixes]
    assert len(suffixes) == len(set(suffixes))
    for found in FORMATS.values():
        assert all(format_of_name(f"x{suffix}.gz") == found.name for suffix in found.suffixes)
        assert found.read or found.write


def test_unknown_formats_are_refused_before_anything_is_opened(tmp_path):
    with pytest.raises(DataError, match=r"unknown format 'xml'\. Choose from: jsonl, conll05, "):
        read_sentences(tmp_path / "missing", "xml")
    with pytest.raises(DataError, match="the format 'skel' cannot be written"):
        write_sentences(tmp_path / "a.skel", [])
    with pytest.raises(DataError, match="the format 'xml' cannot be written"):
        write_sentences(tmp_path / "a", [], "xml")
    with pytest.raises(
        FormatError, match=r"a\.txt: the name has no known extension; name the format with --to: jsonl"
    ):
        write_sentences(tmp_path / "a.txt", [])
    assert list(tmp_path.iterdir()) == []


def test_conll05_is_written_in_the_form_it_was_read_in_and_else_in_the_train_form(tmp_path):
    for name in ("sample.test.conll05", "sample.words.conll05"):
        write_sentences(tmp_path / name, read_sentences(DATA / name))
        assert (tmp_path / name).read_bytes() == (DATA / name).read_bytes()
    write_sentences(tmp_path / "new.conll05", [Sentence(("a",))])
    assert (tmp_path / "new.conll05").read_text() == "a\t-\t*\t*\t-\t-\n\n"
