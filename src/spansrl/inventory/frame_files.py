"""PropBank's frame files: XML in, rolesets out.

The XML is not trusted: a file with declarations of its own is refused, nothing outside the file is read, and
only what a roleset needs is kept. A file whose examples are broken is read without them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from xml.parsers import expat

from spansrl.errors import FormatError, counted

_NUMBERED = frozenset("0123456789")
_VERBNET = {"verbnet3.3": 0, "verbnet3.4": 1}  # version -> rank: links to the first are right more often
_CLASS = re.compile(r"[a-z_]+-[0-9]+(?:[.-][0-9]+)*", re.IGNORECASE)
_NO_NAME = frozenset({"", "nm", "expired"})  # a role that the class does not have, or has no more
_MISSPELLED = {
    "co_patiet": "co_patient",
    "cotheme": "co_theme",
    "experiencer??": "experiencer",
    "intial_location": "initial_location",
    "intial_state": "initial_state",
    "ptient": "patient",
    "theme000": "theme",
}
_ADVICE = "correct the file, or get the frames again"


@dataclass(frozen=True, slots=True)
class Roleset:
    """One sense: what it means, its roles, the words that have it, and what other resources call them.

    `roles` maps `0` … `6` and modifiers like `M-LOC` to what they mean; an alias is a part of speech
    and a word. `functions` and `thematic` have the function tags of numbered roles (`PAG`) and VerbNet's
    names for them (`agent`); `classes` and `frames` are VerbNet's and FrameNet's.
    """

    id: str
    name: str
    roles: dict[str, str] = field(default_factory=dict)
    aliases: list[tuple[str, str]] = field(default_factory=list)
    functions: dict[str, str] = field(default_factory=dict)
    thematic: dict[str, str] = field(default_factory=dict)
    classes: list[str] = field(default_factory=list)
    frames: list[str] = field(default_factory=list)


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
        self._role = ""  # the number of the last role, if it is a new one
        self._classes: list[tuple[int, str]] = []  # of the roleset, by the rank of their version
        self._link: list[str] | None = None  # the text of a role's link to VerbNet
        self._rank = 0
        self._ranks: dict[str, int] = {}  # of the links that were taken
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
            self._role, self._ranks, self._classes = "", {}, []
        elif self.current is None:
            return
        elif tag == "role":
            self._role = _add_role(self.current, attributes)
        elif tag == "rolelink" and self._role and attributes.get("resource") == "VerbNet":
            self._rank = _VERBNET.get(attributes.get("version", ""), len(_VERBNET))
            self._link = []
            self.parser.CharacterDataHandler = self._link.append
        elif tag == "lexlink":
            self._add_link(self.current, attributes)
        elif tag == "alias":
            self._part_of_speech, self._alias = attributes.get("pos", ""), []
            self.parser.CharacterDataHandler = self._alias.append

    def end(self, tag: str) -> None:
        self._depth -= 1
        if self.current is None:
            return
        if tag == "roleset":
            best = min((rank for rank, _ in self._classes), default=0)
            self.current.classes.extend(dict.fromkeys(name for rank, name in self._classes if rank == best))
            self.rolesets.append(self.current)
            self.current = None
        elif tag == "rolelink" and self._link is not None:
            name = "_".join("".join(self._link).lower().replace("-", "_").split())
            name = _MISSPELLED.get(name, name)
            if name not in _NO_NAME and self._rank < self._ranks.get(self._role, len(_VERBNET) + 1):
                self.current.thematic[self._role] = name
                self._ranks[self._role] = self._rank
            self._link = self.parser.CharacterDataHandler = None
        elif tag == "alias" and self._alias is not None:
            word = "_".join("".join(self._alias).lower().split())
            if word:
                self.current.aliases.append((self._part_of_speech, word))
            self._alias = self.parser.CharacterDataHandler = None

    def _add_link(self, roleset: Roleset, attributes: dict[str, str]) -> None:
        resource, name = attributes.get("resource", "").lower(), attributes.get("class", "").strip()
        if resource == "verbnet" and (found := _CLASS.match(name)):
            self._classes.append((_VERBNET.get(attributes.get("version", ""), len(_VERBNET)), found[0]))
        elif resource == "framenet" and name not in {*_NO_NAME, *roleset.frames}:
            roleset.frames.append(name)

    def _fault(self, what: str) -> FaultError:
        return FaultError(what, self.parser.CurrentLineNumber)


def _add_role(roleset: Roleset, attributes: dict[str, str]) -> str:
    """Add a role, unless there is one of this name: a name that appears twice is a mistake in the frame.

    Returns the number of a new one.
    """
    number = attributes.get("n", "").strip().upper()
    if number == "M":
        number = f"M-{attributes.get('f', '').strip().upper()}"
    elif number not in _NUMBERED:
        return ""
    if number in roleset.roles:
        return ""
    roleset.roles[number] = _tidy(attributes.get("descr", ""))
    if number not in _NUMBERED:
        return ""
    if function := attributes.get("f", "").strip().upper():
        roleset.functions[number] = function
    return number


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
