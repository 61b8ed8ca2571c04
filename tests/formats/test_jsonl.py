import copy
import json

import jsonschema
import pytest
from hypothesis import given, settings
from strategies import any_sentences

from spansrl.errors import DataError, FormatError
from spansrl.formats import sentence_schema
from spansrl.formats.jsonl import jsonl_lines, read_jsonl
from spansrl.formats.text_files import Line
from spansrl.structures import Argument, Proposition, Sentence, Span

SCHEMA = sentence_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
FULL = {
    "id": "s",
    "tokens": ["a", "b"],
    "pos": ["X", "Y"],
    "lemmas": ["a", "b"],
    "text": "a b",
    "offsets": [[0, 1], [2, 3]],
    "props": [
        {
            "pred": 1,
            "lemma": "b",
            "sense": "b.01",
            "v": [[1, 2]],
            "args": [{"role": "A0", "start": 0, "end": 1, "prob": 0.5}],
        }
    ],
}


def read(text):
    lines = [Line(number, line) for number, line in enumerate(text.split("\n"), start=1)]
    return list(read_jsonl(lines, "some.jsonl"))


def error_of(text):
    with pytest.raises(FormatError) as caught:
        read(text)
    return str(caught.value)


@given(any_sentences())
def test_any_sentence_comes_back_from_its_line_of_utf8(sent):
    (line,) = jsonl_lines([sent])
    assert "\n" not in line
    assert read(line.encode("utf-8").decode("utf-8")) == [sent]


def test_unknown_keys_are_kept_at_every_level():
    data = copy.deepcopy(FULL)
    data["x"] = data["props"][0]["y"] = data["props"][0]["args"][0]["z"] = {"deep": [1, None]}
    (line,) = jsonl_lines(read(json.dumps(data)))
    assert json.loads(line) == data


def test_text_stays_readable_and_half_a_surrogate_pair_becomes_an_escape():
    assert list(jsonl_lines([Sentence(("né",)), Sentence(("\ud800",))])) == [
        '{"tokens": ["né"], "props": []}',
        '{"tokens": ["\\ud800"], "props": []}',
    ]


def test_blank_lines_are_skipped_and_lines_still_counted():
    assert error_of('\n{"tokens": []}\n \n[]') == (
        "some.jsonl:4: expected a JSON object for a sentence, found a list ([])"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "invalid JSON at character 2: Expecting property name enclosed in double quotes"),
        ('{"tokens": ["a"]', "invalid JSON at character 17: Expecting ',' delimiter"),
        ('{"tokens": []} {}', "invalid JSON at character 16: Extra data"),
        ('"a"', "expected a JSON object for a sentence, found a string ('a')"),
        ('{"tokens": [], "tokens": []}', "duplicate key 'tokens' in one object"),
        ('{"tokens": [], "x": NaN}', "NaN is not a JSON number"),
        ('{"tokens": [], "x": -Infinity}', "-Infinity is not a JSON number"),
        ('{"tokens": [], "x": 1e999}', "the number 1e999 is too large"),
        (
            '{"tokens": ["a"], "props": [{"pred": 1}]}',
            "'props[0].pred' is 1, outside the sentence of 1 token; count from 0",
        ),
        (
            '{"tokens": ["a"], "props": [{"pred": 0, "args": [{"role": "A0", "start": 0, "end": 2}]}]}',
            "'props[0].args[0]' covers tokens 0 to 2, which is not a span of a sentence of 1 token; "
            "'end' is the token after the last, counted from 0",
        ),
        (
            '{"tokens": ["a"], "props": [{"pred": 0, "args": [{"role": " ", "start": 0, "end": 1}]}]}',
            "'props[0].args[0].role' must be a non-empty string, found a string (' ')",
        ),
        (
            '{"tokens": ["a"], "props": [{"pred": 0, "args": [{"role": "V", "start": 0, "end": 1}]}]}',
            "'props[0].args[0].role' is 'V', which is not an argument role; give the verb's spans in 'v'",
        ),
        ('{"tokens": [], "x": ' + "[" * 100_000 + "]" * 100_000 + "}", "JSON nested too deeply"),
        ('{"tokens": [], "x": ' + "1" * 5000 + "}", "invalid JSON: Exceeds the limit (4300 digits)"),
    ],
)
def test_a_wrong_line_is_refused_with_its_number(text, message):
    assert error_of('{"tokens": []}\n' + text).startswith(f"some.jsonl:2: {message}")


def test_a_piece_of_a_verb_that_is_nowhere_is_an_argument():
    prop = Proposition(0, (Argument("C-V", Span(0, 1)),), v=())
    assert Sentence.from_dict(Sentence(("a",), (prop,)).to_dict()).props == (prop,)


@pytest.mark.parametrize("prob", [float("nan"), float("inf"), object()])
def test_values_that_json_does_not_have_are_not_written(prob):
    sent = Sentence(("a",), (Proposition(0, (Argument("A0", Span(0, 1), prob),)),))
    with pytest.raises(FormatError, match="<output>: sentence 1 cannot be written as JSON: "):
        list(jsonl_lines([sent]))


# ---- the schema and the code say the same


def test_the_schema_is_a_valid_schema():
    VALIDATOR.check_schema(SCHEMA)


@given(any_sentences())
def test_whatever_the_code_writes_the_schema_accepts(sent):
    VALIDATOR.validate(json.loads(json.dumps(sent.to_dict())))


def accepted_by_code(data):
    try:
        Sentence.from_dict(data)
    except DataError:
        return False
    return True


def paths(value, path=()):
    """The place of every value inside a JSON value."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from paths(inner, (*path, key))


def replaced(data, path, value):
    if not path:
        return value
    data = copy.deepcopy(data)
    inner = data
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return data


def without(data, path):
    data = copy.deepcopy(data)
    inner = data
    for key in path[:-1]:
        inner = inner[key]
    del inner[path[-1]]
    return data


# Only comparisons of a number with a length are beyond a schema; these values stay clear of them.
VALUES = [None, True, -1, 0.5, "", "x", "V", " ", [], {}, [[]], [[0]], [["x", "y"]], [[-1, 1]], [None]]
ALIGNED = {("pos",), ("lemmas",), ("offsets",), ("tokens",)}


@pytest.mark.parametrize("path", list(paths(FULL)), ids=str)
def test_schema_and_code_agree_on_every_value_of_every_key(path):
    for value in VALUES:
        if (path in ALIGNED and isinstance(value, list)) or (path == ("text",) and isinstance(value, str)):
            continue  # of another length
        data = replaced(FULL, path, value)
        assert VALIDATOR.is_valid(data) == accepted_by_code(data), (path, value)


@pytest.mark.parametrize(
    "path", [path for path in paths(FULL) if path and isinstance(path[-1], str)], ids=str
)
def test_schema_and_code_agree_on_what_may_be_missing(path):
    data = without(FULL, path)
    if path == ("tokens",):
        assert not VALIDATOR.is_valid(data)
    assert VALIDATOR.is_valid(data) == accepted_by_code(data)


@settings(max_examples=30)
@given(any_sentences())
def test_the_schema_has_every_key_that_the_code_writes(sent):
    bare = Sentence(sent.tokens, (), sent.id, sent.pos, sent.lemmas, sent.text, sent.offsets)
    assert set(bare.to_dict()) <= set(SCHEMA["properties"])
    for prop in sent.props:
        plain = Proposition(prop.pred, prop.args, prop.lemma, prop.sense, prop.v)
        assert set(plain.to_dict()) <= set(SCHEMA["$defs"]["proposition"]["properties"])


def test_every_part_of_the_schema_is_described():
    objects = [SCHEMA, SCHEMA["$defs"]["proposition"], SCHEMA["$defs"]["argument"]]
    assert all(part.get("description") for part in objects)
    assert all(part.get("description") for thing in objects for part in thing["properties"].values())
