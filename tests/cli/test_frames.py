from __future__ import annotations

import pytest
from click.testing import CliRunner

from spansrl.cli import cli
from spansrl.errors import DataError

KEEP = """\
<frameset><predicate lemma="hoard">
<roleset id="hoard.01" name="keep too much">
<aliases><alias pos="v">hoard</alias><alias pos="n">hoarding</alias></aliases>
<roles><role n="0" descr="Keeper" f="PAG"/><role n="1" descr="thing kept" f="PPT"/></roles>
</roleset>
</predicate></frameset>
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("SPANSRL_HOME", str(tmp_path / "home"))
    (tmp_path / "frames").mkdir()
    (tmp_path / "frames" / "hoard.xml").write_text(KEEP)
    monkeypatch.chdir(tmp_path)
    return lambda *args: CliRunner().invoke(cli, ["frames", *args])


def test_the_frames_in_the_package_are_used_until_others_are_installed(run):
    result = run()
    assert result.exit_code == 0
    assert "propbank-frames (commit c66e0cc)" in result.output
    assert "stored in the package" in result.output
    assert run("--show", "keep.01").stdout.startswith("keep.01  ")


def test_a_directory_is_registered_shown_and_removed(run, tmp_path):
    told = (
        "1 roleset from 1 file, 0 broken\n"
        f"source  {tmp_path / 'frames'}\n"
        f"stored in {tmp_path / 'home' / 'frames.jsonl'}\n"
    )
    assert run("frames").stdout == told
    assert run().stdout == told
    assert run("--show", "hoard.01").stdout == (
        "hoard.01  keep too much\n"
        "  ARG0  keeper  [PAG]\n"
        "  ARG1  thing kept  [PPT]\n"
        "  words: hoard (verb), hoarding (noun)\n"
    )
    assert run("--remove").stdout == "Removed.\n"
    assert run("--remove").stdout == "No frames are installed.\n"


def test_broken_files_are_reported_on_standard_error(run, tmp_path):
    for k in range(12):
        (tmp_path / "frames" / f"bad{k:02}.xml").write_text("<frameset>\n")
    result = run("frames")
    assert result.exit_code == 0
    assert result.stdout.startswith("1 roleset from 13 files, 12 broken\n")
    lines = result.stderr.splitlines()
    assert len(lines) == 11
    assert lines[0] == (
        "spansrl: warning: frames/bad00.xml:2: invalid XML (no element found); "
        "nothing of it is kept: correct the file, or get the frames again"
    )
    assert lines[-1] == ("spansrl: warning: 2 more broken files; their readable rolesets are kept")


def test_a_sense_that_is_not_there_is_an_error_that_names_others(run):
    run("frames")
    error = run("--show", "hoard.07").exception
    assert isinstance(error, DataError)
    assert str(error) == "the frames have no sense or word 'hoard.07'; try hoard.01"
    assert str(run("--show", "zzz.01").exception).endswith(
        "no sense or word 'zzz.01'; senses look like keep.01, words like keep"
    )


@pytest.mark.parametrize(
    "args",
    [
        ["frames", "--download"],
        ["--show", "a.01", "--remove"],
        ["frames", "--show", "a.01"],
        [""],
        ["--examples", "frames"],
    ],
)
def test_things_that_do_not_go_together_are_wrong_usage(run, args):
    assert run(*args).exit_code == 2


def test_a_word_in_any_form_shows_all_of_its_senses_with_links_and_original_texts(run):
    sold = run("--show", "sold").stdout
    assert sold == run("--show", "sell").stdout
    assert [line.split()[0] for line in sold.splitlines() if line[:1].strip()] == [
        *("sell.01", "sell_out.02", "sell_out.03", "sell_off.04")
    ]
    assert "  ARG2  buyer  [recipient, GOL]\n" in sold
    assert "  VerbNet: give-13.1-1\n  FrameNet: Commerce_sell\n" in sold
    assert run("--show", "die.01").stdout.startswith("die.01  sterben\n")


def test_examples_come_from_frames_that_are_named(run, tmp_path):
    example = "<example><text>They hoard  gold .</text></example></roleset>"
    (tmp_path / "frames" / "hoard.xml").write_text(KEEP.replace("</roleset>", example))
    run("frames")
    shown = run("--show", "hoarded", "--examples", "frames").stdout
    assert shown.endswith("  words: hoard (verb), hoarding (noun)\n  example: They hoard gold .\n")
    assert "example:" not in run("--show", "hoard.01").stdout
