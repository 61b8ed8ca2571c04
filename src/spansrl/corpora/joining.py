"""Join the propositions of a document (without words) with its words.

Sentences are paired by position if their lengths agree, otherwise by position or by tags, whichever fits
better. In a pair of equal length the tokens correspond by position too, unless their tags show that both
sides were regrouped. A proposition is dropped only if a token that it needs has no word, or if two of its
spans would share a word.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import chain, pairwise

from spansrl.corpora.alignment import AlignedToken, Block, align, align_by_position
from spansrl.corpora.conllu import Word, WordSentence, joined
from spansrl.corpora.corpus import DOCUMENT_KEY, Audit
from spansrl.errors import DataError
from spansrl.structures import Argument, Proposition, Sentence, Span

SOURCE_KEY = "ud"  # of Sentence.extra: ids of the source sentences
NEW_PARAGRAPH_KEY = "newpar"  # of Sentence.extra: true where the sentence begins a paragraph


class CannotMoveError(DataError):
    """The reason why a proposition cannot be moved to the words."""


@dataclass(frozen=True, slots=True)
class Pair:
    skeleton: Sentence
    words: WordSentence
    blocks: list[Block]
    repair: str | None = None  # what had to be done to align them


@dataclass(slots=True)
class SentencePairing:
    pairs: list[Pair] = field(default_factory=list)
    without_words: list[Sentence] = field(default_factory=list)
    without_skeleton: list[WordSentence] = field(default_factory=list)
    cost: float = 0.0


def join_document(
    document: str, skeletons: Sequence[Sentence], sentences: Sequence[WordSentence], audit: Audit
) -> Iterator[Sentence]:
    """Yield the skeletons of one document with their words; the audit gets what is dropped or changed."""
    pairing = _best_pairing(skeletons, sentences)
    for skeleton in pairing.without_words:
        audit.drop_sentence(skeleton, "no words in Universal Dependencies", "its sentence has no words")
    for sent in pairing.without_skeleton:
        audit.drop("words", " ".join(sent.ids), "no skeleton in PropBank")
    for pair in pairing.pairs:
        if pair.repair is not None:
            audit.repair("sentence", pair.skeleton.id or "?", pair.repair)
        yield _sentence(document, pair, audit)


def _best_pairing(skeletons: Sequence[Sentence], sentences: Sequence[WordSentence]) -> SentencePairing:
    sizes = [len(skeleton) for skeleton in skeletons]
    by_position = [(skeletons, sentences)]
    if sizes == [len(sent.words) for sent in sentences]:
        return _pairing(by_position)
    by_tags = _pairing(_groups_by_tags(skeletons, sentences))
    if len(skeletons) != len(sentences):
        return by_tags
    return min(_pairing(by_position), by_tags, key=lambda pairing: pairing.cost)


def _groups_by_tags(
    skeletons: Sequence[Sentence], sentences: Sequence[WordSentence]
) -> list[tuple[Sequence[Sentence], Sequence[WordSentence]]]:
    """Return runs of matching sentences, in order: those with equal tags, and those between them."""
    left = [skeleton.pos for skeleton in skeletons]
    right = [tuple(word.tag for word in sent.words) for sent in sentences]
    opcodes = SequenceMatcher(None, left, right, autojunk=False).get_opcodes()
    return [(skeletons[i:i_end], sentences[j:j_end]) for _, i, i_end, j, j_end in opcodes]


def _pairing(groups: Iterable[tuple[Sequence[Sentence], Sequence[WordSentence]]]) -> SentencePairing:
    pairing = SentencePairing()
    for skeletons, sentences in groups:
        if len(skeletons) == len(sentences):
            for skeleton, sent in zip(skeletons, sentences, strict=True):
                _add_pair(pairing, skeleton, sent)
        elif not skeletons:
            pairing.without_skeleton += sentences
            pairing.cost += align([], _word_tokens(joined(sentences).words)).cost
        else:
            _add_regrouped(pairing, skeletons, joined(sentences))
    return pairing


def _add_pair(pairing: SentencePairing, skeleton: Sentence, sent: WordSentence) -> None:
    tokens, words = _skeleton_tokens(skeleton), _word_tokens(sent.words)
    retagged = sum(token.tag != word.tag for token, word in zip(tokens, words, strict=False))
    # One other tag is a correction; two or more may be a shift.
    plain = len(tokens) == len(words) and retagged < 2
    blocks, cost = (align_by_position if plain else align)(tokens, words)
    regrouped = any(block.is_regrouped for block in blocks)
    repair = "tokens were split differently, aligned by tags" if regrouped else None
    pairing.pairs.append(Pair(skeleton, sent, blocks, repair))
    pairing.cost += cost


def _add_regrouped(pairing: SentencePairing, skeletons: Sequence[Sentence], words: WordSentence) -> None:
    """Add skeletons whose sentence boundaries differ from those of the words."""
    tokens = list(chain.from_iterable(map(_skeleton_tokens, skeletons)))
    blocks, cost = align(tokens, _word_tokens(words.words))
    pairing.cost += cost
    start = 0
    for skeleton in skeletons:
        end = start + len(skeleton)
        own = [block for block in blocks if start <= block.left.start < block.left.end <= end]
        covered = [block.right for block in own if block.right.start < block.right.end]
        if covered:
            part = words.part(covered[0].start, covered[-1].end)
            moved = [block.shifted(-start, -covered[0].start) for block in own]
            repair = "sentences were split differently, aligned by tags"
            pairing.pairs.append(Pair(skeleton, part, moved, repair))
        else:
            pairing.without_words.append(skeleton)
        start = end


def _sentence(document: str, pair: Pair, audit: Audit) -> Sentence:
    words = pair.words.words
    extra: dict[str, object] = {DOCUMENT_KEY: document, SOURCE_KEY: list(pair.words.ids)}
    if pair.words.newpar:
        extra[NEW_PARAGRAPH_KEY] = True
    if any(word.relation != "_" for word in words):
        extra |= {"heads": [word.head for word in words], "deprels": [word.relation for word in words]}
    return Sentence(
        tokens=tuple(word.form for word in words),
        props=tuple(_moved_propositions(pair, audit)),
        id=pair.skeleton.id,
        pos=tuple(word.tag for word in words),
        lemmas=tuple(word.lemma for word in words),
        text=pair.words.text,
        offsets=tuple((word.start, word.end) for word in words),
        extra=extra,
    )


def _moved_propositions(pair: Pair, audit: Audit) -> Iterator[Proposition]:
    block_of = {token: block for block in pair.blocks for token in range(*block.left)}
    for prop in pair.skeleton.props:
        where = f"{pair.skeleton.id or '?'}:{prop.pred}"
        try:
            yield _moved(prop, block_of, pair)
        except CannotMoveError as error:
            audit.drop("proposition", where, str(error))
            continue
        if any(_is_widened(span, block_of) for span in (*prop.verb_spans, *(arg.span for arg in prop.args))):
            audit.repair("proposition", where, "a span was widened to a whole word")


def _moved(prop: Proposition, block_of: dict[int, Block], pair: Pair) -> Proposition:
    pred = _moved_predicate(prop.pred, block_of, pair)
    verb = tuple(_moved_span(span, block_of) for span in prop.verb_spans)
    args = tuple(Argument(arg.role, _moved_span(arg.span, block_of)) for arg in prop.args)
    spans = sorted((*verb, *(arg.span for arg in args)))
    if any(one.end > other.start for one, other in pairwise(spans)):
        raise CannotMoveError("two of its spans share a word")
    v = None if verb == (Span(pred, pred + 1),) else verb
    return Proposition(pred, args, lemma=prop.lemma, sense=prop.sense, v=v)


def _moved_span(span: Span, block_of: dict[int, Block]) -> Span:
    first, last = _right(span.start, block_of), _right(span.end - 1, block_of)
    return Span(first.start, last.end)


def _moved_predicate(pred: int, block_of: dict[int, Block], pair: Pair) -> int:
    """Of several words for one token, take the one with its tag, or the first."""
    candidates = range(*_right(pred, block_of))
    tag = (pair.skeleton.pos or ())[pred]
    return next((index for index in candidates if pair.words.words[index].tag == tag), candidates[0])


def _right(token: int, block_of: dict[int, Block]) -> Span:
    """Return the words of the block that a token is in."""
    block = block_of.get(token)
    if block is None or block.right.start == block.right.end:
        raise CannotMoveError("a token that it needs has no word")
    return block.right


def _is_widened(span: Span, block_of: dict[int, Block]) -> bool:
    return block_of[span.start].left.start < span.start or block_of[span.end - 1].left.end > span.end


def _skeleton_tokens(skeleton: Sentence) -> list[AlignedToken]:
    lemmas = {prop.pred: prop.lemma for prop in skeleton.props}
    return [AlignedToken(tag, lemmas.get(index)) for index, tag in enumerate(skeleton.pos or ())]


def _word_tokens(words: Sequence[Word]) -> list[AlignedToken]:
    return [AlignedToken(word.tag, word.lemma, word.form, word.glued) for word in words]
