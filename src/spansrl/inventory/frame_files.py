"""PropBank's frame files: XML in, rolesets out.

The XML is not trusted: a file with declarations of its own is refused, nothing outside the file is read, and
only what a roleset needs is kept. A file whose examples are broken is read without them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.parsers import expat

from spansrl.errors import FormatError, counted

_NUMBERED = frozenset("0123456789")
_ADVICE = "correct the file, or get the frames again"


@dataclass(frozen=True, slots=True)
class Roleset:
    """One sense: what it means, its roles, and the words that have it.

    `roles` maps `0` … `6` and modifiers like `M-LOC` to what they mean; an alias is a part of speech
    and a word.
    """

    id: str
    name: str
    roles: dict[str, str] = field(default_factory=dict)
    aliases: list[tuple[str, str]] = field(default_factory=list)


def read_frame_file(content: bytes, path: str) -> tuple[list[Roleset], FormatError | None]:
    """The rolesets of a file, and what is wrong with it if anything.

    A broken file gives the rolesets that can be read without its examples; the error has their number.
    """
    reader = FrameReader()
    fault = reader.read(content)
    if fault is None:
        return reader.rolesets, None
    retry = FrameReader()
    is_whole = retry.read(_without_examples(content)) is None
    kept = retry.rolesets if is_whole else max(reader.rolesets, retry.rolesets, key=len)
    message = f"{fault}; {_outcome(len(kept), is_whole)}"
    return kept, FormatError(message, path=path, line=fault.line)


def _outcome(kept: int, is_whole: bool) -> str:
    """What was kept of a broken file, and what to do about it."""
    if not kept:
        return f"nothing of it is kept: {_ADVICE}"
    number = counted(kept, "roleset")
    if is_whole:
        return f"only its examples are broken, which are not needed: {number} kept, nothing to do"
    return f"{number} kept, others may be missing: {_ADVICE}"


class FaultError(Exception):
    def __init__(self, what: str, line: int | None = None) -> None:
        super().__init__(what)
        self.line = line


class FrameReader:
    """Handlers of one parse; `rolesets` holds those that were closed."""

    def __init__(self) -> None:
        self.rolesets: list[Roleset] = []
        self.current: Roleset | None = None
        self._alias: list[str] | None = None
        self._part_of_speech = ""
        self._depth = 0
        self.parser = expat.ParserCreate()
        self.parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        self.parser.StartDoctypeDeclHandler = self._check_doctype
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end

    def read(self, content: bytes) -> FaultError | None:
        """Read a file as far as it goes; returns what is wrong with it, if anything."""
        try:
            self.parser.Parse(content, True)
        except expat.ExpatError as error:
            return FaultError(f"invalid XML ({expat.ErrorString(error.code)})", error.lineno)
        except (ValueError, LookupError) as error:  # an unknown encoding
            return FaultError(str(error))
        except FaultError as fault:
            return fault
        return None

    def _check_doctype(self, name: str, system: str | None, public: str | None, has_subset: bool) -> None:
        """Refuse declarations in the file: entities and default attributes can make a small file huge."""
        if has_subset:
            raise self._fault("the file has its own DTD, which a frame file does not need")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if self._depth == 0 and tag != "frameset":
            raise self._fault(f"the outermost element is '{tag}', expected 'frameset'")
        self._depth += 1
        if tag == "roleset":
            if not (name := attributes.get("id", "").strip()):
                raise self._fault("a roleset has no id")
            self.current = Roleset(name, _tidy(attributes.get("name", "")))
        elif self.current is None:
            return
        elif tag == "role":
            _add_role(self.current, attributes)
        elif tag == "alias":
            self._part_of_speech, self._alias = attributes.get("pos", ""), []
            self.parser.CharacterDataHandler = self._alias.append

    def end(self, tag: str) -> None:
        self._depth -= 1
        if self.current is None:
            return
        if tag == "roleset":
            self.rolesets.append(self.current)
            self.current = None
        elif tag == "alias" and self._alias is not None:
            word = "_".join("".join(self._alias).lower().split())
            if word:
                self.current.aliases.append((self._part_of_speech, word))
            self._alias = self.parser.CharacterDataHandler = None

    def _fault(self, what: str) -> FaultError:
        return FaultError(what, self.parser.CurrentLineNumber)


def _add_role(roleset: Roleset, attributes: dict[str, str]) -> None:
    """Add a role, unless there is one of this name: a name that appears twice is a mistake in the frame."""
    number = attributes.get("n", "").strip().upper()
    if number == "M":
        number = f"M-{attributes.get('f', '').strip().upper()}"
    elif number not in _NUMBERED:
        return
    roleset.roles.setdefault(number, _tidy(attributes.get("descr", "")))


def _tidy(text: str) -> str:
    """The text in one line, its first word or all words of a title in lower case, except words like `TV`."""
    words = text.split()
    capitals = [word[:1].isupper() for word in words]
    plain = len(words) if len(words) > 1 and all(capitals) else 1
    for k, word in enumerate(words[:plain]):
        if (len(word) == 1 or word[1:].islower()) and word != "I":
            words[k] = word.lower()
    return " ".join(words)


def _without_examples(content: bytes) -> bytes:
    """The file without its examples; their line ends are kept, so that lines keep their numbers."""
    kept, offset = [], 0
    while (start := content.find(b"<example", offset)) >= 0:
        end = content.find(b"</example>", start)
        if end < 0:
            break
        end += len(b"</example>")
        kept += [content[offset:start], b"\n" * content.count(b"\n", start, end)]
        offset = end
    return b"".join((*kept, content[offset:]))
