"""English inflection by rules: how verbs, nouns and adjectives take their endings, and how that is spelled.

>>> infinitive("stopping"), infinitive("hoping"), singular("studies"), positive("bigger")
('stop', 'hope', 'study', 'big')
"""

from __future__ import annotations

import re


def _forms(table: str) -> dict[str, str]:
    """Form -> lemma, from lines of `lemma form form, lemma form …`."""
    entries = (entry.split() for entry in table.replace("\n", ",").split(",") if entry.strip())
    return {form: lemma for lemma, *forms in entries for form in forms}


# Forms of auxiliaries, with contractions as the treebank splits them.
AUXILIARIES = _forms("""
    be am is are was were been being 's 'm 're s m re ai, have has had having 've ve 'd
    do does did done doing, can ca, will wo 'll ll, shall sha, not n't nt
""")

IRREGULAR_VERBS = _forms("""
    abide abode, arise arose arisen, awake awoke awoken, bear bore borne born, beat beaten, become became
    beget begot begotten, begin began begun, behold beheld, bend bent, bereave bereft, beseech besought
    bid bade bidden, bind bound, bite bit bitten, bleed bled, blow blew blown, break broke broken
    breed bred, bring brought, build built, burn burnt, buy bought, catch caught, choose chose chosen
    cling clung, come came, creep crept, deal dealt, dig dug, draw drew drawn, dream dreamt
    drink drank drunk, drive drove driven, dwell dwelt, eat ate eaten, fall fell fallen, feed fed, feel felt
    fight fought, find found, flee fled, fling flung, fly flew flown, forbid forbade forbidden
    foresee foresaw foreseen, forget forgot forgotten, forgive forgave forgiven, forgo forwent forgone
    forsake forsook forsaken, freeze froze frozen, get got gotten, give gave given, go went gone goes
    grind ground, grow grew grown, hang hung, hear heard, hide hid hidden, hold held, keep kept, kneel knelt
    know knew known, lead led, lean leant, leap leapt, learn learnt, leave left, lend lent, lie lain
    light lit, lose lost, make made, mean meant, meet met, mislead misled, mistake mistook mistaken
    outgrow outgrew outgrown, overcome overcame, overhear overheard, override overrode overridden
    oversee oversaw overseen, overtake overtook overtaken, overthrow overthrew overthrown
    partake partook partaken, pay paid, plead pled, prove proven, rebuild rebuilt, redo redid redone
    repay repaid, retake retook retaken, rewrite rewrote rewritten, ride rode ridden, ring rang rung
    rise rose risen, run ran, say said, see saw seen, seek sought, sell sold, send sent, sew sewn
    shake shook shaken, shear shorn, shine shone, shoot shot, show shown, shrink shrank shrunk
    sing sang sung, sink sank sunk, sit sat, slay slew slain, sleep slept, slide slid, sling slung
    slink slunk, smell smelt, smite smote smitten, sow sown, speak spoke spoken, speed sped, spell spelt
    spend spent, spill spilt, spin spun, spit spat, spoil spoilt, spring sprang sprung, stand stood
    steal stole stolen, stick stuck, sting stung, stink stank stunk, stride strode stridden
    strike struck stricken, string strung, strive strove striven, swear swore sworn, sweep swept
    swell swollen, swim swam swum, swing swung, take took taken, teach taught, tear tore torn, tell told
    think thought, throw threw thrown, tread trod trodden, undergo underwent undergone
    understand understood, undertake undertook undertaken, undo undid undone, unwind unwound, uphold upheld
    wake woke woken, wear wore worn, weave wove woven, weep wept, win won, wind wound
    withdraw withdrew withdrawn, withhold withheld, withstand withstood, wring wrung, write wrote written
    agree agreed, disagree disagreed, free freed, guarantee guaranteed, decree decreed, referee refereed
    die dying, lie lying, tie tying, untie untying, vie vying, dye dyeing, mimic mimicked mimicking
    panic panicked panicking, traffic trafficked trafficking, quiz quizzed quizzing
""")

_IRREGULAR_NOUNS = _forms("""
    child children, foot feet, tooth teeth, goose geese, mouse mice, life lives, wife wives, knife knives
    half halves, shelf shelves, thief thieves, leaf leaves, loaf loaves, wolf wolves, crisis crises
    analysis analyses, basis bases, hypothesis hypotheses, diagnosis diagnoses, thesis theses
    synthesis syntheses
""")

_IRREGULAR_ADJECTIVES = _forms("good better best, bad worse worst, far farther further farthest furthest")

# Endings of verbs without -ed or -ing; the first match decides whether an e is missing (hop|ed, stay|ed).
_MISSES_E = tuple(
    (re.compile(f"(?:{ending})$"), misses_e)
    for ending, misses_e in (
        (r"iat|uat|creat|suad|quir|quot|guid", True),  # appreciate, persuade, require
        (r"ch?ang|rrang|[ln]eng|[lp]ung|(?:^|[^aeiou])[htwp]ast", True),  # change, arrange, challenge, taste
        (r"breath|teeth|sooth|loath|cloth|bath|seeth|wreath", True),
        (r"plet|delet|pet|ven|dher|ever|rfer", True),  # complete, intervene, adhere
        (r"ss|zz|[wxyh]|foc?us|ng|ead|eed", False),
        (r"[cvz]|[^aeo]u|[^s]s|dg|[^aeiounq][aeiou]?g|[aeiou]g", True),  # force, move, argue, close, manage
        (r"[^aeiourwl]l", True),  # handle, settle
        (r"[aeiou][aeiou][a-z]", False),  # treat, join, sound
        (r"^[^aeiou]*(?:qu)?[aeiouy][bcdgkmlnprt]", True),  # one syllable: hope, date, rule
        # describe, include, assume, prepare
        (r"[iu][bdmnr]|[au]l|(?<!ev)(?<!er)il|[aioeu]d|[au][tmr]|[aio]k", True),
        # invite, explore
        (r"(?:[cnv]|sp|ped|rad|wr)it|[vmn]ot|com|plor|gnor|stor|phon|pon|hal|[ns]ol|scap", True),
    )
)
_SIGNAL = re.compile(r"(?:gn|t|v)al$")  # signal, total, rival: no e, unlike schedule
_DOUBLED = re.compile(r"(?:([bdgkmnprtv])\1|[aeiou][^aeiou]+[eo]ll)$")  # stopp|ed, travell|ed, controll|ed
_KEEPS_DOUBLE = re.compile(r"(?:^add|^egg|^ebb|^err|purr|boycott|[^t]roll|[ds]well|sp?ell)$")
_TAKES_ES = re.compile(r"(?:ss|sh|ch|x|zz|[^o]o)es$")
_VOWEL = re.compile(r"[aeiouy]")


def infinitive(form: str) -> str:
    if (lemma := AUXILIARIES.get(form) or IRREGULAR_VERBS.get(form)) is not None:
        return lemma
    for ending in ("ing", "ed"):
        stem = form.removesuffix(ending)
        if stem != form and len(stem) > 1 and _VOWEL.search(stem) and not form.endswith("eed"):
            if ending == "ed" and stem.endswith("i"):
                return stem + "e" if len(stem) == 2 else stem[:-1] + "y"  # tie|d, tr|ied
            return _whole(stem)
    return _without_s(form)


def singular(form: str) -> str:
    if (lemma := _IRREGULAR_NOUNS.get(form)) is not None:
        return lemma
    if form.endswith("men") and len(form) > 4:
        return form[:-2] + "an"
    return _without_s(form)


def positive(form: str) -> str:
    """The base form of a lower-cased adjective, where its spelling shows that it is a comparative."""
    if (lemma := _IRREGULAR_ADJECTIVES.get(form)) is not None:
        return lemma
    for ending in ("er", "est"):
        stem = form.removesuffix(ending)
        if stem == form or len(stem) < 3:
            continue
        if stem.endswith("i"):
            return stem[:-1] + "y"
        if stem[-1] == stem[-2] and stem[-1] in "bdgmnt":
            return stem[:-1]
    return form


def _whole(stem: str) -> str:
    """A verb from what is left of it before -ed or -ing."""
    if _DOUBLED.search(stem) and not _KEEPS_DOUBLE.search(stem):
        return stem[:-1]
    if _SIGNAL.search(stem):
        return stem
    misses_e = next((answer for ending, answer in _MISSES_E if ending.search(stem)), False)
    return stem + "e" if misses_e else stem


def _without_s(form: str) -> str:
    if not form.endswith("s") or len(form) < 4 or form.endswith(("ss", "us", "is", "'s")):
        return form
    if form.endswith("ies"):
        return form[:-1] if len(form) == 4 else form[:-3] + "y"  # dies, tries
    return form[:-2] if _TAKES_ES.search(form) else form[:-1]
