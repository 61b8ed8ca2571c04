"""The cache of features, with a source that records its inputs."""

from __future__ import annotations

import numpy as np
import pytest

from spansrl.inference.directory import file_hash
from spansrl.nn.embedders.features import compute_features, corpus_fingerprint

SENTENCES = [("Cats", "sleep"), (), ("Dogs", "bark", "loudly", "."), ("Hm",), ("Cats", "purr")]


class CountingSource:
    """Two layers of three numbers that depend on the token and its index; may fail after some sentences."""

    n_layers, width = 2, 3

    def __init__(
        self, name: str = "one", fail_after: float = float("inf"), error: type = RuntimeError
    ) -> None:
        self.name, self.fail_after, self.error = name, fail_after, error
        self.asked: list[tuple[str, ...]] = []

    def fingerprint(self) -> str:
        return file_safe(self.name)

    def compute(self, sentences):
        self.asked += map(tuple, sentences)
        if len(self.asked) > self.fail_after:
            raise self.error("the power went off")
        return [np.stack([vector(token, t) for t, token in enumerate(tokens)]) for tokens in sentences]


def file_safe(name: str) -> str:
    return name.encode().hex().ljust(64, "0")


def vector(token: str, t: int) -> np.ndarray:
    """(2, 3), with values that half precision has to round"""
    return np.sin(np.arange(6.0).reshape(2, 3) + 7 * sum(map(ord, token)) + t).astype(np.float32)


def rows_of(ragged) -> list[np.ndarray]:
    return [ragged.values[a:b] for a, b in zip(ragged.offsets, ragged.offsets[1:], strict=False)]


def expected_rows() -> list[np.ndarray]:
    return [np.array([vector(w, t) for t, w in enumerate(s)]).reshape(-1, 2, 3) for s in SENTENCES]


def test_features_in_memory_are_those_of_each_sentence_in_order():
    features = compute_features(CountingSource(), SENTENCES, None)
    for found, expected in zip(rows_of(features), expected_rows(), strict=True):
        assert np.array_equal(found, expected)


def test_cached_features_are_the_live_ones_up_to_half_precision(tmp_path):
    features = compute_features(CountingSource(), SENTENCES, tmp_path)
    assert isinstance(features.values, np.memmap)
    assert features.values.dtype == np.float16
    for found, expected in zip(rows_of(features), expected_rows(), strict=True):
        assert np.array_equal(found, expected.astype(np.float16))


def test_a_second_call_computes_nothing(tmp_path):
    compute_features(CountingSource(), SENTENCES, tmp_path)
    again = CountingSource()
    features = compute_features(again, SENTENCES, tmp_path)
    assert again.asked == []
    assert np.array_equal(features.values, np.concatenate(expected_rows()).astype(np.float16))
    assert len(list(tmp_path.iterdir())) == 1


OTHER_CORPORA = {
    "another token": [*SENTENCES[:-1], ("Cats", "purred")],
    "another order": SENTENCES[::-1],
    "a sentence less": SENTENCES[:-1],
    "one more empty sentence": [*SENTENCES, ()],
    "another cut": [("Cats",), ("sleep",), *SENTENCES[1:]],
    "blank for boundary": [("Cats sleep",), *SENTENCES[1:]],
}


@pytest.mark.parametrize("other", OTHER_CORPORA.values(), ids=OTHER_CORPORA.keys())
def test_another_corpus_has_a_cache_of_its_own(tmp_path, other):
    compute_features(CountingSource(), SENTENCES, tmp_path)
    source = CountingSource()
    features = compute_features(source, other, tmp_path)
    assert sorted(source.asked) == sorted(filter(None, other))
    assert features.lengths.tolist() == [len(tokens) for tokens in other]
    assert len(list(tmp_path.iterdir())) == 2


def test_another_encoder_has_a_cache_of_its_own(tmp_path):
    compute_features(CountingSource("one"), SENTENCES, tmp_path)
    other = CountingSource("other")
    compute_features(other, SENTENCES, tmp_path)
    assert len(other.asked) == 4
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_interrupted_computation_leaves_no_file_and_the_next_one_starts_over(tmp_path, error):
    many = SENTENCES * 200  # more than one group
    with pytest.raises(error, match="the power went off"):
        compute_features(CountingSource(fail_after=300, error=error), many, tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []
    source = CountingSource()
    assert len(compute_features(source, many, tmp_path / "cache")) == len(many)
    assert len(source.asked) == 800


def test_progress_counts_sentences_up_to_all(tmp_path):
    told = []
    many = [tokens for tokens in SENTENCES if tokens] * 100
    compute_features(CountingSource(), many, tmp_path, lambda step, done, total: told.append((done, total)))
    assert len(told) > 1
    assert told == sorted(told)
    assert told[-1] == (400, 400)


def test_no_sentences_have_no_features(tmp_path):
    for features in (
        compute_features(CountingSource(), [], None),
        compute_features(CountingSource(), [], tmp_path),
    ):
        assert len(features) == 0
        assert features.values.shape == (0, 2, 3)


def test_fingerprints_depend_on_content_alone(tmp_path):
    assert corpus_fingerprint([["a", "b"]]) == corpus_fingerprint((("a", "b"),))
    assert corpus_fingerprint([["a", "b"], ["c"]]) != corpus_fingerprint([["a"], ["b", "c"]])
    assert corpus_fingerprint([["\ud800"]]) != corpus_fingerprint([["\ud801"]])
    for name in ("one", "two"):
        (tmp_path / name).write_bytes(b"same")
    (tmp_path / "three").write_bytes(b"other")
    assert file_hash(tmp_path / "one") == file_hash(tmp_path / "two") != file_hash(tmp_path / "three")
