import gzip
import io
import json
import lzma
import os
import subprocess
import sys
from pathlib import Path

import pytest

from spansrl.cli import main
from spansrl.formats import READABLE, WRITABLE

DATA = Path(__file__).resolve().parents[1] / "data"
PROPS = "-\t(A0*)\nkeep\t(V*)\n\n"
JSON = (
    '{"id": "1", "tokens": ["_", "_"], "props": [{"pred": 1, "lemma": "keep", '
    '"args": [{"role": "A0", "start": 0, "end": 1}]}]}\n'
)


@pytest.fixture
def convert(monkeypatch, capsysbinary):
    """The command run in this process: arguments in; exit code, standard output and standard error out."""

    def run(*args, stdin=b"", cwd=None):
        if cwd is not None:
            monkeypatch.chdir(cwd)
        monkeypatch.setattr(sys, "argv", ["spansrl", "convert", *map(str, args)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as caught:
            main()
        out, err = capsysbinary.readouterr()
        return caught.value.code, out.decode(), err.decode()

    return run


def test_props_to_json_lines_and_back_through_files(convert, tmp_path):
    (tmp_path / "a.props").write_text(PROPS)
    assert convert("a.props", "a.jsonl", cwd=tmp_path) == (0, "", "")
    assert (tmp_path / "a.jsonl").read_text() == JSON
    assert convert("a.jsonl", "b.props", cwd=tmp_path) == (0, "", "")
    assert (tmp_path / "b.props").read_text() == PROPS


def test_standard_streams_default_to_json_lines(convert):
    assert convert("-", "-", stdin=PROPS.encode()) == (0, JSON, "")
    assert convert("-", "-", "--to", "conll05-props", stdin=JSON.encode()) == (0, PROPS, "")
    assert convert("-", "-", "--from", "conll05-props", stdin=gzip.compress(PROPS.encode())) == (0, JSON, "")


def test_compressed_files_both_ways(convert, tmp_path):
    (tmp_path / "a.props.xz").write_bytes(lzma.compress(PROPS.encode()))
    assert convert("a.props.xz", "a.jsonl.gz", cwd=tmp_path) == (0, "", "")
    assert gzip.decompress((tmp_path / "a.jsonl.gz").read_bytes()).decode() == JSON
    assert convert("a.jsonl.gz", "b.props.xz", cwd=tmp_path) == (0, "", "")
    assert lzma.decompress((tmp_path / "b.props.xz").read_bytes()).decode() == PROPS


def test_a_file_may_be_converted_onto_itself(convert, tmp_path):
    (tmp_path / "a.txt").write_text(PROPS)
    assert convert("a.txt", "a.txt", "--to", "jsonl", cwd=tmp_path) == (0, "", "")
    assert (tmp_path / "a.txt").read_text() == JSON


def test_an_empty_file_gives_an_empty_file(convert, tmp_path):
    (tmp_path / "a.props").touch()
    assert convert("a.props", "a.jsonl", cwd=tmp_path) == (0, "", "")
    assert (tmp_path / "a.jsonl").read_bytes() == b""
    assert convert("-", "-") == (0, "", "")


def test_a_byte_order_mark_crlf_and_a_missing_last_line_end_are_accepted(convert):
    raw = b"\xef\xbb\xbf" + PROPS.rstrip().replace("\n", "\r\n").encode()
    assert convert("-", "-", stdin=raw) == (0, JSON, "")


def test_what_the_target_cannot_hold_is_said_in_one_line(convert):
    code, out, err = convert(DATA / "sample.train.conll05", "-", "--to", "conll05-props")
    assert (code, out) == (0, (DATA / "sample.props").read_text())
    assert err == (
        "spansrl: conll05-props cannot hold: 'tokens' (2 sentences), 'pos' (2 sentences), "
        "'sense' (1 sentence), 'ner' (1 sentence), 'parse' (2 sentences)\n"
    )


def test_overlapping_arguments_for_bio_are_counted_in_that_line(convert):
    code, out, err = convert("-", "-", "--to", "bio", stdin=b"-\t(A0(A1*))\nkeep\t(V*)\n")
    assert (code, out) == (0, "_\t-\t-\tB-A0\n_\tkeep\t-\tB-V\n\n")
    assert err == "spansrl: bio cannot hold: overlapping spans, left out (1)\n"


BAD = {
    "unbalanced.props": (b"-\t(A0*\nkeep\t(V*)\n", ":1: '(A0*' is still open when the sentence ends"),
    "closing.props": (b"-\t*)\nkeep\t(V*)\n", ":1: '*)' closes a phrase that was never opened"),
    "ragged.props": (b"-\t*\nkeep\t(V*)\t*\n-\t*\n", ":2: 3 columns where the sentence's other lines have 2"),
    "missing-column.props": (b"-\nkeep\n", ":2: the predicate 'keep' has no column of arguments"),
    "extra-column.props": (
        b"-\t*\n-\t*\n",
        ":1: 1 column of arguments for 0 rows with a LEMMA",
    ),
    "empty-role.props": (b"keep\t(*)\n", ":1: '(*)' is not a bracket cell"),
    "latin1.props": (b"caf\xe9\t(V*)\n", ":1: not UTF-8: byte 0xe9 at byte 4"),
    "cut.props.gz": (gzip.compress(PROPS.encode())[:-9], ": the compressed data is damaged or truncated"),
    "cut.props.xz": (lzma.compress(PROPS.encode())[:-9], ": the compressed data is damaged or truncated"),
    "not-an-object.jsonl": (b"[1]\n", ":1: expected a JSON object for a sentence, found a list ([1])"),
    "broken.jsonl": (b'{"tokens": [}\n', ":1: invalid JSON at character 13: Expecting value"),
    "span.jsonl": (
        b'{"tokens": ["a"], "props": [{"pred": 5}]}\n',
        ":1: 'props[0].pred' is 5, outside the sentence",
    ),
    "late.jsonl": (JSON.encode() * 20 + b"{}\n", ":21: 'tokens' must be a list of strings, found nothing"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_line_exit_code_1_and_no_output(convert, name, tmp_path):
    raw, message = BAD[name]
    (tmp_path / name).write_bytes(raw)
    code, out, err = convert(name, "out.jsonl", cwd=tmp_path)
    assert (code, out) == (1, "")
    assert err.startswith("spansrl: error: " + name)
    assert message.removeprefix(": ") in err
    assert err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_after_an_error_standard_output_is_empty_and_an_old_file_remains(convert, tmp_path):
    raw = JSON.encode() * 3 + b"{}\n"
    error = "spansrl: error: <stdin>:4: 'tokens' must be a list of strings, found nothing\n"
    assert convert("-", "-", stdin=raw) == (1, JSON * 3, error)  # a stream: what was good is there already
    (tmp_path / "bad.jsonl").write_bytes(raw)
    code, out, err = convert("bad.jsonl", "-", cwd=tmp_path)
    assert (code, out, err) == (1, "", error.replace("<stdin>", "bad.jsonl"))
    (tmp_path / "old.props").write_text(PROPS)
    assert convert("-", "old.props", stdin=raw, cwd=tmp_path) == (1, "", error)
    assert (tmp_path / "old.props").read_text() == PROPS


def test_paths_that_cannot_be_used_are_named(convert, tmp_path):
    (tmp_path / "a.props").write_text(PROPS)
    assert convert("no.props", "x.jsonl", cwd=tmp_path) == (
        1,
        "",
        "spansrl: error: no.props: cannot be read: No such file or directory; check the path\n",
    )
    assert convert("a.props", "no/x.jsonl", cwd=tmp_path) == (
        1,
        "",
        "spansrl: error: no/x.jsonl: cannot be written: No such file or directory\n",
    )
    code, out, err = convert("a.props", "x.txt", cwd=tmp_path)
    assert (code, out) == (1, "")
    assert err.startswith(
        "spansrl: error: x.txt: the name has no known extension; name the format with --to: jsonl, "
    )
    assert [path.name for path in tmp_path.iterdir()] == ["a.props"]


def test_a_format_that_does_not_exist_or_cannot_be_written_is_a_usage_error(convert):
    code, _, err = convert("-", "-", "--to", "skel")
    assert code == 2
    assert "Invalid value for '--to': 'skel' is not one of" in err


def test_help_shows_every_format_and_examples(convert):
    code, out, _ = convert("--help")
    assert code == 0
    assert all(format in out for format in READABLE)
    assert "spansrl convert dev.jsonl dev.props" in out


def test_the_first_line_of_a_long_file_is_valid_json(convert):
    code, out, _ = convert(DATA / "sample.v4_gold_conll", "-")
    assert code == 0
    assert [json.loads(line)["tokens"][0] for line in out.splitlines()] == ["The", "Hush", "They"]


def test_the_command_works_as_a_program_of_its_own():
    command = [sys.executable, "-m", "spansrl", "convert", "-", "-"]
    done = subprocess.run(command, input=PROPS.encode() + b"x\n", capture_output=True, check=False)
    assert done.returncode == 1
    assert done.stderr.decode() == (
        "spansrl: error: <stdin>:4: the predicate 'x' has no column of arguments: "
        "0 columns for 1 row with a LEMMA; add it, or write '-' for the predicate\n"
    )
    done = subprocess.run(command, input=PROPS.encode(), capture_output=True, check=False)
    assert (done.returncode, done.stdout.decode(), done.stderr) == (0, JSON, b"")


def test_a_pipe_is_converted_as_a_stream():
    command = [sys.executable, "-m", "spansrl", "convert", "--to", "conll05-props", "-", "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdin.write(b'{"tokens": ["He", "came"], "props": [{"pred": 1, "lemma": "come"}]}\n' * 2)
        process.stdin.flush()
        assert process.stdout.readline().split() == [b"-", b"*"]  # before the input ends
        process.stdin.close()
        assert process.stdout.read().count(b"come") == 2


SURROGATES = b"""{"tokens": ["Ann", "\\ud800", "left"], "id": "\\ud800", "\\ud800": "\\udfff", "props": [
 {"pred": 2, "lemma": "\\udfff", "sense": "\\ud800", "args": [{"role": "ROLE", "start": 0, "end": 1}]}]}
""".replace(b"\n ", b" ")


@pytest.mark.parametrize("target", [format for format in WRITABLE if format != "brat"])
def test_lone_surrogates_in_a_file_are_converted_or_refused(convert, target):
    code, out, err = convert("--to", target, "-", "-", stdin=SURROGATES)
    assert code == 0, err
    assert "left" in out or target in ("conll05-props", "jsonl")
    code, out, err = convert("--to", target, "-", "-", stdin=SURROGATES.replace(b"ROLE", b"\\ud800"))
    assert code == (0 if target in ("jsonl", "allennlp") else 1)
    assert err.count("\n") <= 1


def test_brat_of_lone_surrogates(convert, tmp_path):
    (tmp_path / "s.jsonl").write_bytes(SURROGATES)
    assert convert("s.jsonl", "s.ann", cwd=tmp_path)[0] == 0
    assert (tmp_path / "s.txt").read_text() == "Ann   left\n"


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-16-le"])
def test_other_encodings_are_read(convert, tmp_path, encoding):
    (tmp_path / "a.bio").write_bytes("\u00dcber\t-\t-\n".encode(encoding))
    code, out, err = convert("a.bio", "-", cwd=tmp_path)
    if encoding == "utf-16":  # it has a byte-order mark
        assert code == 0, err
    elif encoding == "latin-1":
        assert "a.bio:1: not UTF-8: byte 0xdc at byte 1; the encoding is probably latin-1: use" in err
    code, out, err = convert("a.bio", "-", "--encoding", encoding, cwd=tmp_path)
    assert (code, json.loads(out)["tokens"]) == (0, ["\u00dcber"])


def test_a_fifo_is_refused_instead_of_waited_for(convert, tmp_path):
    os.mkfifo(tmp_path / "a.jsonl")
    code, out, err = convert("a.jsonl", "-", cwd=tmp_path)
    assert (code, out) == (1, "")
    assert err == "spansrl: error: a.jsonl: a FIFO, not a regular file; give a file, or pipe it in with -\n"
    assert convert("/dev/zero", "-")[0] == 1
    command = f"{sys.executable} -m spansrl convert --from conll05 <(printf 'x -\\n') -"
    assert subprocess.run(["bash", "-c", command], capture_output=True, check=True).stdout.startswith(b"{")
