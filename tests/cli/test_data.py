import json
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

DATA = Path(__file__).resolve().parents[1] / "data"
EWT_TABLE = """\
ewt           train  dev  test  all
documents         2    1     1    4
sentences         4    2     2    8
tokens           20    9     7   36
propositions      6    2     1    9
  verb            4    2     1    7
  noun            1    0     0    1
  adjective       0    0     0    0
  auxiliary       1    0     0    1
  other           0    0     0    0
arguments        10    3     2   15

Dropped:
  1 × document: not in any split list
  1 × proposition: two of its spans share a word
  1 × sentence: no words in Universal Dependencies
  1 × proposition: its sentence has no words
  1 × document: in a split list, but not annotated in PropBank

Aligned:
  2 × sentence: tokens were split differently, aligned by tags
  1 × proposition: a span was widened to a whole word
  1 × sentence: sentences were split differently, aligned by tags

Groups of identical sentences in more than one split: 2

Written to out: train.jsonl, dev.jsonl, test.jsonl, audit.json
"""
MASC_TABLE = """\
masc          train  dev  test  all
documents         2    1     1    4
sentences         6    2     2   10
tokens           41    8     8   57
propositions      7    2     2   11
  verb            7    2     2   11
  noun            0    0     0    0
  adjective       0    0     0    0
  auxiliary       0    0     0    0
  other           0    0     0    0
arguments        15    4     2   21

Dropped:
  1 × document: not in the split table
  1 × sentence: a row has no word
  3 × proposition: its sentence was dropped
  1 × sentence: too few tags agree
  1 × sentence: a word has no row
  1 × sentence: damaged in PropBank's release

Aligned:
  1 × sentence: punctuation missing from the words was restored
  1 × sentence: punctuation missing from the skeleton was left out

Checked: the predicate's word fits its lemma, 11 of 11 (100.00%)

Groups of identical sentences in more than one split: 1

Written to out: train.jsonl, dev.jsonl, test.jsonl, audit.json
"""
CONLL05_TABLE = """\
conll05       train  dev  test.wsj  test.brown  all
sentences         3    1         1           1    6
tokens           15    3         3           3   24
propositions      4    1         0           1    6
  verb            4    1         0           1    6
  noun            0    0         0           0    0
  adjective       0    0         0           0    0
  auxiliary       0    0         0           0    0
  other           0    0         0           0    0
arguments         7    1         0           1    9

Dropped: nothing

Aligned: nothing

Groups of identical sentences in more than one split: 1

Written to out: train.jsonl, dev.jsonl, test.wsj.jsonl, test.brown.jsonl, audit.json
"""
CONLL12_TABLE = """\
conll12       train  dev  test  all
documents         2    1     1    4
sentences         3    1     1    5
tokens            8    2     3   13
propositions      2    0     1    3
  verb            2    0     1    3
  noun            0    0     0    0
  adjective       0    0     0    0
  auxiliary       0    0     0    0
  other           0    0     0    0
arguments         2    0     1    3

Dropped:
  1 × document: not English

Aligned: nothing

Groups of identical sentences in more than one split: 2

Written to out: train.jsonl, dev.jsonl, test.jsonl, audit.json
"""


@pytest.fixture
def work(tmp_path):
    for name in ("ewt", "masc", "conll05", "conll12"):
        shutil.copytree(DATA / name, tmp_path / name)
    return tmp_path


def data(*args, cwd):
    """Exit code, standard output, standard error."""
    command = [sys.executable, "-m", "spansrl", "data", *args]
    done = subprocess.run(command, capture_output=True, cwd=cwd, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def ewt(work, propbank="ewt/propbank-release", ud="ewt/UD_English-EWT"):
    return data("ewt", "--propbank", propbank, "--ud", ud, "--out", "out", cwd=work)


def test_ewt_prints_its_table_and_writes_its_files(work):
    assert ewt(work) == (0, EWT_TABLE, "")
    assert sorted(path.name for path in (work / "out").iterdir()) == [
        "audit.json",
        "dev.jsonl",
        "test.jsonl",
        "train.jsonl",
    ]
    assert json.loads((work / "out/audit.json").read_text())["splits"]["train"]["propositions"] == 6


def masc(work, *more, split="masc/split.tsv"):
    sources = ("--propbank", "masc/propbank-release", "--tagged", "masc/masc_tagged", "--split", split)
    return data("masc", *sources, *more, "--out", "out", cwd=work)


def test_masc_prints_its_table_with_the_check_of_lemmas(work):
    assert masc(work) == (0, MASC_TABLE, "")


def test_masc_leaves_held_out_sentences_out_of_train(work):
    (work / "test.jsonl").write_text('{"tokens": ["They", "painted", "their", "barn", "."]}\n')
    code, out, error = masc(work, "--unlike", "test.jsonl")
    assert (code, error) == (0, "")
    assert "  1 × sentence: like a sentence in an --unlike file\n" in out


def test_masc_without_a_split_table_is_one_line_and_exit_code_1(work):
    code, out, error = masc(work, split="missing.tsv")
    assert (code, out) == (1, "")
    assert error.startswith("spansrl: error: missing.tsv: cannot be read: ")
    assert not (work / "out").exists()


def test_conll05_prints_its_table(work):
    assert data("conll05", "conll05/merged", "--out", "out", cwd=work) == (0, CONLL05_TABLE, "")


FRAME = """<frameset><predicate><roleset id="chase.01">
<aliases><alias pos="v">chase</alias></aliases>
<example><text>Cats chase mice</text><propbank><rel relloc="1"/>
<arg type="ARG0" start="0" end="0"/><arg type="ARG1" start="2" end="2"/></propbank></example>
<example><text>It rained</text><propbank><rel relloc="1"/></propbank></example>
</roleset></predicate></frameset>"""
EXAMPLES_TABLE = """\
examples      train  all
sentences         1    1
tokens            3    3
propositions      1    1
  verb            1    1
  noun            0    0
  adjective       0    0
  auxiliary       0    0
  other           0    0
arguments         2    2

Dropped:
  1 × example: like a sentence in an --unlike file

Aligned: nothing

Groups of identical sentences in more than one split: 0

Written to out: train.jsonl, audit.json
"""


def test_examples_of_frames_are_a_corpus_without_held_out_sentences(work):
    (work / "frames").mkdir()
    (work / "frames/chase.xml").write_text(FRAME)
    (work / "test.jsonl").write_text('{"tokens": ["It", "rained"]}\n')
    given = ("examples", "--frames", "frames", "--unlike", "test.jsonl", "--out", "out")
    assert data(*given, cwd=work) == (0, EXAMPLES_TABLE, "")
    assert data("examples", "--frames", "conll12", "--out", "none", cwd=work) == (
        1,
        "",
        "spansrl: error: conll12: no frame files; expected PropBank's frames, with frames/NAME.xml\n",
    )
    assert not (work / "none").exists()


def test_written_sentences_are_checked_against_the_frames(work):
    lines = "go.01\t[ARG1 He] [V went] home", "go.01\t[ARG3 He] [V went]", "go.01\t[ARG1 He [V went]"
    (work / "a.tsv").write_text("\n".join(lines) + "\n")
    code, out, error = data("written", "a.tsv", "--out", "out", cwd=work)
    assert (code, error) == (0, "")
    assert "1 × sentence: its brackets are not [ROLE words]" in out
    assert len((work / "out/train.jsonl").read_text().splitlines()) == 2
    assert data("written", "b.tsv", "--out", "none", cwd=work)[0] == 1


@pytest.mark.parametrize("out", ["c5[red]g", "q[/b]c", "a:smile:b"])
def test_a_directory_whose_name_looks_like_markup_is_named_as_it_is(work, out):
    code, shown, error = data("conll05", "conll05/merged", "--out", out, cwd=work)
    assert (code, error) == (0, "")
    assert f"\nWritten to {out}: train.jsonl" in shown


def test_conll05_takes_trees(work):
    for path in (work / "conll05/layers").rglob("*.words"):
        path.unlink()
    code, out, error = data("conll05", "conll05/layers", "--trees", "conll05/trees", "--out", "out", cwd=work)
    assert (code, error) == (0, "")
    assert "documents         3    1         1           1    6\n" in out


def test_conll12_prints_its_table(work):
    assert data("conll12", "conll12", "--out", "out", cwd=work) == (0, CONLL12_TABLE, "")


def test_conll12_takes_lists(work):
    (work / "train.txt").write_text("bc/home/00/home_0001\n")
    code, out, _ = data("conll12", "conll12", "--train-list", "train.txt", "--out", "out", cwd=work)
    assert (code, out.partition("\n")[0]) == (0, "conll12       train  all")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"propbank": "missing"},
            "missing: no such file or directory",
        ),
        (
            {"propbank": "conll12"},
            "conll12: no skeletons of EWT; expected the PropBank release, "
            "with data/google/ewt/GENRE/NN/NAME.xml.gold_skel in it",
        ),
        (
            {"ud": "conll12"},
            "conll12: no documents; expected UD_English-EWT, "
            "with not-to-release/sources/GENRE/NAME.xml.conllu in it",
        ),
    ],
)
def test_a_source_that_cannot_be_used_is_one_line_and_exit_code_1(work, change, message):
    assert ewt(work, **change) == (1, "", f"spansrl: error: {message}\n")
    assert not (work / "out").exists()


def test_being_offline_is_one_line_and_exit_code_1(work):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/ud.tar.gz"
        code, out, error = ewt(work, ud=url)
    assert (code, out, error.count("\n")) == (1, "", 1)
    assert error.startswith(f"spansrl: error: {url}: cannot be downloaded (")
    assert error.endswith("; try again, or use a local copy with --ud\n")
    assert not (work / "out").exists()


def test_a_missing_split_list_is_one_line_and_exit_code_1(work):
    (work / "ewt/propbank-release/docs/evaluation/ewt.dev.txt").unlink()
    message = "the split list docs/evaluation/ewt.dev.txt is missing; download it again"
    assert ewt(work) == (1, "", f"spansrl: error: ewt/propbank-release: {message}\n")
    assert not (work / "out").exists()


def test_an_archive_cut_short_is_one_line_and_exit_code_1(work):
    shutil.make_archive(str(work / "ud"), "xztar", work / "ewt", "UD_English-EWT")
    archive = work / "ud.tar.xz"
    archive.write_bytes(archive.read_bytes()[:-40])
    code, out, error = ewt(work, ud="ud.tar.xz")
    assert (code, out, error.count("\n")) == (1, "", 1)
    assert error.startswith("spansrl: error: ud.tar.xz: not an archive, or damaged or truncated (")
    assert not (work / "out").exists()


def test_bytes_that_are_not_utf8_are_one_line_and_exit_code_1(work):
    place = "ewt/UD_English-EWT/not-to-release/sources/email/mail01.xml.conllu"
    (work / place).write_bytes(b"# text = na\xefve\n")
    code, out, error = ewt(work)
    assert (code, out, error.count("\n")) == (1, "", 1)
    assert f"{place}:1: not UTF-8: byte 0xef at byte 12" in error
    assert not (work / "out").exists()


@pytest.mark.parametrize("name", ["ewt", "masc", "conll05", "conll12", "written"])
def test_help_teaches_with_examples(name, tmp_path):
    code, out, error = data(name, "--help", cwd=tmp_path)
    assert (code, error) == (0, "")
    assert "Examples" in out
    assert f"  spansrl data {name} " in out
