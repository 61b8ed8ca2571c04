"""Each rule of docs/statements.md, on propositions written by hand."""

from __future__ import annotations

import re

import pytest

from spansrl import Argument, Proposition, Sentence, Span


def prop(marked: str) -> tuple[list[str], Proposition]:
    """Tokens and proposition of "[ARG0 Ann] [V:sell sold] [ARG1 it]"; V:lemma:type is the predicate."""
    tokens: list[str] = []
    args, v, lemma, kind = [], [], None, "verb"
    for role, inside, outside in re.findall(r"\[(\S+) ([^\]]*)\]|(\S+)", marked):
        words = (inside or outside).split()
        span = Span(len(tokens), len(tokens) + len(words))
        tokens += words
        if role.startswith(("V:", "C-V")):
            v.append(span)
            if role != "C-V":
                _, lemma, *rest = role.split(":")
                kind = rest[0] if rest else "verb"
        elif role:
            args.append(Argument(role, span))
    pieces = tuple(v) if len(v) > 1 or v[0].end - v[0].start > 1 else None
    return tokens, Proposition(v[0].start, tuple(args), lemma=lemma, v=pieces, type=kind)


def sentence(*marked: str) -> Sentence:
    parsed = [prop(one) for one in marked]
    tokens = parsed[0][0]
    assert all(other == tokens for other, _ in parsed)
    return Sentence(tuple(tokens), tuple(sorted((one for _, one in parsed), key=lambda one: one.pred)))


def said(*marked: str) -> list[str]:
    return [str(one) for one in sentence(*marked).statements()]


RULES = {
    "subject, relation, object": ("[ARG0 Ann] [V:sell sold] [ARG1 her car] .", "Ann | sell | her car"),
    "the agent of a passive": (
        "[ARG1 The bill] was [V:veto vetoed] [ARG0 by the president] .",
        "the president | veto | The bill",
    ),
    "a passive without agent": ("[ARG1 The bill] was [V:veto vetoed] .", "The bill | be vetoed | -"),
    "a passive with an object": ("[ARG2 I] was [V:give given] [ARG1 a book] .", "I | be given | a book"),
    "a reduced passive": (
        "[ARG1 The boy] [V:take taken] [ARG2 to Rome] sang .",
        "The boy | be taken to | Rome",
    ),
    "ARG1 as subject": ("[ARG1 The vase] [V:break broke] .", "The vase | break | -"),
    "ARG1 after the verb is an object": ("[V:close Close] [ARG1 the door] .", "- | close | the door"),
    "a particle": ("[ARG0 They] [V:turn turned] [ARG1 it] [C-V down] .", "They | turn down | it"),
    "a particle labeled as a direction": ("[ARG1 It] [V:come came] [ARGM-DIR down] .", "It | come down | -"),
    "a particle without a label": ("[ARG0 She] [V:turn turned] [ARG1 it] off .", "She | turn off | it"),
    "a prepositional object": ("[ARG0 She] [V:depend depends] [ARG1 on him] .", "She | depend on | him"),
    "a copula": ("[ARG1 She] [V:be is] [ARG2 a doctor] .", "She | be | a doctor"),
    "a copula with a preposition": ("[ARG1 She] [V:be is] [ARG2 in Rome] .", "She | be in | Rome"),
    "existential there": (
        "There [V:be are] [ARG1 two lakes] [ARGM-LOC on the map] .",
        "two lakes | be on | the map",
    ),
    "existential there alone": ("There [V:be are] [ARG1 two lakes] .", "two lakes | exist | -"),
    "there as a place": ("[ARG1 She] [V:be was] [ARG2 there] .", "She | be | there"),
    "a goal as object": (
        "[ARG0 A woman] [V:walk walked] [ARGM-GOL to the store] .",
        "A woman | walk to | the store",
    ),
    "a place as object": ("[ARG0 He] [V:live lives] [ARGM-LOC in Rome] .", "He | live in | Rome"),
    "what a subject seems to be": (
        "[ARG1 The staff] [V:seem seemed] [C-ARG1 friendly enough] .",
        "The staff | seem | friendly enough",
    ),
    "an adverb is not an object": ("[ARG1 Prices] [V:rise rose] [ARG2 sharply] .", "Prices | rise | -"),
    "no longer": ("[ARG1 It] is no longer [V:teach taught] .", "It | not be taught | -"),
    "a participle between commas": (
        "[ARG1 The gene] , first [V:describe described] [ARGM-LOC in mice] , is new .",
        "The gene | be described in | mice",
    ),
    "a relative pronoun": (
        "[ARG0 the tigers] , [R-ARG0 which] [V:kill killed] [ARG1 two goats]",
        "the tigers | kill | two goats",
    ),
    "a relative adverb": (
        "[ARGM-LOC the house] [R-ARGM-LOC where] [ARG0 he] [V:live lived]",
        "he | live in | the house",
    ),
    "pieces of an argument": (
        "[ARG1 Come in] , [V:say said] [ARG0 Ann] , [C-ARG1 and sit down] .",
        "Ann | say | Come in and sit down",
    ),
    "what a subject seems to do": (
        "[ARG1 The garden] [V:seem seems] [C-ARG1 to be empty] .",
        "The garden | seem | to be empty",
    ),
    "a noun": (
        "[ARG0 Rome 's] [V:destruction:noun destruction] [ARG1 of Carthage]",
        "Rome | destruction of | Carthage",
    ),
    "an adjective": ("[ARG0 He] is [V:fond:adjective fond] [ARG1 of cats]", "He | be fond of | cats"),
    "negation": ("[ARG0 He] did [ARGM-NEG not] [V:call call] .", "He | not call | -"),
    "a negative subject": ("[ARG0 Nobody] [V:like liked] [ARG1 it] .", "Nobody | not like | it"),
    "a negative object": ("[ARG0 We] [V:have have] [ARG1 no money] .", "We | not have | no money"),
    "without": ("He left without [V:pay paying] [ARG1 the bill] .", "- | not pay | the bill"),
    "hardly": ("[ARG0 He] [ARGM-ADV hardly] [V:eat eats] .", "He | not eat | -"),
}


@pytest.mark.parametrize(("marked", "statement"), RULES.values(), ids=RULES)
def test_a_rule_holds_for_its_example(marked, statement):
    assert said(marked) == [statement]


def test_a_relative_clause_is_left_out():
    marked = (
        "[ARG0 The man who lives there] [V:buy bought] [ARG1 it] .",
        "[ARG0 The man] [R-ARG0 who] [V:live lives] there bought it .",
    )
    assert said(*marked) == ["The man | live | -", "The man | buy | it"]


def test_a_light_verb_and_its_noun_are_one_relation():
    marked = (
        "He [V:take took] a [ARGM-PRR look] at it .",
        "[ARG0 He] [ARGM-LVB took] a [V:look:noun look] [ARG1 at it] .",
    )
    assert said(*marked) == ["He | take a look at | it"]


def test_an_infinitive_borrows_its_subject():
    tokens = "[ARG0 She] [V:want wants] [ARG1 to leave]", "She wants to [V:leave leave]"
    want, leave = sentence(*tokens).statements()
    assert (str(want), str(leave)) == ("She | want | to leave", "She | leave | -")
    assert leave.subject.borrowed
    assert leave.context == "want"


def test_the_subject_of_what_somebody_is_asked_to_do_is_that_person():
    marked = "[ARG0 He] [V:ask asked] [ARG2 me] [ARG1 to leave]", "He asked me to [V:leave leave]"
    assert said(*marked) == ["He | ask | me", "me | leave | -"]
    marked = "[ARG0 He] [V:promise promised] [ARG2 me] [ARG1 to leave]", "He promised me to [V:leave leave]"
    assert said(*marked)[1] == "He | leave | -"


def test_coordinated_verbs_share_their_subject():
    marked = "[ARG0 Ann] [V:sing sang] and danced", "Ann sang and [V:dance danced]"
    assert said(*marked) == ["Ann | sing | -", "Ann | dance | -"]


@pytest.mark.parametrize(
    ("marked", "context"),
    [
        (("[ARG0 He] [V:say said] [ARG1 that she left]", "He said that [ARG0 she] [V:leave left]"), "said"),
        (("[ARG0 He] [V:hope hopes] [ARG1 to win it]", "[ARG0 He] hopes to [V:win win] [ARG1 it]"), "want"),
        (("[ARG0 I] [V:stay stay] [ARGM-ADV if he calls]", "I stay if [ARG0 he] [V:call calls]"), "if"),
        (("If [ARG0 he] [V:call calls] , I stay .",), "if"),
        (("Did [ARG0 she] [V:call call] ?",), "question"),
        (("Please [V:close close] [ARG1 the door] !",), "imperative"),
        (("Do n't [V:close close] [ARG1 the door] !",), "imperative"),
        (("[ARG0 He] [V:close closed] [ARG1 the door] .",), None),
    ],
)
def test_a_statement_knows_what_it_is_embedded_in(marked, context):
    assert sentence(*marked).statements()[-1].context == context


def test_a_fact_in_a_relative_clause_is_not_embedded():
    outer = "[ARG0 He] [V:want wants] [ARG1 the car that I sold]"
    inner = "He wants [ARG1 the car] [R-ARG1 that] [ARG0 I] [V:sell sold]"
    assert [one.context for one in sentence(outer, inner).statements()] == [None, None]


def test_a_verb_that_denies_its_object_is_a_flag_of_its_own():
    marked = "[ARG1 He] [V:fail failed] [ARG2 to pay it]", "[ARG0 He] failed to [V:pay pay] [ARG1 it]"
    fail, pay = sentence(*marked).statements()
    assert (fail.denied_by, pay.denied_by, pay.negated) == (None, "fail", False)


def test_fields_modal_and_voice():
    marked = (
        "[ARG1 It] [ARGM-MOD must] be [V:sell sold] [ARGM-TMP on Monday] [ARGM-LOC in Rome] "
        "[ARGM-MNR quickly] [ARGM-CAU because of debts] [ARG3 for a dollar]"
    )
    one = sentence(marked).props[0].statement()
    assert (one.modal, one.voice) == ("must", "passive")
    assert [str(part) for part in (one.time, one.place, one.manner, one.cause)] == [
        "Monday",
        "Rome",
        "quickly",
        "debts",
    ]
    assert (str(one.object), one.relation) == ("a dollar", "be sold for")


def test_coordinated_subjects_and_objects_can_be_split():
    sent = sentence("[ARG0 Ann and Bob] [V:sell sold] [ARG1 apples , pears and a cup of tea]")
    split = [str(one) for one in sent.statements(split=True)]
    assert split[:3] == ["Ann | sell | apples", "Ann | sell | pears", "Ann | sell | a cup of tea"]
    assert len(split) == 6
    assert len(sent.statements()) == 1


def test_pronouns_of_the_first_and_second_person_refer_to_speaker_and_hearer():
    one = sentence("[ARG0 I] [V:call called] [ARG1 you]").props[0].statement()
    assert (one.subject.refers_to, one.object.refers_to) == ("speaker", "hearer")


def test_a_statement_points_back_to_its_proposition_and_its_characters():
    text = "Yes. Ann sold it to Bob."
    tokens = ("Ann", "sold", "it", "to", "Bob", ".")
    offsets = ((0, 3), (4, 8), (9, 11), (12, 14), (15, 18), (18, 19))
    args = (
        Argument("ARG0", Span(0, 1), 0.5),
        Argument("ARG1", Span(2, 3), 0.5),
        Argument("ARG2", Span(3, 5)),
    )
    sold = Proposition(1, args, lemma="sell", type="verb", prob=0.5)
    sent = Sentence(tokens, (sold,), text=text[5:], offsets=offsets, char_start=5)
    one = sent.props[0].statement()
    assert one.prop is sent.props[0]
    row = one.row()
    for name in ("subject", "object"):
        assert text[row[f"{name}_start"] : row[f"{name}_end"]] == row[name]
    assert text[row["relation_start"] : row["relation_end"]] == "sold"
    assert (row["others"], row["text"]) == ("ARG2: to Bob", text[5:])
    assert one.prob == pytest.approx(0.125)
    assert one.to_dict()["others"][0]["char_end"] == len(text) - 1


def test_auxiliaries_have_no_statements():
    sent = sentence("Ann has sold it".replace("has", "[V:have:auxiliary has]"))
    assert sent.statements() == ()
