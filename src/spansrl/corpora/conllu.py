"""Universal Dependencies sentences: words with lemmas, tags, heads, relations, and offsets in the raw text.

Multiword-token lines (``1-2``) determine the spaces, empty nodes (``1.1``) are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from spansrl.errors import FormatError, shortened
from spansrl.formats.text_files import Line


@dataclass(frozen=True, slots=True)
class Word:
    """One syntactic word; `start` and `end` are code points in its sentence's text."""

    form: str
    lemma: str
    tag: str
    start: int
    end: int
    glued: bool  # no space before it, and not the first of its sentence
    head: int = -1  # index of its head in its sentence; −1 for the root, and for a head in another part
    relation: str = "_"


@dataclass(slots=True)
class WordSentence:
    """The words of one sentence, or of several that were joined; `gap` is the white space that follows it."""

    ids: tuple[str, ...] = ()
    newpar: bool = False
    words: list[Word] = field(default_factory=list)
    text: str = ""
    gap: str = " "

    def part(self, start: int, end: int) -> WordSentence:
        """Return words start .. end-1 as a separate sentence."""
        shift = self.words[start].start
        words = [_moved(word, -shift, -start, end - start) for word in self.words[start:end]]
        text = self.text[shift : self.words[end - 1].end]
        return WordSentence(self.ids, self.newpar and start == 0, words, text)


def joined(sentences: Sequence[WordSentence]) -> WordSentence:
    out = WordSentence(ids=tuple(name for sent in sentences for name in sent.ids), gap="")
    for sent in sentences:
        out.newpar = out.newpar or (sent.newpar and not out.words)
        out.text += out.gap
        moved = len(out.words)
        out.words += [_moved(word, len(out.text), moved) for word in sent.words]
        out.text += sent.text
        out.gap = sent.gap
    return out


def read_conllu(lines: Iterable[Line], path: str) -> Iterator[WordSentence]:
    reader = _Reader(path)
    for number, text in lines:
        if not text:
            if reader.sentence.words:
                yield reader.finish()
        elif text.startswith("#"):
            reader.comment(text)
        else:
            reader.row(text, number)
    if reader.sentence.words:
        yield reader.finish()


class _Reader:
    def __init__(self, path: str) -> None:
        self.path = path
        self.sentence = WordSentence()
        self.multiword_end = 0  # number of the last word of the multiword token that is being read
        self.multiword_gap = " "
        self.gap = ""  # white space between the last word and the next

    def finish(self) -> WordSentence:
        done = self.sentence
        done.gap = self.gap
        self.sentence, self.multiword_end, self.gap = WordSentence(), 0, ""
        return done

    def comment(self, line: str) -> None:
        key, _, value = line[1:].partition("=")
        if key.strip() == "sent_id":
            self.sentence.ids = (value.strip(),)
        elif key.split()[:1] == ["newpar"]:
            self.sentence.newpar = True

    def row(self, line: str, number: int) -> None:
        cells = line.split("\t")
        if len(cells) != 10:
            message = f"expected the 10 tab-separated columns of CoNLL-U, found {len(cells)}"
            raise FormatError(message, path=self.path, line=number)
        index, form, lemma, tag, misc = cells[0], cells[1], cells[2], cells[4], cells[9]
        syntax = (int(cells[6]) - 1 if cells[6].isdecimal() else -1), cells[7]
        if "." in index:
            return
        first, dash, last = index.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise FormatError(f"'{shortened(index)}' is not a word number", path=self.path, line=number)
        if dash:
            self.multiword_end, self.multiword_gap = int(last), _gap(misc)
        else:
            self._word(int(first), form, lemma, tag, misc, syntax)

    def _word(self, index: int, form: str, lemma: str, tag: str, misc: str, syntax: tuple[int, str]) -> None:
        sentence = self.sentence
        glued = bool(sentence.words) and not self.gap
        if sentence.words:
            sentence.text += self.gap
        start = len(sentence.text)
        sentence.text += form
        sentence.words.append(Word(form, lemma, tag, start, len(sentence.text), glued, *syntax))
        # Nothing separates the words of a multiword token; in EWT their forms always add up to its spelling.
        if index < self.multiword_end:
            self.gap = ""
        else:
            self.gap = self.multiword_gap if index == self.multiword_end else _gap(misc)


def _moved(word: Word, chars: int, words: int, size: int | None = None) -> Word:
    """The word with its offsets and its head moved; a head outside the first `size` words is dropped."""
    head = word.head + words
    inside = word.head >= 0 and head >= 0 and (size is None or head < size)
    return replace(word, start=word.start + chars, end=word.end + chars, head=head if inside else -1)


def _gap(misc: str) -> str:
    """Return the white space after a token, according to its MISC cell."""
    if misc == "_":
        return " "
    for item in misc.split("|"):
        if item == "SpaceAfter=No":
            return ""
        if item.startswith("SpacesAfter="):
            return _unescaped(item.removeprefix("SpacesAfter="))
    return " "


def _unescaped(spaces: str) -> str:
    for escape, space in ((r"\s", " "), (r"\t", "\t"), (r"\n", "\n"), (r"\r", "\r"), (r"\u00A0", "\u00a0")):
        spaces = spaces.replace(escape, space)
    return spaces if spaces.isspace() else " "
