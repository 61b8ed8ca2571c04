"""FrameIndex: the senses of PropBank's frames with their roles and words."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any

from spansrl.inventory.frame_files import Roleset
from spansrl.inventory.roles import Role, SenseLinks
from spansrl.structures import Proposition, Sentence

PARTS_OF_SPEECH = {"v": "verb", "n": "noun", "j": "adjective"}
_TAGS = {"verb": "v", "auxiliary": "v", "noun": "n", "adjective": "j"}
_NUMBERED = re.compile(r"A(?:RG)?([0-9])(?:-[A-Z]+)?")  # sometimes with a function: ARG1-DSP
_MODIFIER = re.compile(r"(?:AM|ARGM)-(.+)")
_AGENT_OF_CAUSE = ("AA", "ARGA")
_CORE = re.compile(r"A(?:RG)?([0-5])")  # by the shared task's rules ARGA is none
_GROUPS = {
    "time": ("TMP",),
    "place": ("LOC", "DIR", "GOL"),
    "manner": ("MNR", "CAU", "PRP", "PNC", "EXT", "COM", "PRD", "REC"),
}
_GROUP = {modifier: group for group, modifiers in _GROUPS.items() for modifier in modifiers}

# What modifiers mean with any sense; PropBank has no such texts.
MODIFIERS = {
    "ADJ": "description",
    "ADV": "circumstance",
    "CAU": "cause",
    "COM": "companion",
    "CXN": "construction",
    "DIR": "direction",
    "DIS": "discourse",
    "DSP": "direct speech",
    "EXT": "extent",
    "GOL": "goal or beneficiary",
    "LOC": "location",
    "LVB": "light verb",
    "MNR": "manner",
    "MOD": "modality",
    "NEG": "negation",
    "PNC": "purpose",
    "PRD": "state or attribute",
    "PRP": "purpose",
    "PRR": "nominal predicate of a light verb",
    "PRX": "predicate of a construction",
    "REC": "reciprocity",
    "STR": "stranded phrase",
    "TMP": "time",
}

# id -> definition and roles; part of speech -> word -> ids; id -> links, as JSON has them
Entries = dict[str, tuple[str, dict[str, str]]]
Aliases = dict[str, dict[str, list[str]]]
Links = dict[str, SenseLinks]

# Texts of the frames that no rule makes readable.
_REWORDED = {
    "cf give": "give",
    "kennenlernen-- come upon, become acquainted with initially": "come upon, become acquainted with",
    "scaredy cat": "one who is afraid",
    "sterben": "stop living",
    "the Terminator": "one who ends something",
}
_MISSPELLED = {"diretion": "direction", "seperate": "separate", "splilling": "spilling"}
_LEADING = re.compile(r"[(\[]([^()\[\]]*)[)\]]")  # needed for the rest: (cause to) fit
_INSIDE = re.compile(r"\s?\([^()]*\)")
_SEE_ALSO = re.compile(r"^cf\.? [^,]*(?:, |$)")
_NOTE = re.compile(
    r"[;(].*|\s*--.*|\s+-\s.*|:\s+(?:what|which|who|where|how)\b.*"
    r"|,?\s*\b(?:cf|e\.?g|i\.?e)\b\.?.*|,?\s+(?:animate\s+)?only\s*$"
)
_LONGEST = 60  # characters


@lru_cache(maxsize=1024)
def propbank_role(name: str) -> Role:
    """A role in the spelling of CoNLL-2005 (A0, R-A0) or of PropBank (ARG0, C-ARG1)."""
    if name.startswith("C-"):
        return Role(name, continues=name[2:])
    return (
        Role(name, refers_to=name[2:]) if name.startswith("R-") else Role(name, bool(_CORE.fullmatch(name)))
    )


_NO_LINKS = SenseLinks()


@lru_cache(maxsize=4096)
def without_notes(text: str) -> str:
    """A text of the frames without the remarks for annotators; long ones are cut to their first alternatives.

    >>> without_notes("agent, hitter - animate only!"), without_notes("cf offer, suggestion (of something)")
    ('agent, hitter', 'suggestion')
    """
    if text in _REWORDED:
        return _REWORDED[text]
    if leading := _LEADING.match(text):
        text = leading[1] + text[leading.end() :]
    text = _NOTE.sub("", _INSIDE.sub("", _SEE_ALSO.sub("", text)).replace("!", ""), count=1).strip(" ,.:/")
    text = " ".join(_MISSPELLED.get(word, word) for word in text.split())
    while len(text) > _LONGEST and ", " in text:
        text = text.rpartition(", ")[0]
    return textwrap.shorten(text, _LONGEST + 10, placeholder=" …")


class FrameIndex:
    """Senses (`keep.01`) with their definitions and roles, and an index of words: a RoleInventory."""

    def __init__(
        self,
        entries: Entries,
        aliases: Aliases,
        heads: Aliases,
        links: Links | None = None,
        own: Mapping[str, Any] | None = None,
    ) -> None:
        self._entries = entries
        self._links = links or {}  # of senses that have any
        self._aliases = aliases
        self._heads = heads  # the first parts of words with particles
        # What models learn rolesets from that are not in the package: functions, thematic roles, examples.
        self._own = own or {}

    @classmethod
    def of(cls, rolesets: Iterable[Roleset]) -> FrameIndex:
        """Index rolesets; if an id appears twice, the first one counts."""
        entries: Entries = {}
        aliases: Aliases = {tag: {} for tag in PARTS_OF_SPEECH}
        heads: Aliases = {tag: {} for tag in PARTS_OF_SPEECH}
        links: Links = {}
        for roleset in rolesets:
            if roleset.id in entries:
                continue
            entries[roleset.id] = (roleset.name, roleset.roles)
            frame = roleset.frames[0] if len(roleset.frames) == 1 else None
            own = SenseLinks(tuple(roleset.classes), frame, roleset.thematic, roleset.functions)
            if any(own):
                links[roleset.id] = own
            for tag, word in roleset.aliases:
                if tag in PARTS_OF_SPEECH:
                    aliases[tag].setdefault(word, []).append(roleset.id)
                    if head := word.partition("_")[0] if "_" in word else "":
                        heads[tag].setdefault(head, []).append(roleset.id)
        return cls(entries, _in_order(aliases), _in_order(heads), links)

    def over(self, other: FrameIndex) -> FrameIndex:
        """These frames, and the rolesets of others that are not among them."""
        entries = {**other._entries, **self._entries}

        def joined(ours: Aliases, theirs: Aliases) -> Aliases:
            tables = {tag: dict(words) for tag, words in ours.items()}
            for tag, words in theirs.items():
                for word, senses in words.items():
                    kept = [sense for sense in senses if sense not in self._entries]
                    if kept:
                        table = tables.setdefault(tag, {})
                        table[word] = [*table.get(word, ()), *kept]
            return tables

        return FrameIndex(
            entries,
            joined(self._aliases, other._aliases),
            joined(self._heads, other._heads),
            {**{k: own for k, own in other._links.items() if k not in self._entries}, **self._links},
            self._own,
        )

    def with_examples(
        self, rolesets: Iterable[Roleset], examples: Mapping[str, Sequence[tuple[Sequence[str], int]]]
    ) -> FrameIndex:
        """The same frames with what models learn rolesets from: tokens, and the index of a predicate."""
        own = {
            roleset.id: [roleset.functions, roleset.thematic, list(examples.get(roleset.id, ()))]
            for roleset in rolesets
        }
        return FrameIndex(self._entries, self._aliases, self._heads, self._links, own)

    def to_learn(self) -> tuple[list[Roleset], list[Sentence]]:
        """Rolesets that no model has seen, and sentences with their predicates."""
        rolesets, examples = [], []
        for sense, (functions, thematic, own) in self._own.items():
            name, roles = self._entries[sense]
            aliases = [(_TAGS[type], word) for word, type in self.words(sense)]
            rolesets.append(Roleset(sense, name, roles, aliases, functions, thematic))
            examples += [Sentence(tuple(tokens), (Proposition(pred, sense=sense),)) for tokens, pred in own]
        return rolesets, examples

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, sense: object) -> bool:
        return sense in self._entries

    def role(self, name: str) -> Role:
        return propbank_role(name)

    def short(self, role: str) -> str:
        """The role in fewer letters.

        >>> PROPBANK.short("ARG0"), PROPBANK.short("R-ARG1"), PROPBANK.short("ARGM-TMP")
        ('A0', 'R-A1', 'TMP')
        """
        return role.replace("ARGM-", "").replace("AM-", "").replace("ARG", "A")

    def group(self, role: str) -> str:
        """The group of a role.

        >>> [PROPBANK.group(role) for role in ("ARG0", "R-A0", "AM-TMP", "ARGM-MOD")]
        ['arg0', 'arg0', 'time', 'clause']
        """
        base = propbank_role(role).base
        if core := _CORE.fullmatch(base):
            return f"arg{core[1]}"
        return "arg5" if base in _AGENT_OF_CAUSE else _GROUP.get(base.rpartition("-")[2], "clause")

    def definition(self, sense: str) -> str | None:
        """Return the definition of a sense, or None if the frames do not have it."""
        entry = self._entries.get(sense)
        return None if entry is None else without_notes(entry[0])

    def roles(self, sense: str) -> Mapping[str, str] | None:
        """Return the roles of a sense with their meanings: ARG0, ARGM-LOC."""
        if sense not in self._entries:
            return None
        return {f"ARG{role}": without_notes(text) for role, text in sorted(self._entries[sense][1].items())}

    def texts(self, sense: str) -> tuple[str, Mapping[str, str]]:
        """Return the definition of a sense and the meanings of its roles as the frames have them."""
        name, roles = self._entries[sense]
        return name, {f"ARG{role}": text for role, text in sorted(roles.items())}

    def links(self, sense: str | None) -> SenseLinks:
        """Return VerbNet's and FrameNet's names for a sense and its roles.

        >>> load_frames().links("keep.01").framenet
        {'0': 'agent', '1': 'theme', '2': 'recipient', '3': 'asset'}
        """
        return self._links.get(sense or "", _NO_LINKS)

    def thematic(self, sense: str | None, role: str) -> str | None:
        """Return VerbNet's name for a numbered role of a sense: `agent` for sell.01 and ARG0, A0 or R-A0."""
        return self.links(sense).thematic.get(number_of(role) or "")

    def function(self, sense: str | None, role: str) -> str | None:
        """Return the function tag of a role: `PAG` for sell.01 and ARG0; a modifier has its own, like TMP."""
        if not self._entries:
            return None
        number = number_of(role)
        if number is not None:
            return self.links(sense).functions.get(number)
        found = _MODIFIER.fullmatch(propbank_role(role).base)
        return None if found is None else found[1]

    def rules_out(self, sense: str, role: str) -> bool:
        """Whether the role is a numbered one (A2, ARG2, R-A2, C-A2) that the sense does not have."""
        number, entry = number_of(role), self._entries.get(sense)
        return number is not None and entry is not None and number not in entry[1]

    def meaning(self, sense: str | None, role: str) -> str | None:
        """Return the meaning of a role of a sense: `thing kept` for keep.01 and ARG1, A1, R-A1 or C-ARG1.

        A modifier without a meaning of its own for the sense has its general one.
        """
        if not self._entries:
            return None
        role = propbank_role(role).base
        own = self._entries[sense][1] if sense in self._entries else {}
        if numbered := _NUMBERED.fullmatch(role):
            return without_notes(own.get(numbered[1], "")) or None
        if modifier := _MODIFIER.fullmatch(role):
            return without_notes(own.get(f"M-{modifier[1]}", "")) or MODIFIERS.get(modifier[1])
        return "causer" if role in _AGENT_OF_CAUSE else None

    def rolesets(self, word: str, type: str | None) -> tuple[str, ...]:
        """Return the senses of a base form of this type, or of any; those of `word_particle` come last."""
        tags = PARTS_OF_SPEECH if type is None else (_TAGS.get(type, ""),)
        tables = (table.get(tag, {}) for table in (self._aliases, self._heads) for tag in tags)
        return tuple(dict.fromkeys(sense for words in tables for sense in words.get(word.lower(), ())))

    def words(self, sense: str) -> tuple[tuple[str, str], ...]:
        """Return the words that have the sense, with their types."""
        return self._words.get(sense, ())

    def beginning_with(self, word: str) -> Mapping[str, tuple[tuple[tuple[str, ...], str], ...]]:
        """Senses of a base form, each with the further words and the type of the expressions that have it.

        >>> FrameIndex.of([Roleset("call_off.06", "", aliases=[("v", "call_off")])]).beginning_with("call")
        {'call_off.06': ((('off',), 'verb'),)}
        """
        return self._beginnings.get(word, {})

    @cached_property
    def _beginnings(self) -> dict[str, dict[str, tuple[tuple[tuple[str, ...], str], ...]]]:
        found: dict[str, dict[str, tuple[tuple[tuple[str, ...], str], ...]]] = {}
        for tag, words in self._aliases.items():
            for word, senses in words.items():
                head, *rest = word.split("_")
                for sense in senses if all(rest) else ():
                    own = found.setdefault(head, {})
                    own[sense] = (*own.get(sense, ()), (tuple(rest), PARTS_OF_SPEECH[tag]))
        return found

    @cached_property
    def _words(self) -> dict[str, tuple[tuple[str, str], ...]]:
        found: dict[str, tuple[tuple[str, str], ...]] = {}
        for tag, words in self._aliases.items():
            for word, senses in words.items():
                for sense in senses:
                    found[sense] = (*found.get(sense, ()), (word, PARTS_OF_SPEECH[tag]))
        return found

    def to_dict(self) -> dict[str, Any]:
        tables = {"rolesets": self._entries, "aliases": self._aliases, "heads": self._heads}
        links = {sense: list(own) for sense, own in self._links.items()}
        return tables | {"links": links} | ({"own": self._own} if self._own else {})

    @classmethod
    def from_dict(cls, data: Any) -> FrameIndex:
        """Read what `to_dict` wrote, which is not checked; compare a digest first. Old ones have no links."""
        links = {
            sense: SenseLinks(tuple(classes), *rest)
            for sense, (classes, *rest) in data.get("links", {}).items()
        }
        return cls(data["rolesets"], data["aliases"], data["heads"], links, data.get("own"))


@lru_cache(maxsize=1024)  # a model asks about all of its roles for every predicate
def number_of(role: str) -> str | None:
    """The number of a core role: 2 for ARG2, A2, R-A2 and C-A2."""
    found = _NUMBERED.fullmatch(propbank_role(role).base)
    return None if found is None else found[1]


def _in_order(aliases: Aliases) -> Aliases:
    """Senses that are named after the word first, then by number."""

    def key(word: str, sense: str) -> tuple[bool, str, str]:
        stem, _, number = sense.rpartition(".")
        return stem != word, number, stem

    return {
        tag: {word: sorted(set(senses), key=lambda sense: key(word, sense)) for word, senses in words.items()}
        for tag, words in aliases.items()
    }


PROPBANK = FrameIndex({}, {}, {})  # PropBank's roles, without its frames
