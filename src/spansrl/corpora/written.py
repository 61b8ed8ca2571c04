"""Sentences written for a roleset, as a corpus: one labeled predicate each.

    turn_off.05 <tab> [ARG0 She] [V turned] [ARG1 the lights] [C-V off] before bed .

Tokens are separated by blanks. Brackets name the roles; V is the predicate, C-V a further word of it, such as
a particle. Other predicates of such a sentence are not labeled. A tenth of the rolesets is for development.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from spansrl.corpora.corpus import Audit, CorpusSplits, word_runs
from spansrl.corpora.examples import Example, UnfitError, to_sentence
from spansrl.formats.text_files import plain_name, read_lines
from spansrl.inventory.frame_files import Roleset
from spansrl.inventory.frame_index import MODIFIERS, PARTS_OF_SPEECH, FrameIndex
from spansrl.inventory.frame_store import load_frames
from spansrl.language.english.lemmas import Lemmatizer
from spansrl.progress import Progress, no_progress
from spansrl.structures import Sentence
from spansrl.tags import VERB, VERB_PIECE

TRAIN, DEV = "train", "dev"
LIGHT_VERB = ".LV"  # take.LV a bath: a sense of treebanks that the frames do not have
_PART = re.compile(r"\[([A-Z0-9-]+) ([^\[\]]+)\]|[^\s\[\]]+")
_ROLE = re.compile(rf"(?:[RC]-)?(?:ARG[0-6A]|ARGM-(?:{'|'.join(MODIFIERS)}))")
_TAGS = {type: tag for tag, type in PARTS_OF_SPEECH.items()}
_SUPPLETIVE = frozenset(
    "am are is was were 'm 're 's 'd 've ate went".split()
)  # which begin with other letters
_LEMMATIZER = Lemmatizer()


def split_of(roleset: str) -> str:
    """`dev` for a tenth of the names, which never changes, and `train` for the others."""
    digest = hashlib.sha256(roleset.encode()).digest()
    return DEV if int.from_bytes(digest[:4], "big") % 10 == 0 else TRAIN


def build_written(
    paths: Sequence[Path],
    unlike: Iterable[Sentence] = (),
    frames: FrameIndex | None = None,
    *,
    progress: Progress = no_progress,
) -> CorpusSplits:
    """Return the sentences of the files, checked against the frames (by default the installed ones).

    The audit says what is wrong with those that are left out. Those that share eight words in a row, or all
    of their words, with one of the sentences `unlike` or of the development part are left out, too.
    """
    audit = Audit("written", [TRAIN, DEV])
    frames = load_frames() if frames is None else frames
    known = {run for sent in unlike for run in word_runs(sent.tokens)}
    found: dict[str, list[Sentence]] = {TRAIN: [], DEV: []}
    for done, path in enumerate(paths, start=1):
        for line in read_lines(path):
            where = f"{plain_name(path)}:{line.number}"
            roleset, _, text = line.text.partition("\t")
            try:
                found[split_of(roleset)].append(read_written(roleset, text, frames, where))
            except UnfitError as unfit:
                audit.drop("sentence", where, str(unfit))
        audit.sources[path.name] = {"sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
        progress("reading written sentences", done, len(paths))
    return CorpusSplits(_kept(found, known, audit), audit)


def _kept(
    found: dict[str, list[Sentence]], known: set[tuple[str, ...]], audit: Audit
) -> Iterator[tuple[str, Sentence]]:
    """The sentences of both parts without repetitions; the development part comes first."""
    for split in (DEV, TRAIN):
        earlier: dict[tuple[str, ...], Sentence] = {}  # run of words -> the first sentence that has it
        for sent in found[split]:
            runs = word_runs(sent.tokens)
            others = [earlier[run] for run in runs if run in earlier]
            if not known.isdisjoint(runs):
                reason = "like a sentence in an --unlike file or of the development part"
                audit.drop("sentence", sent.id or "?", reason)
            elif any(other.tokens != sent.tokens or _is_same(other, sent) for other in others):
                audit.drop("sentence", sent.id or "?", "like an earlier one")
            else:
                for run in runs:
                    earlier.setdefault(run, sent)
                yield split, sent
        known = known.union(earlier)


def _is_same(first: Sentence, second: Sentence) -> bool:
    """Whether sentences with the same words have the same predicate."""
    return first.props[0].pred == second.props[0].pred


def read_written(roleset: str, text: str, frames: FrameIndex, name: str) -> Sentence:
    """Return a sentence in brackets; raises UnfitError if something about it is wrong."""
    light = roleset.removesuffix(LIGHT_VERB) if roleset.endswith(LIGHT_VERB) else ""
    if roleset not in frames and not light:
        raise UnfitError(f"the frames have no {roleset or 'sense without a name'}")
    if _PART.sub("", text).strip():
        raise UnfitError("its brackets are not [ROLE words]")
    tokens: list[str] = []
    verb: list[int] = []
    args: list[tuple[str, str, str]] = []
    for part in _PART.finditer(text):
        first = len(tokens)
        role = part[1]
        tokens += (part[2] if role else part[0]).split()
        if role == VERB and verb:
            raise UnfitError("V is not the first word of the predicate, or not the only V")
        if role in (VERB, VERB_PIECE):
            verb += range(first, len(tokens))
        elif role:
            args.append((role, str(first), str(len(tokens) - 1)))
    _check_roles(roleset, [role for role, _, _ in args], frames)
    if not any(part[1] == VERB for part in _PART.finditer(text)):
        raise UnfitError("no predicate is marked")
    words = frames.words(roleset) or ((light, "verb"),)
    _check_words([tokens[k] for k in verb], words)
    source = Roleset(roleset, "", aliases=[(_TAGS[type], word) for word, type in words])
    return to_sentence(Example(source, " ".join(tokens), " ".join(map(str, verb)), args), name)


def _check_roles(roleset: str, roles: Sequence[str], frames: FrameIndex) -> None:
    for role in roles:
        if not _ROLE.fullmatch(role):
            raise UnfitError(f"{role} is no role")
        if frames.rules_out(roleset, role):
            raise UnfitError("the sense does not have one of its roles")
        if (continued := frames.role(role).continues) and continued not in roles:
            raise UnfitError("it has C- without the role that it continues")


def _check_words(found: Sequence[str], words: Iterable[tuple[str, str]]) -> None:
    """Raise UnfitError unless the predicate's words are a form of one of the sense's.

    Of an irregular form only the first letter has to be right.
    """
    own = "_".join(found).lower().replace("-", "_").split("_")
    for word, type in words:
        parts = word.lower().replace("-", "_").split("_")
        if len(parts) == len(own) and (own[0] in _SUPPLETIVE or own[0][:1] == parts[0][:1]):
            pairs = list(zip(parts, own, strict=True))[1:]
            if all(part in (other, _LEMMATIZER.lemma(other, type)) for part, other in pairs):
                return
    raise UnfitError("its predicate is no word of the sense, or lacks a particle")
