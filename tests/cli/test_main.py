"""What all commands share: exit codes, one-line errors, Ctrl-C, a reader that goes away."""

from __future__ import annotations

import importlib
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest

import spansrl
from spansrl import cli
from spansrl.errors import DataError, FormatError

PROGRAM = [sys.executable, "-m", "spansrl"]
SENTENCE = b'{"tokens": ["He", "came"], "props": [{"pred": 1, "args": []}]}\n'


@pytest.fixture
def run(monkeypatch, capsys):
    """The program in this process: arguments in; exit code, standard output and standard error out."""

    def run(*args):
        monkeypatch.setattr(sys, "argv", ["spansrl", *args])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        return caught.value.code, *capsys.readouterr()

    return run


@pytest.fixture
def raising(monkeypatch):
    """Makes `spansrl convert` raise something."""

    def replace(error):
        @click.command()
        def command():
            raise error

        monkeypatch.setattr("spansrl.cli.convert.command", command)

    importlib.import_module("spansrl.cli.convert")
    return replace


def test_the_version_is_that_of_the_package(run):
    assert run("--version") == (0, f"spansrl, version {spansrl.__version__}\n", "")


def test_help_lists_every_command_with_its_line(run):
    code, out, err = run("--help")
    assert (code, err) == (0, "")
    for name, line in cli.COMMANDS.items():
        assert f"  {name:9} {line}\n" in out


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_can_be_loaded(run, name):
    code, out, _ = run(name, "--help")
    assert code == 0
    assert out.startswith(f"Usage: spansrl {name} ")


def test_a_command_that_does_not_exist_is_wrong_usage(run):
    code, out, err = run("lable")
    assert (code, out) == (2, "")
    assert "No such command 'lable'. Did you mean 'label'?" in err
    assert "spansrl --help" in run("xyz")[2]


def test_an_option_that_does_not_exist_is_wrong_usage(run):
    code, out, err = run("convert", "--form", "bio", "a", "b")
    assert (code, out) == (2, "")
    assert "No such option" in err


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (DataError("no spans here; add some"), "spansrl: error: no spans here; add some\n"),
        (FormatError("odd", path="a.props", line=3), "spansrl: error: a.props:3: odd\n"),
    ],
    ids=["without a place", "with a place"],
)
def test_an_error_in_the_input_is_one_line_and_exit_code_1(run, raising, error, line):
    raising(error)
    assert run("convert") == (1, "", line)


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (PermissionError(13, "Permission denied", "a.b"), "spansrl: error: a.b: Permission denied\n"),
        (OSError(28, "No space left"), "spansrl: error: cannot read or write: No space left\n"),
    ],
    ids=["with a file", "without a file"],
)
def test_an_error_of_the_system_is_one_line_and_exit_code_1(run, raising, error, line):
    raising(error)
    assert run("convert") == (1, "", line)


@pytest.mark.parametrize("error", [RuntimeError("a mistake of ours"), EOFError("not the user's doing")])
def test_other_errors_stay_visible(run, raising, error):
    raising(error)
    with pytest.raises((RuntimeError, click.Abort)) as caught:
        run("convert")
    assert error in (caught.value, caught.value.__cause__)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_end_the_program_quietly_and_remove_temporary_files(tmp_path, number, code):
    target = tmp_path / "out.jsonl"
    # A process that was started in the background ignores Ctrl-C; this one must not, whoever runs the tests.
    start = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); import spansrl.__main__"
    program = subprocess.Popen(
        [sys.executable, "-c", start, "convert", "--from", "jsonl", "-", str(target)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert program.stdin is not None
    program.stdin.write(SENTENCE)
    program.stdin.flush()
    while not any(tmp_path.iterdir()):  # the output's temporary file: by now it reads and waits
        assert program.poll() is None
    program.send_signal(number)
    out, err = program.communicate(timeout=30)
    assert (program.returncode, out, err.strip()) == (code, b"", b"")
    assert not any(tmp_path.iterdir())


def test_a_closed_pipe_ends_the_program_quietly(tmp_path):
    source = tmp_path / "long.jsonl"
    source.write_bytes(SENTENCE * 20_000)  # more than a pipe holds
    program = subprocess.Popen(
        [*PROGRAM, "convert", str(source), "-"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert program.stdout is not None
    assert program.stderr is not None
    assert program.stdout.readline().startswith(b'{"tokens": ["He", "came"]')
    program.stdout.close()
    assert program.stderr.read() == b""
    assert program.wait(timeout=30) == 1
    program.stderr.close()


SHELL_CASES = {
    "full: help": ("--help > /dev/full", "cannot read or write: No space left on device"),
    "full: evaluate": (
        "evaluate a.jsonl a.jsonl > /dev/full",
        "<stdout>: cannot be written: No space left on device",
    ),
    "full: convert": (
        "convert a.jsonl - > /dev/full",
        "<stdout>: cannot be written: No space left on device",
    ),
    "closed: evaluate": ("evaluate a.jsonl a.jsonl >&-", "<stdout>: cannot be written: it is closed"),
    "closed: convert": ("convert a.jsonl - >&-", "<stdout>: cannot be written: it is closed"),
    "closed: input": ("convert - - <&-", "<stdin>: cannot be read: it is closed; give a file or a pipe"),
}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("case", SHELL_CASES)
def test_a_stream_that_is_full_or_closed_is_one_line_and_exit_code_1(tmp_path, case):
    arguments, message = SHELL_CASES[case]
    (tmp_path / "a.jsonl").write_bytes(SENTENCE)
    command = f"{shlex.join(PROGRAM)} {arguments}"
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"spansrl: error: {message}\n")


def test_the_program_leaves_no_signal_handler_behind(run):
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        run("--version")
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGTERM, before)
