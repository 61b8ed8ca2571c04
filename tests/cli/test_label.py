"""`spansrl label` (and `spansrl ensemble`): from text, tokens and files to labeled sentences."""

from __future__ import annotations

import csv
import gzip
import io
import json
import subprocess
import sys
import threading
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import SENTENCES, label_given, make_config, make_network
from spansrl.cli import label_output
from spansrl.cli.label import command as label_command
from spansrl.decoding import DECODERS
from spansrl.formats import read_sentences, write_sentences
from spansrl.inference import sentences
from spansrl.inference.calibration import Calibration
from spansrl.inference.directory import write_json
from spansrl.inference.lexicon import LEXICON, learn_lexicon, lexicon_to_dict
from spansrl.inference.loading import CALIBRATION, load
from spansrl.inference.sentences import text_sentences
from spansrl.inventory.roles import roles_in
from spansrl.language import MAX_TOKENS, English
from spansrl.nn.embedders import build_embedder
from spansrl.nn.network import Network
from spansrl.structures import ROW_COLUMNS, Document, Proposition, Sentence
from spansrl.training.checkpoint import save_description, save_weights

TEXT = "She said he left.  The cat\nchased a mouse!\n\nGo home."
PROGRAM = [sys.executable, "-m", "spansrl", "label"]


def make_text_model(directory):
    """A model for text that knows nothing: to it every token is a predicate."""
    known = [
        replace(
            sent,
            props=tuple(replace(prop, sense=f"{sent.tokens[prop.pred].lower()}.01") for prop in sent.props),
        )
        for sent in SENTENCES
    ]
    config = make_config(
        encoder={"kind": "none", "predicate": "after"}, tasks={"predicates": True, "senses": True}
    )
    embedder = build_embedder(config.embedder, [sent.tokens for sent in known])
    inventory = learn_lexicon(known)
    network = Network(config, roles_in(known), embedder, inventory.senses).eval()
    save_description(directory, network, {})
    save_weights(directory, network, epoch=0)
    write_json(directory / LEXICON, lexicon_to_dict(inventory))
    write_json(directory / CALIBRATION, Calibration(threshold=0.0).to_dict())
    return directory


@pytest.fixture(scope="module")
def text_model(tmp_path_factory):
    return make_text_model(tmp_path_factory.mktemp("models") / "text")


@pytest.fixture
def call(spansrl, monkeypatch, tmp_path):
    """Run a command in a directory that holds in.jsonl and the models one and two."""
    monkeypatch.setenv("SPANSRL_HOME", str(tmp_path / "home"))
    write_sentences("in.jsonl", SENTENCES)
    for seed, name in ((1, "one"), (2, "two")):
        network = make_network(seed=seed)
        save_description(tmp_path / name, network, {})
        save_weights(tmp_path / name, network, epoch=0)
    return spansrl


@pytest.fixture
def label(call, text_model):
    """Label with the model for text; returns the sentences that were printed."""

    def run(*args):
        code, out, err = call("label", "--model", text_model, *args)
        assert (code, err) == (0, "")
        return [Sentence.from_dict(json.loads(line)) for line in out.splitlines()]

    return run


@pytest.fixture
def refused(call, text_model):
    """Label with the model for text; returns the exit code and the line that says what is wrong."""

    def run(*args):
        code, out, err = call("label", "--model", text_model, *args)
        assert out == ""
        return code, err.splitlines()[-1]

    return run


@pytest.fixture
def stdin(monkeypatch):
    """Put something into standard input."""

    def put(content: bytes):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))

    return put


def test_the_output_is_the_labelers_in_order(call, tmp_path):
    assert call("label", "--model", "one", "--threads", "1", "in.jsonl", "-o", "out.jsonl") == (0, "", "")
    expected = label_given(make_network(seed=1))
    found = list(read_sentences(tmp_path / "out.jsonl"))
    assert [sent.tokens for sent in found] == [sent.tokens for sent in SENTENCES]
    for mine, theirs in zip(found, expected, strict=True):
        spans = [[(arg.role, arg.span) for arg in prop.args] for prop in mine.props]
        assert spans == [[(arg.role, arg.span) for arg in prop.args] for prop in theirs.props]


def test_json_lines_go_to_standard_output(call):
    code, out, err = call("label", "--model", "one", "in.jsonl")
    lines = [json.loads(line) for line in out.splitlines()]
    assert (code, err) == (0, "")
    assert [len(line["tokens"]) for line in lines] == [len(sent) for sent in SENTENCES]


def test_what_a_format_cannot_hold_is_reported_in_one_line(call, tmp_path):
    code, _, err = call("label", "--model", "one", "in.jsonl", "--to", "conll05-props", "-o", "out.props")
    assert code == 0
    assert err.startswith("spansrl: ")
    assert err.count("\n") == 1
    assert len(list(read_sentences(tmp_path / "out.props"))) == len(SENTENCES)


def test_a_product_is_made_once_and_labels(call):
    assert call("ensemble", "product", "one", "two", "--out", "both") == (0, "", "")
    assert call("label", "--model", "both", "in.jsonl", "-o", "out.jsonl")[0] == 0
    assert call("ensemble", "product", "one", "two", "--out", "both") == (
        1,
        "",
        "spansrl: error: both: holds a model already; choose another --out\n",
    )


@pytest.mark.parametrize(("kind", "other"), [("product", "mixture"), ("mixture", "product")])
def test_the_help_of_each_ensemble_shows_its_own_examples(spansrl, kind, other):
    _, out, _ = spansrl("ensemble", kind, "--help")
    examples = out.partition("Examples:")[2]
    assert f"spansrl ensemble {kind} runs/span-1" in examples
    assert other not in examples


def test_a_mixture_is_trained_and_finished_once(call, tmp_path):
    (tmp_path / "data").mkdir()
    for split in ("train", "dev"):
        write_sentences(f"data/{split}.jsonl", SENTENCES)
    command = ["ensemble", "mixture", "one", "two", "--data", "data", "--out", "moe", "--cache", "cache"]
    code, _, err = call(*command, "--set", "training.epochs=2", "--threads", "1")
    assert code == 0
    assert "epoch 2" in err
    assert call("label", "--model", "moe", "in.jsonl", "-o", "out.jsonl")[0] == 0
    code, _, err = call(*command, "--set", "training.epochs=2", "--resume")
    assert (code, err) == (0, "moe: this run is finished; nothing to do\n")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--model", "nowhere", "in.jsonl"], "no model 'nowhere' is installed"),
        (["--model", "one", "missing.jsonl"], "missing.jsonl: cannot be read: No such file or directory"),
        (["--model", "one", "--device", "nonsense", "in.jsonl"], "device nonsense: not usable here"),
        (["--model", "one", "Go home."], "one: this model does not find predicates; "),
    ],
)
def test_errors_are_one_line(call, args, message):
    code, out, err = call("label", *args)
    assert (code, out) == (1, "")
    assert err.startswith(f"spansrl: error: {message}")
    assert err.count("\n") == 1


def test_precomputed_vectors_need_a_model_over_elmo(call, tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "vectors.hdf5", "w") as file:
        for k, sent in enumerate(SENTENCES):
            file.create_dataset(str(k), data=[[[0.0, 1.0]] * len(sent)])
    code, _, err = call("label", "--model", "one", "--precomputed", "vectors.hdf5", "in.jsonl")
    assert code == 1
    assert "precomputed vectors are for models over ELMo" in err


# Text.


def test_text_is_labeled_as_in_python(label, text_model):
    (document,) = load(text_model).pipe([TEXT])
    assert Document(TEXT, tuple(label(TEXT))) == document
    assert all(prop.lemma and prop.type for prop in document.props)  # a word that frames lack has no sense
    assert all(TEXT.startswith(sent.text, sent.char_start) for sent in document)


def test_an_argument_that_names_a_file_is_that_file(label, tmp_path):
    (tmp_path / "a note").write_text(TEXT, encoding="utf-8", newline="")
    assert label("a note") == label(TEXT)
    assert label("a note", "Go home.") == label(TEXT) + label("Go home.")


def test_files_may_be_compressed_and_begin_with_a_mark(label, tmp_path):
    (tmp_path / "note.gz").write_bytes(gzip.compress(b"\xef\xbb\xbf" + TEXT.encode()))
    assert label("note.gz") == label(TEXT)


@pytest.mark.parametrize("args", [(), ("-",)])
def test_standard_input_is_read(label, stdin, args):
    expected = label(TEXT)
    stdin(TEXT.encode())
    assert label(*args) == expected


@pytest.mark.parametrize(
    ("content", "is_json"),
    [(b'{"tokens": ["Go"]}\n', True), (b' { "id" : 1}', True), (b"{so} they say", False), (b"", False)],
)
def test_json_lines_that_are_taken_for_text_are_reported(call, text_model, stdin, tmp_path, content, is_json):
    stdin(content)
    (tmp_path / "note").write_bytes(content)
    for args, name in (((), "<stdin>"), (("note",), "note")):
        code, _, err = call("label", "--model", text_model, *args)
        assert code == 0
        assert err.startswith(f"spansrl: warning: {name} looks like JSON Lines") is is_json
        assert bool(err) is is_json


def test_lines_typed_on_a_terminal_are_labeled_one_by_one(call, text_model, monkeypatch):
    lines = iter(["Go home.", "", "She left. He stayed."])

    def typed(prompt):
        try:
            return next(lines)
        except StopIteration:
            raise EOFError from None

    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", typed)
    code, out, err = call("label", "--model", text_model, "--to", "jsonl")
    assert code == 0
    assert [json.loads(line)["text"] for line in out.splitlines()] == ["Go home.", "She left.", "He stayed."]
    assert "Ctrl-D" in err


@pytest.mark.parametrize("name", ["lettres.txt", "a/b", "missing.jsonl.gz", "dir\\file"])
@pytest.mark.parametrize("options", [(), ("--from", "text"), ("--predicates", "given")])
def test_an_argument_that_looks_like_a_path_is_never_labeled_as_text(refused, name, options):
    code, line = refused(*options, "in.jsonl", name)
    assert code == 1
    assert line.startswith(f"spansrl: error: {name}: cannot be read: No such file or directory")


def test_texts_that_do_not_look_like_paths_are_labeled(label):
    for text in ("Stop!", "3.14", "Go.", "well...", "see a/b now"):
        assert label(text)


def test_words_without_quotes_are_labeled_one_by_one_with_a_warning(call, text_model):
    code, out, err = call("label", "--model", text_model, "She", "left", "home.")
    assert (code, len(out.splitlines())) == (0, 3)
    assert err == "spansrl: warning: 3 texts of one word each; if they are one text, put it in quotes\n"
    assert call("label", "--model", text_model, "Go.", "She left.")[2] == ""


@pytest.mark.parametrize("text", ["", " \n\t ", "\n\n"])
def test_nothing_comes_of_nothing(label, text):
    assert label(text) == []


def test_tokens_are_taken_as_they_are(label, tmp_path):
    lines = "The cat 's  gone\n\n Go home.\n"
    (tmp_path / "lines").write_text(lines, encoding="utf-8")
    found = label("--from", "tokens", "lines")
    assert [sent.tokens for sent in found] == [("The", "cat", "'s", "gone"), ("Go", "home.")]
    assert found == label("--from", "tokens", lines)
    assert {sent.text for sent in found} == {None}


def test_bytes_that_are_not_text_are_refused_with_their_offset(refused, tmp_path):
    (tmp_path / "bad.txt").write_bytes(b"Good text.\n\nA caf\xe9.\n")
    code, message = refused("bad.txt")
    assert (code, message.split("; ")[0]) == (
        1,
        "spansrl: error: bad.txt:3: not UTF-8: byte 0xe9 at byte 18 of the file",
    )
    assert "--encoding latin-1" in message
    assert refused("bad.txt", "--encoding", "utf-32")[0] == 1


def test_text_in_another_encoding_is_read(label, tmp_path):
    (tmp_path / "bad.txt").write_bytes(b"Good caf\xe9.\n")
    (sent,) = label("bad.txt", "--encoding", "latin-1")
    assert sent.text == "Good caf\u00e9."


def test_a_word_that_may_be_meant_as_a_file_is_labeled_with_a_warning(call, text_model):
    code, out, err = call("label", "--model", text_model, "news")
    assert (code, json.loads(out)["tokens"]) == (0, ["news"])
    assert err == "spansrl: warning: news is labeled as text; there is no file of that name\n"
    assert call("label", "--model", text_model, "Stop!")[2] == ""


def test_a_text_in_another_language_is_labeled_with_a_warning(call, text_model, tmp_path):
    german = "Der Hund hat den Briefträger gebissen und ist dann weggelaufen."
    (tmp_path / "hund.txt").write_text(german, encoding="utf-8")
    for argument in (german, "hund.txt"):
        code, out, err = call("label", "--model", text_model, argument)
        assert (code, out.count("\n")) == (0, 1)
        assert err.startswith("spansrl: warning: this text does not look like English")


def test_a_long_sentence_is_labeled_in_pieces_with_one_line_of_warning(call, text_model):
    code, out, err = call("label", "--model", text_model, "--predicates", "0", "word " * 1000)
    assert code == 0
    assert err.startswith(f"spansrl: warning: a sentence of more than {MAX_TOKENS} tokens")
    assert err.count("\n") == 1
    assert sum(len(json.loads(line)["tokens"]) for line in out.splitlines()) == 1000


def test_answers_come_before_the_input_ends(text_model):
    program = subprocess.Popen(
        [*PROGRAM, "--model", str(text_model)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    watchdog = threading.Timer(120, program.kill)
    watchdog.start()
    with program:
        program.stdin.write(b"Go home.\n\nStay")
        program.stdin.flush()
        first = program.stdout.readline()
        program.stdin.write(b" there.")
        rest, _ = program.communicate()
    watchdog.cancel()
    assert json.loads(first)["text"] == "Go home."
    assert json.loads(rest)["text"] == "Stay there."
    assert json.loads(rest)["char_start"] == 10


# Text that comes in blocks.

WORDS = st.sampled_from(
    ["Mr.", "Smith", "left.", "He", "said:", "“No!”", "e.g.", "\u00e9", "-", "(1)", "a\u0301"]
)
SPACES = st.sampled_from([" ", " ", " ", "  ", "\n", "\r\n", "\n\n", "\n \n", "\r\n\r\n", "\t", "\u2029"])
TEXTS = st.lists(st.tuples(WORDS, SPACES), max_size=60).map(lambda pairs: "".join(map("".join, pairs)))


def cut_up(text, size):
    return iter([text[k : k + size] for k in range(0, len(text), size)])


@given(TEXTS, st.integers(1, 50))
@settings(deadline=None)
def test_text_in_blocks_has_the_sentences_of_the_whole(text, size):
    assert list(text_sentences(cut_up(text, size), English())) == list(text_sentences(text, English()))


@given(TEXTS.map(lambda text: text.replace("\n", " ")), st.integers(1, 50), st.sampled_from([1, 20, 200]))
@settings(deadline=None)
def test_text_without_blank_lines_is_not_held_and_nothing_of_it_is_lost(text, size, long):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sentences, "_LONG", long)
        patch.setattr(sentences, "_UNSETTLED", long // 2)
        found = list(text_sentences(cut_up(text, size), English()))
    assert all(text.startswith(sent.text, sent.char_start) for sent in found)
    assert "".join("".join(sent.tokens) for sent in found) == "".join(text.split())


def test_an_endless_text_without_blank_lines_is_cut_into_sentences_as_it_comes():
    blocks = iter(["The cat chased a mouse. "] * 100_000)
    found = text_sentences(blocks, English())
    assert [next(found).text for _ in range(100)] == ["The cat chased a mouse."] * 100
    assert sum(1 for _ in blocks) > 90_000


@pytest.mark.parametrize("text", [" " * 100_000, "x" * 100_000, "\n" * 100_000])
def test_texts_without_sentences_to_cut_between_come_to_an_end(text):
    found = list(text_sentences(cut_up(text, 5000), English()))
    assert "".join("".join(sent.tokens) for sent in found) == text.strip()


# Predicates.


def test_types_of_predicates_are_chosen_by_their_names(label):
    everything = label(TEXT)
    verbs = label("--predicates", "verbs", TEXT)
    others = label("--predicates", "noun, ADJECTIVES,auxiliaries", TEXT)
    assert label("--predicates", "all", TEXT) == everything
    assert {prop.type for sent in verbs for prop in sent.props} <= {"verb"}
    assert sum(len(sent.props) for sent in verbs + others) == sum(len(sent.props) for sent in everything)


def test_predicates_are_given_by_their_indices(label):
    (sent,) = label("--predicates", "3,1", "She said he left.")
    assert [prop.pred for prop in sent.props] == [1, 3]


def test_of_given_predicates_only_the_indices_are_taken(label, tmp_path):
    sent = {
        "tokens": ["They", "left"],
        "props": [{"pred": 1, "sense": "no.99", "args": [{"role": "X", "start": 0, "end": 1}]}],
    }
    (tmp_path / "given.jsonl").write_text(json.dumps(sent), encoding="utf-8")
    (found,) = label("--predicates", "given", "given.jsonl")
    assert [prop.pred for prop in found.props] == [1]
    assert found.props[0].sense != "no.99"
    assert "X" not in {arg.role for arg in found.props[0].args}
    assert [prop.pred for prop in label("given.jsonl")[0].props] == [0, 1]


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["--predicates", "verbs,names", "Go."], 2, "unknown predicate type 'names'"),
        (["--predicates", "given", "Go."], 2, "text input has no predicates"),
        (["--predicates", "", "Go."], 2, "unknown predicate type ''"),
        (["--predicates", "nouns,1", "Go."], 2, "types and token indices cannot be mixed"),
        (["--predicates", "given,verbs", "Go."], 2, "'given' cannot be combined with others"),
        (["--predicates", "1,all", "Go."], 2, "'all' cannot be combined with others"),
        (["--min-prob", "1.5", "Go."], 2, "1.5 is not in the range"),
        (["--no-frames", "--rule-out-roles", "Go."], 2, "contradict each other"),
        (["--to", "parquet", "Go."], 2, "name a file with -o"),
        (["--predicates", "5", "Go."], 1, "no token 5 in the sentence 'Go .', which has 2; count from 0"),
        (["--from", "jsonl", "Go."], 1, "Go.: cannot be read: No such file or directory"),
        (["missing.jsonl"], 1, "missing.jsonl: cannot be read: No such file or directory"),
        (["."], 1, ".: cannot be read: Is a directory"),
        (["--to", "svg", "Go. Stay."], 1, "an SVG image shows one sentence, but the input has more"),
        (["-o", "out.xyz", "Go."], 1, "out.xyz: the name has no known extension; name the format with --to"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(refused, args, code, message):
    found, line = refused(*args)
    assert found == code
    assert message in line


def test_a_model_that_does_not_find_predicates_requires_them_in_the_input(call):
    for args in (["--predicates", "verbs", "in.jsonl"], ["--from", "text", "Go home."], ["Go home."]):
        code, out, err = call("label", "--model", "one", *args)
        assert (code, out) == (1, "")
        assert "this model does not find predicates; " in err
    for args in (["--from", "text"], []):
        code, out, _ = call("label", "--model", "one", *args, "--predicates", "0", "Go home.")
        assert code == 0
        assert [prop["pred"] for prop in json.loads(out)["props"]] == [0]


def test_a_missing_file_is_reported_before_another_is_labeled(refused):
    code, line = refused("in.jsonl", "missing.jsonl")
    assert code == 1
    assert line.startswith("spansrl: error: missing.jsonl: cannot be read: No such file or directory")


def test_data_that_is_read_as_text_gets_a_warning(call, text_model, tmp_path):
    (tmp_path / "tree.xml").write_text("Go home.")
    code, _, err = call("label", "--model", text_model, "tree.xml")
    assert code == 0
    assert err.startswith("spansrl: warning: tree.xml is labeled as plain text")
    assert call("label", "--model", text_model, "--from", "text", "tree.xml")[2] == ""


def test_a_drawing_without_standard_output_is_one_line(text_model):
    done = subprocess.run(
        ["sh", "-c", '"$@" >&-', "sh", *PROGRAM, "--model", text_model, "--to", "pretty", "Go."],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("spansrl: error: ")
    assert done.stderr.count("\n") == 1


def test_the_decoders_have_the_same_names_everywhere():
    (option,) = [param for param in label_command.params if param.name == "decoder"]
    assert set(option.type.choices) == set(DECODERS)
    for decoder in DECODERS:
        assert make_config(output={"decoder": decoder}).output.decoder == decoder


def test_a_mixture_does_not_learn_from_partial_sentences(call):
    command = ["ensemble", "mixture", "one", "--data", "data", "--out", "moe"]
    code, _, err = call(*command, "--set", "training.partial=more.jsonl")
    assert code == 1
    assert err.startswith("spansrl: error: training.partial is for `spansrl train`; ")


# Output.


def test_a_pipe_gets_json_lines_and_a_terminal_a_drawing(call, text_model, monkeypatch):
    args = ("label", "--model", text_model, "--predicates", "1", "She left.")
    assert call(*args)[1].startswith('{"tokens": ["She", "left", "."], ')
    drawing = call(*args, "--to", "pretty")[1]
    assert drawing.splitlines()[0] == "She left."
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert call(*args)[1] == drawing


def test_a_terminal_has_colors_unless_no_color_is_set(call, text_model, monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    args = ("label", "--model", text_model, "--predicates", "1", "--to", "pretty", "She left.")
    assert "\x1b[" not in call(*args)[1]
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert "\x1b[1mleft\x1b[0m" in call(*args)[1]


def test_a_drawing_lists_the_meanings_of_roles_when_frames_are_registered(call, text_model, tmp_path):
    args = ("label", "--model", text_model, "--predicates", "1", "She left the house.")
    before = call(*args, "--to", "pretty", "--no-frames")[1]
    sense = json.loads(call(*args, "--no-frames")[1])["props"][0]["sense"]
    roles = "".join(f'<role n="{number}" descr="part {number}"/>' for number in range(6))
    (tmp_path / "one.xml").write_text(f'<frameset><roleset id="{sense}">{roles}</roleset></frameset>')
    assert call("frames", ".")[0] == 0
    assert call(*args, "--to", "pretty", "--no-frames")[1] == before
    (prop,) = json.loads(call(*args)[1])["props"]
    drawn = call(*args, "--to", "pretty")[1]
    assert all(f"{arg['role'].removeprefix('R-')} {arg['meaning']}" in drawn for arg in prop["args"])


def rows_of(text_model, text):
    """The rows of Python, without auxiliaries that have no arguments."""
    return [row for row in load(text_model)(text).rows() if row["role"] or row["type"] != "auxiliary"]


@pytest.mark.parametrize(("name", "dialect"), [("out.tsv", "excel-tab"), ("out.csv", "excel")])
def test_a_table_has_the_rows_of_python(call, text_model, name, dialect):
    assert call("label", "--model", text_model, TEXT, "-o", name) == (0, "", "")
    with open(name, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, dialect=dialect))
    assert rows == [
        {key: "" if value is None else " ".join(str(value).split()) for key, value in row.items()}
        for row in rows_of(text_model, TEXT)
    ]
    assert call("label", "--model", text_model, "--to", "tsv", "")[1].startswith("id\tsentence\t")


def test_parquet_has_the_rows_of_python(call, text_model):
    parquet = pytest.importorskip("pyarrow.parquet")
    assert call("label", "--model", text_model, TEXT, "-o", "out.parquet") == (0, "", "")
    assert parquet.read_table("out.parquet").to_pylist() == rows_of(text_model, TEXT)
    assert call("label", "--model", text_model, "", "-o", "empty.parquet") == (0, "", "")
    assert parquet.read_table("empty.parquet").num_rows == 0


def test_parquet_needs_the_extra(call, text_model, monkeypatch):
    monkeypatch.delitem(sys.modules, "spansrl.jobs.parquet", raising=False)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    code, _, err = call("label", "--model", text_model, TEXT, "-o", "out.parquet")
    assert code == 1
    assert "pip install 'spansrl[corpus]'" in err


@pytest.mark.parametrize("text", [TEXT, "Go.", ""])
def test_json_is_one_array_of_the_sentences(call, label, text_model, text, tmp_path):
    assert call("label", "--model", text_model, text, "-o", "out.json") == (0, "", "")
    found = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert [Sentence.from_dict(item) for item in found] == label(text)


def test_auxiliaries_without_arguments_are_in_json_and_not_in_drawings(tmp_path):
    auxiliary, verb = Proposition(1, type="auxiliary"), Proposition(2, type="verb")
    sent = Sentence(("She", "has", "left"), (auxiliary, verb))

    def written(name, auxiliaries):
        format = label_output.format_to_write(name)
        label_output.write_labeled(str(tmp_path / name), [sent], format, None, auxiliaries=auxiliaries)
        return (tmp_path / name).read_text(encoding="utf-8")

    assert written("a.tsv", False).count("\n") == 2
    assert written("a.tsv", True).count("\n") == 3
    assert len(json.loads(written("a.json", False))[0]["props"]) == 2
    assert len(written("a.txt", False)) < len(written("a.txt", True))


def test_improbable_arguments_are_dropped(label):
    def probabilities(*options):
        props = [prop for sent in label(*options, TEXT) for prop in sent.props]
        return sorted(arg.prob for prop in props for arg in prop.args)

    everything = probabilities("--min-prob", "0")
    limit = everything[len(everything) // 2]
    assert probabilities("--min-prob", str(limit)) == [prob for prob in everything if prob >= limit]


def test_pictures_are_written_to_files_by_their_names(call, text_model, tmp_path):
    assert call("label", "--model", text_model, TEXT, "-o", "out.html") == (0, "", "")
    page = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert page.endswith("</body>\n</html>\n")
    assert page.count('<div class="srl"') == 3
    assert call("label", "--model", text_model, "Go home.", "-o", "out.svg") == (0, "", "")
    assert (tmp_path / "out.svg").read_text(encoding="utf-8").startswith("<svg ")


def test_an_error_leaves_no_file_behind(refused, tmp_path):
    (tmp_path / "bad.txt").write_bytes(b"Good text.\n\n" + b"\xff")
    before = sorted(tmp_path.iterdir())
    for out in ("out.html", "out.jsonl", "out.props"):
        assert refused("bad.txt", "-o", out)[0] == 1
    assert sorted(tmp_path.iterdir()) == before


def test_the_exact_decoder_can_be_chosen(label):
    assert len(label("--decoder", "exact", "--no-frames", TEXT)) == 3


def test_a_bar_shows_how_much_of_a_file_is_read(call, text_model, monkeypatch, tmp_path):
    (tmp_path / "note.txt").write_text(TEXT * 50, encoding="utf-8")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr("spansrl.cli.progress._PATIENCE", 0.0)
    code, out, err = call("label", "--model", text_model, "note.txt", "-o", "out.jsonl")
    assert (code, out) == (0, "")
    assert "reading note.txt" in err


def test_rows_of_several_files_have_their_names_and_numbers_of_their_own(call, text_model, tmp_path):
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(TEXT, encoding="utf-8")
    files = [str(tmp_path / name) for name in ("a.txt", "b.txt")]
    assert call("label", "--model", text_model, *files, "-o", str(tmp_path / "x.csv"))[0] == 0
    with (tmp_path / "x.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert list(rows[0]) == list(ROW_COLUMNS)
    own = [[row for row in rows if row["id"] == name] for name in files]
    assert [row["sentence"] for row in own[0]] == [row["sentence"] for row in own[1]]
    assert all(TEXT[int(row["sentence_start"]) :].startswith(row["sentence_text"][:3]) for row in rows)
    assert len(rows) == len(own[0]) + len(own[1]) > 0
