"""A stand-in for AllenNLP's predictor of semantic roles: same methods, same keys. See docs/allennlp.md."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from spansrl.checks import Json
from spansrl.errors import DataError
from spansrl.formats.verb_tags import TYPES, allennlp_dict
from spansrl.inference.loading import load
from spansrl.inference.pipeline import Pipeline
from spansrl.structures import Sentence

_ARCHIVES = (".tar.gz", ".tgz")


class Predictor:
    """Labels sentences with a pipeline and returns what AllenNLP's predictor returned.

    A text is one sentence, as there: if it has several, their words and verbs are put together.
    """

    def __init__(self, pipeline: Pipeline, types: Sequence[str] = TYPES) -> None:
        self.pipeline = pipeline
        self.types = tuple(types)

    @classmethod
    def from_path(cls, archive_path: str | None = None, *_: Any, **options: Any) -> Predictor:
        """Load a model of spansrl by its name or directory; for an archive of AllenNLP's, the default one.

        Further arguments, such as a predictor's name and `cuda_device`, are accepted and ignored.
        """
        is_archive = archive_path is not None and archive_path.endswith(_ARCHIVES)
        return cls(load(None if is_archive else archive_path))

    def predict(self, sentence: str) -> Json:
        """Label a text."""
        return self._together(self.pipeline.label(self.pipeline.sentences(sentence), predicates=self.types))

    def predict_tokenized(self, tokenized_sentence: Sequence[str]) -> Json:
        """Label a sentence that is a list of words."""
        return self._together(
            self.pipeline.label([Sentence(tuple(tokenized_sentence))], predicates=self.types)
        )

    def predict_json(self, inputs: Mapping[str, str]) -> Json:
        """Label the text `inputs["sentence"]`."""
        return self.predict_batch_json([inputs])[0]

    def predict_batch_json(self, inputs: Sequence[Mapping[str, str]]) -> list[Json]:
        """Label the text under the key `sentence` of each."""
        for number, one in enumerate(inputs):
            if not isinstance(one.get("sentence"), str):
                raise DataError(f"inputs[{number}] has no string under the key 'sentence'")
        documents = self.pipeline.pipe((one["sentence"] for one in inputs), predicates=self.types)
        return [self._together(document) for document in documents]

    def _together(self, sentences: Iterable[Sentence]) -> Json:
        found = [allennlp_dict(sent, self.types) for sent in sentences]
        words = [word for one in found for word in one["words"]]
        verbs, before = [], 0
        for one in found:
            after = len(words) - before - len(one["words"])
            for verb in one["verbs"]:
                tags = ["O"] * before + verb["tags"] + ["O"] * after
                around = (words[:before], [verb["description"]], words[before + len(one["words"]) :])
                description = " ".join(word for part in around for word in part)
                verbs.append({"verb": verb["verb"], "description": description, "tags": tags})
            before += len(one["words"])
        return {"verbs": verbs, "words": words}
