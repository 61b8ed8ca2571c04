"""Encoders: each is one file, and one line in this table."""

from torch import nn

from spansrl.inference.config import EncoderConfig
from spansrl.nn.encoders.attention import SelfAttention
from spansrl.nn.encoders.bilstm import InterleavedLSTM
from spansrl.nn.encoders.highway import HighwayLSTM
from spansrl.nn.encoders.predicate_encoders import MarkedEncoder, OnePassEncoder, SequenceKind

# encoder.kind -> sequence encoder
ENCODERS: dict[str, SequenceKind | None] = {
    "bilstm": InterleavedLSTM,
    "highway": HighwayLSTM,
    "attention": SelfAttention,
    "none": None,
}


def build_encoder(
    in_width: int, config: EncoderConfig, top: nn.Module | None = None
) -> MarkedEncoder | OnePassEncoder:
    """A new encoder with the predicate marked at the input, or conditioned on after it, by `top` if given."""
    kind = ENCODERS[config.kind]
    if config.predicate == "after":
        return OnePassEncoder(in_width, config, kind, top)
    assert kind is not None  # the config has checked it
    return MarkedEncoder(in_width, config, kind)


def dropout_before_encoder(embedder: float, config: EncoderConfig) -> float:
    """What is left of the dropout on token vectors when the first LSTM drops its input too.

    The two together keep each unit as often as the embedder's dropout alone should.
    """
    first = config.dropout if config.kind == "bilstm" else 0.0
    return max(0.0, 1 - (1 - embedder) / (1 - first))
