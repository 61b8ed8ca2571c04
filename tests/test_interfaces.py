"""The same texts through every interface: the same propositions, and the same warnings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from spansrl.errors import SpansrlWarning
from spansrl.inference.loading import load, shipped_model
from spansrl.jobs.rows import argument_rows
from spansrl.structures import Document, Sentence

ROOT = Path(__file__).resolve().parents[1]
FOREIGN = "Der Hund ist nicht in dem Haus, und die Katze ist auch nicht bei uns."
TEXTS = (
    "She kept a cat in the garden until Tuesday. I am. Was it nice enough?",
    FOREIGN,
    " ".join(["He said that they called it off, and"] * 40) + " nobody knew why.",  # cut into pieces
    "Mary's decision to leave surprised us. They have been waiting.",
)
WARNINGS = [0, 1, 1, 0]  # of each text
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shipped_model().is_dir(), reason="no model in the package"),
]


@pytest.fixture(scope="module")
def srl():
    return load(threads=1)


def counted(label, text):
    """What a function makes of a text, and how often it warns."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SpansrlWarning)
        found = label(text)
    return found, len(caught)


def by_python(srl, folder):
    return [counted(srl, text) for text in TEXTS]


def by_stream(srl, folder):
    """`pipe` warns of the language once: there is one foreign text."""
    documents, n_warnings = counted(lambda texts: list(srl.pipe(texts)), TEXTS)
    assert n_warnings == sum(WARNINGS)
    return list(zip(documents, WARNINGS, strict=True))


def run_spansrl(*arguments, folder):
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=200,
        check=True,
    )
    return done.stdout, done.stderr


def documents_of(lines, texts=TEXTS):
    """Sentences in the wire format, one list for each text, as documents."""
    return [
        Document(text, tuple(map(Sentence.from_dict, own))) for text, own in zip(texts, lines, strict=True)
    ]


def by_command_line(srl, folder):
    found = []
    for text in TEXTS:
        (folder / "text.txt").write_text(text)
        out, err = run_spansrl(
            *("-m", "spansrl", "label", "text.txt", "--to", "jsonl", "--threads", "1"), folder=folder
        )
        (document,) = documents_of([list(map(json.loads, out.splitlines()))], [text])
        found.append((document, err.count("spansrl: warning:")))
    return found


def by_server(srl, folder):
    pytest.importorskip("starlette", reason="needs the extra serve")
    from serving import serving, wait_until

    with serving(lambda: srl) as client:
        wait_until(lambda: client.get("/readyz").status == 200)
        answers = [client.label(text=text).json for text in TEXTS]
    results = [answer["results"][0] for answer in answers]
    documents = documents_of([result["sentences"] for result in results])
    return [(doc, len(own.get("warnings", ()))) for doc, own in zip(documents, results, strict=True)]


def by_spacy(srl, folder):
    """With our own tokens, as spaCy's are others; only the check of the language is the component's."""
    spacy = pytest.importorskip("spacy", reason="needs the extra spacy")
    from spansrl.integrations.spacy import SpansrlComponent, document_of

    component = SpansrlComponent(load=lambda model, **options: srl)
    vocab = spacy.blank("en").vocab

    def label(text):
        tokens = [
            (sent.char_start + start, sent.char_start + end)
            for sent in srl.sentences(text, warn=lambda message: None)
            for start, end in sent.offsets
        ]
        starts = [start for start, _ in tokens[1:]] + [len(text)]
        spaces = [end < following for (_, end), following in zip(tokens, starts, strict=True)]
        doc = spacy.tokens.Doc(vocab, [text[start:end] for start, end in tokens], spaces)
        return document_of(component(doc))

    found = [counted(label, text) for text in TEXTS]
    # The Doc has its tokens already, so that nothing of it is cut for being long.
    return [(document, own + (k == 2)) for k, (document, own) in enumerate(found)]


def by_corpus_job(srl, folder):
    lines = [json.dumps({"id": str(k), "text": text}) for k, text in enumerate(TEXTS)]
    (folder / "in.jsonl").write_text("\n".join(lines))
    run_spansrl(
        *("-m", "spansrl", "corpus", "in.jsonl", "-o", "out", "--id", "id", "--rows", "sentence"),
        folder=folder,
    )
    rows = [
        json.loads(line)
        for path in sorted((folder / "out" / "rows").iterdir())
        for line in path.read_text().splitlines()
    ]
    own = [
        [without_nulls(row) for row in rows if row["id"] == str(k) and row["tokens"]]
        for k in range(len(TEXTS))
    ]
    manifest = json.loads((folder / "out" / "manifest.json").read_text())
    assert sum(manifest["warnings"].values()) == sum(WARNINGS)
    return list(zip(documents_of(own), WARNINGS, strict=True))


def without_nulls(value):
    if isinstance(value, dict):
        return {k: without_nulls(v) for k, v in value.items() if v is not None and k != "sentence"}
    return list(map(without_nulls, value)) if isinstance(value, list) else value


RAY = """
import json, sys, warnings
from spansrl.errors import SpansrlWarning
from spansrl.integrations.ray import Label

texts = json.load(sys.stdin)
label = Label()
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always", SpansrlWarning)
    found = label({"text": texts})["srl"].to_pylist()
print(json.dumps([found, sum(issubclass(one.category, SpansrlWarning) for one in caught)]))
"""


def simplified(document):
    """What two interfaces must agree in to the letter, and probabilities."""
    data = [(sent.tokens, sent.char_start, sent.to_dict()["props"]) for sent in document.sentences]
    probs = []

    def bare(value):
        if isinstance(value, dict):
            probs.extend(value[key] for key in value if key.endswith("prob"))
            return {key: bare(own) for key, own in value.items() if not key.endswith("prob")}
        return list(map(bare, value)) if isinstance(value, (list, tuple)) else value

    return bare(data), probs


INTERFACES = (by_stream, by_command_line, by_server, by_spacy, by_corpus_job)


@pytest.mark.parametrize("interface", INTERFACES, ids=lambda function: function.__name__)
def test_every_interface_gives_the_same_propositions_and_warnings(interface, srl, tmp_path):
    expected, found = by_python(srl, tmp_path), interface(srl, tmp_path)
    assert [n for _, n in found] == [n for _, n in expected] == WARNINGS
    for (own, _), (other, _) in zip(found, expected, strict=True):
        (labels, probs), (known, known_probs) = simplified(own), simplified(other)
        assert labels == known
        assert probs == pytest.approx(known_probs, abs=2e-4)  # the last digit depends on the batch


def test_ray_gives_the_rows_of_the_same_propositions(srl):
    pytest.importorskip("ray", reason="needs the extra cluster")
    pytest.importorskip("pyarrow", reason="needs the extra cluster")
    done = subprocess.run(
        [sys.executable, "-c", RAY],
        input=json.dumps(TEXTS),
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=200,
        check=True,
    )
    found, n_warnings = json.loads(done.stdout)
    assert n_warnings == sum(WARNINGS)
    for rows, text in zip(found, TEXTS, strict=True):
        document, _ = counted(srl, text)
        expected = argument_rows(document, "") if document.props else []
        texts = [{k: v for k, v in row.items() if k != "id" and not k.endswith("prob")} for row in expected]
        assert [{k: v for k, v in row.items() if not k.endswith("prob")} for row in rows] == texts
