"""What spansrl is compared with, as strong as we can make it, with random weights.

- A BERT-base BIO tagger, which reads the sentence once for each predicate with that predicate marked, as
  AllenNLP's does.
- Span ranking over BERT-base (He et al. 2018) with the sizes of HanLP's: one pass per sentence, then scores
  of the best spans with the best predicates.
- spaCy's tagger and parser, which do another task.

The first two run on ONNX Runtime with fused operators, in single precision or with int8 products. Only their
networks run: word pieces are cut beforehand, the tagger gets gold predicates, and nothing is decoded.
"""

from __future__ import annotations

import hashlib
import logging
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from measure import ROOT
from spansrl.inference.batching import batches_by_length
from spansrl.inference.inputs.pieces import load_tokenizer
from spansrl.structures import Sentence

Feed = dict[str, Any]
Run = Callable[[], object]

POSITIONS = 512  # rows × pieces that are read at once; neither more nor less is faster
ROLES = 57
TREES = ROOT / "examples" / "sample" / "UD_English-EWT"


# The networks.


def bert_config() -> Any:
    """BERT-base, with attention in the form that ONNX Runtime fuses."""
    from transformers import BertConfig

    return BertConfig(num_labels=2 * ROLES + 1, attn_implementation="eager")


class Tagger(nn.Module):
    """BIO tags of the predicate that the segment marks."""

    inputs = ("input_ids", "attention_mask", "token_type_ids")

    def __init__(self) -> None:
        from transformers import BertForTokenClassification

        super().__init__()
        self.bert = BertForTokenClassification(bert_config())

    def forward(self, ids: torch.Tensor, mask: torch.Tensor, marks: torch.Tensor) -> torch.Tensor:
        """(B, P) pieces -> (B, P) tags"""
        return self.bert(ids, mask, marks).logits.argmax(-1)  # type: ignore[no-any-return]


class SpanLayer(nn.Module):
    """A linear layer over the vectors of spans: first and last token, mean, width.

    It is applied to tokens, and the results are added, which is much faster than building vectors of spans.
    """

    def __init__(self, width: int, hidden: int, longest: int) -> None:
        super().__init__()
        self.start, self.end, self.mean = (nn.Linear(width, hidden) for _ in range(3))
        self.width = nn.Embedding(longest, hidden)

    def forward(self, h: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
        """(B, T, D) vectors, (T, W) last tokens of spans -> (B, T, W, H)"""
        sums = F.pad(self.mean(h).cumsum(1), (0, 0, 1, 0))  # (B, T + 1, H)
        widths = torch.arange(1, ends.shape[1] + 1)[:, None]
        means = (sums[:, ends + 1] - sums[:, :-1, None]) / widths
        return self.start(h)[:, :, None] + self.end(h)[:, ends] + means + self.width.weight


class SpanRanking(nn.Module):
    """Scores of roles for pairs of the best predicates and the best spans."""

    inputs = ("input_ids", "attention_mask", "first")

    def __init__(self, hidden: int = 150, longest: int = 30) -> None:
        from transformers import BertModel

        super().__init__()
        config = bert_config()
        self.bert = BertModel(config, add_pooling_layer=False)
        self.longest = longest
        self.spans = SpanLayer(config.hidden_size, hidden, longest)
        self.span_score = _scorer(hidden, 1)
        self.predicate_score = nn.Sequential(nn.Linear(config.hidden_size, hidden), _scorer(hidden, 1))
        self.span_in_pair = SpanLayer(config.hidden_size, hidden, longest)
        self.predicate_in_pair = nn.Linear(config.hidden_size, hidden)
        self.pair_score = _scorer(hidden, ROLES)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor, first: torch.Tensor) -> torch.Tensor:
        """(B, P) pieces, (B, T) first pieces of tokens -> (B, spans, predicates, roles)"""
        states = self.bert(ids, mask).last_hidden_state
        h = states.gather(1, first[:, :, None].expand(-1, -1, states.shape[2]))  # (B, T, D)
        T = h.shape[1]
        last = torch.arange(T)[:, None] + torch.arange(self.longest)  # (T, W)
        ends = last.clamp(max=T - 1)
        scores = self.span_score(self.spans(h, ends)).squeeze(-1) - 1e9 * (last >= T)
        of_span, spans = scores.flatten(1).topk(T * 4 // 5)  # (B, K)
        of_predicate, predicates = self.predicate_score(h).squeeze(-1).topk(T * 2 // 5)  # (B, N)
        left = _rows(self.span_in_pair(h, ends).flatten(1, 2), spans)  # (B, K, H)
        right = _rows(self.predicate_in_pair(h), predicates)  # (B, N, H)
        unary = of_span[:, :, None, None] + of_predicate[:, None, :, None]
        return self.pair_score(left[:, :, None] + right[:, None]) + unary  # type: ignore[no-any-return]


def _scorer(hidden: int, outputs: int) -> nn.Sequential:
    """The rest of a network with two hidden layers, after the first one's linear part."""
    return nn.Sequential(nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, outputs))


def _rows(values: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
    return values.gather(1, indices[:, :, None].expand(-1, -1, values.shape[2]))


# On ONNX Runtime.


def cache() -> Path:
    """Where this version of the networks is kept between runs."""
    version = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:12]
    folder = Path(tempfile.gettempdir()) / f"spansrl-peers-{version}"
    folder.mkdir(exist_ok=True)
    return folder


def exported(kind: type[Tagger] | type[SpanRanking], folder: Path) -> dict[str, Path]:
    """Write a network as graphs with fused operators, unless the folder has them; by precision."""
    from onnxruntime.transformers.optimizer import optimize_model  # type: ignore[import-untyped]

    plain, fused, int8 = (folder / f"{kind.__name__}-{form}.onnx" for form in ("plain", "fp32", "int8"))
    if int8.exists():
        return {"fp32": fused, "int8": int8}
    example = torch.arange(10).repeat(2, 1)
    axes = {name: {0: "rows", 1: "positions"} for name in kind.inputs} | {"first": {0: "rows", 1: "tokens"}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # The older exporter: ONNX Runtime finds BERT's attention in its graphs only.
        torch.onnx.export(
            kind().eval(),
            (example, torch.ones_like(example), torch.ones_like(example)),
            plain,
            input_names=list(kind.inputs),
            output_names=["out"],
            dynamic_axes={name: axes[name] for name in kind.inputs},
            opset_version=17,
            dynamo=False,
        )
    logging.disable(logging.WARNING)  # it reports every operator that it leaves as it is
    model = optimize_model(str(plain), model_type="bert", num_heads=12, hidden_size=768)
    model.save_model_to_file(str(fused))
    found = model.get_fused_operator_statistics()
    assert found["Attention"] == 12, found
    assert found["SkipLayerNormalization"] == 24, found
    logging.disable(logging.NOTSET)
    _quantize(fused, plain)
    plain.rename(int8)  # last, because it stands for all
    return {"fp32": fused, "int8": int8}


def on_onnxruntime(graph: Path, batches: Sequence[Feed]) -> Run:
    """A pass of a graph over all batches, with one thread."""
    import onnxruntime  # type: ignore[import-untyped]

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
    kinds = {"tensor(int32)": np.int32, "tensor(int64)": np.int64}
    inputs = {item.name: kinds[item.type] for item in session.get_inputs()}
    feeds = [{name: np.array(batch[name], kind) for name, kind in inputs.items()} for batch in batches]

    def run() -> None:
        for feed in feeds:
            session.run(None, feed)

    return run


def tagger_batches(sentences: Sequence[Sentence], model: Path) -> Iterator[Feed]:
    """One row per predicate."""
    tokenizer = load_tokenizer(model / "embedder")
    rows = []
    for sent in sentences:
        pieces = tokenizer.encode(list(sent.tokens), is_pretokenized=True)
        marks = ([int(word == prop.pred) for word in pieces.word_ids] for prop in sent.props)
        rows += [{"input_ids": pieces.ids, "token_type_ids": own} for own in marks]
    yield from _batches(rows)


def sentence_batches(sentences: Sequence[Sentence], model: Path) -> Iterator[Feed]:
    """One row per sentence; `first` has the first piece of each token."""
    tokenizer = load_tokenizer(model / "embedder")
    rows = []
    for sent in sentences:
        pieces = tokenizer.encode(list(sent.tokens), is_pretokenized=True)
        first = [pieces.word_ids.index(k) for k in range(len(sent)) if k in pieces.word_ids]
        rows.append({"input_ids": pieces.ids, "first": first})
    yield from _batches(rows)


def _batches(rows: Sequence[dict[str, list[int]]]) -> Iterator[Feed]:
    """Rows of similar length, padded, with masks."""
    lengths = [len(row["input_ids"]) for row in rows]
    for batch in batches_by_length(lengths, limit=POSITIONS):
        own = [rows[k] | {"attention_mask": [1] * lengths[k]} for k in batch]
        yield {name: _padded([row[name] for row in own]) for name in own[0]}


def _padded(rows: Sequence[Sequence[int]]) -> list[list[int]]:
    width = max(map(len, rows))
    return [[*row, *[0] * (width - len(row))] for row in rows]


def _quantize(graph: Path, out: Path) -> None:
    from onnxruntime.quantization import QuantType, quantize_dynamic  # type: ignore[import-untyped]

    logging.disable(logging.WARNING)  # it advises preprocessing, which the graphs have had
    quantize_dynamic(graph, out, weight_type=QuantType.QInt8, extra_options={"DefaultTensorType": 1})
    logging.disable(logging.NOTSET)


# spaCy.


def spacy_run(sentences: Sequence[Sentence]) -> Run:
    """A pass of spaCy's tagger and parser, as large as those of its small English model."""
    import spacy
    from spacy.tokens import Doc
    from spacy.training import Example
    from spacy.training.converters import conllu_to_docs

    nlp = spacy.blank("en")
    shared = {"@architectures": "spacy.Tok2VecListener.v1", "width": 96, "upstream": "*"}
    nlp.add_pipe("tok2vec")
    for name in ("tagger", "parser"):
        nlp.add_pipe(name, config={"model": {"tok2vec": shared}})
    trees = [
        doc
        for path in sorted(TREES.rglob("*.conllu"))
        for doc in conllu_to_docs(path.read_text(), no_print=True)
    ]
    nlp.initialize(lambda: [Example(nlp.make_doc(doc.text), doc) for doc in trees])

    def run() -> None:
        for _ in nlp.pipe(Doc(nlp.vocab, words=list(sent.tokens)) for sent in sentences):
            pass

    return run
