"""A random BERT with a dozen word pieces, as the files that a real one comes in."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")

PIECES = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "the",
    "cat",
    "##s",
    "##c",
    "chase",
    "##d",
    "un",
    "##like",
    "##ly",
    ".",
]
POSITIONS = 20
WINDOW = POSITIONS - 4  # with [CLS] and [SEP]


def make_tokenizer():
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.WordPiece({piece: k for k, piece in enumerate(PIECES)}, unk_token="[UNK]")
    )
    tokenizer.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    # As downloaded ones often are: both must be switched off.
    tokenizer.enable_truncation(8)
    tokenizer.enable_padding(length=8)
    return tokenizer


def make_bert(directory: Path, *, half: bool = False, seed: int = 0, layers: int = 2) -> Path:
    torch.manual_seed(seed)
    config = transformers.BertConfig(
        vocab_size=len(PIECES),
        hidden_size=8,
        num_hidden_layers=layers,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=POSITIONS,
        initializer_range=0.5,  # so that layers and positions differ a lot
    )
    model = transformers.BertModel(config)
    (model.half() if half else model).save_pretrained(directory)
    make_tokenizer().save(str(directory / "tokenizer.json"))
    return directory
