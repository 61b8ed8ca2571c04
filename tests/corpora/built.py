"""What tests read of a corpus that was built."""

import json

from spansrl.structures import Sentence


def read_corpus(out):
    """The sentences of all splits by their ids, and the audit."""
    paths = [out / f"{split}.jsonl" for split in ("train", "dev", "test")]
    lines = [line for path in paths for line in path.read_text().splitlines()]
    sentences = map(Sentence.from_dict, map(json.loads, lines))
    return {sent.id: sent for sent in sentences}, json.loads((out / "audit.json").read_text())


def groups(notes):
    return [(group["what"], group["reason"], group["where"]) for group in notes["groups"]]
