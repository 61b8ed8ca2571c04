from spansrl.errors import DataError, FormatError, MissingExtraError, counted, shortened


def test_messages_stay_short_whatever_input_they_repeat():
    assert len(str(DataError("x" * 10**6))) < 2000
    error = FormatError("y" * 10**6, path="a.txt", line=3)
    assert str(error).startswith("a.txt:3: yyy")
    assert len(str(error)) < 2000
    assert (error.path, error.line) == ("a.txt", 3)


def test_shortened_keeps_both_ends():
    assert shortened("short") == "short"
    text = shortened("a" + "-" * 1000 + "b", 100)
    assert len(text) <= 110
    assert text[0] + text[-1] == "ab"


def test_a_missing_extra_names_the_command_that_installs_it():
    assert str(MissingExtraError("serving", "serve")).endswith("pip install 'spansrl[serve]'")


def test_counted_agrees_in_number():
    assert [counted(n, "token") for n in (0, 1, 2, 1000)] == [
        "0 tokens",
        "1 token",
        "2 tokens",
        "1,000 tokens",
    ]


def test_messages_can_be_encoded_whatever_they_quote():
    assert str(DataError("duplicate key '\ud800'")) == r"duplicate key '\ud800'"
