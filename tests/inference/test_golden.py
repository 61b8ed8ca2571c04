"""What the shipped model says of sentences of our own, as written down in golden/.

After a new model, look at what it says, then write it down:

    PYTHONPATH=tests python tests/inference/test_golden.py
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fake_model import check_legal
from spansrl.inference.directory import ENCODER_GRAPH
from spansrl.inference.loading import load, shipped_model
from spansrl.structures import Document, Sentence

GOLDEN = Path(__file__).parents[1] / "golden" / "sentences.jsonl"
TEXTS = (
    "She kept a cat in the garden until Tuesday.",
    "They called the whole thing off because it was raining.",
    "Dr. Lee didn't give her students the old books yesterday.",
    "The decision to close the school surprised everyone in town.",
    "Who broke the window that Tom had repaired? Nobody knows.",
    "We'll email you at http://a.example/b when the 10-year-old has been found 👍",
)
ODD = (*TEXTS, "שלום", "\x00", "\ud800")
CHANCE = 0.02  # by which a probability may differ on another machine

shipped = pytest.mark.skipif(
    not (shipped_model() / ENCODER_GRAPH).exists(), reason="the package has no model here"
)


def labels(sent: Sentence) -> dict:
    """What is compared to the letter: everything but chances."""
    return {
        "text": sent.text,
        "tokens": list(sent.tokens),
        "props": [
            {
                "pred": prop.pred,
                "type": prop.type,
                "sense": prop.sense,
                "v": None if prop.v is None else [list(span) for span in prop.v],
                "args": [[arg.role, *arg.span] for arg in prop.args],
            }
            for prop in sent.props
        ],
    }


def chances(document: Document) -> list[float]:
    props = [prop for sent in document.sentences for prop in sent.props]
    return [
        chance for prop in props for chance in (prop.prob, prop.sense_prob, *(arg.prob for arg in prop.args))
    ]


def golden() -> list[Document]:
    if not GOLDEN.exists():
        pytest.skip(f"{GOLDEN.name} is not written yet: python tests/test_golden.py")
    return [Document.from_dict(json.loads(line)) for line in GOLDEN.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def srl():
    return load(threads=1, frames=False)


@shipped
def test_the_shipped_model_says_what_is_written_down(srl):
    expected = golden()
    found = list(srl.pipe(document.text for document in expected))
    assert [document.text for document in expected] == list(TEXTS)
    for document, own in zip(found, expected, strict=True):
        assert list(map(labels, document.sentences)) == list(map(labels, own.sentences))
        assert chances(document) == pytest.approx(chances(own), abs=CHANCE)


@shipped
def test_the_shipped_model_says_the_same_of_a_text_alone(srl):
    for together, text in zip(srl.pipe(TEXTS), TEXTS, strict=True):
        alone = srl(text)
        assert list(map(labels, together.sentences)) == list(map(labels, alone.sentences))
        for sent in alone.sentences:
            check_legal(sent)


@shipped
def test_the_shipped_model_knows_the_first_sentence_of_the_readme(srl):
    (sent,) = srl("She kept a cat in the garden until Tuesday.").sentences
    (prop,) = sent.props
    assert (prop.sense, prop.type) == ("keep.01", "verb")
    found = {arg.role: sent.text_of(arg) for arg in prop.args}
    assert (found["ARG0"], found["ARGM-TMP"]) == ("She", "until Tuesday")


@shipped
def test_nice_enough_has_no_verb_but_be(srl):
    (sent,) = srl("This is good enough.").sentences
    assert [(prop.text, prop.type) for prop in sent.props if prop.type == "verb"] == [("is", "verb")]


@shipped
def test_the_graphs_do_not_name_the_machine_they_were_made_on():
    for path in shipped_model().glob("*.onnx"):
        content = path.read_bytes()
        assert not any(trace in content for trace in (b"site-packages", b".py"))


@shipped
@pytest.mark.filterwarnings("ignore::spansrl.errors.SpansrlWarning")  # random text is rarely English
@given(st.text(max_size=60) | st.lists(st.sampled_from(ODD), max_size=3).map(" ".join))
@settings(max_examples=40, deadline=None)
def test_the_shipped_model_keeps_every_promise_for_any_text(srl, text):
    for sent in srl(text):
        check_legal(sent)
        own = text[sent.char_start :][: len(sent.text)]
        assert own == sent.text
        assert tuple(own[start:end] for start, end in sent.offsets) == sent.tokens


MEMORY = """
import re
import spansrl
srl = spansrl.load(threads=1, frames=False)
list(srl.label([spansrl.Sentence(("a." * 20,) * 256)]))
print(int(re.search(r"VmHWM:\\s*(\\d+) kB", open("/proc/self/status").read())[1]) // 1024)
"""


@shipped
@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
def test_tokens_of_very_many_pieces_do_not_take_much_memory():
    done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 500


def main() -> None:
    """Write down what the shipped model says now."""
    documents = load(threads=1, frames=False).pipe(TEXTS)
    GOLDEN.parent.mkdir(exist_ok=True)
    lines = [json.dumps(document.to_dict(), ensure_ascii=False) + "\n" for document in documents]
    GOLDEN.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
