// Reading a labeled sentence of the wire format: its words, its predicates, its marks.

import { groupOf, isModifier, nameOf } from "./roles.js";

// Offsets count code points, JavaScript's strings count UTF-16 units.
export function wordsOf(sentence, start, end) {
  if (!sentence.text || !sentence.offsets) return sentence.tokens.slice(start, end).join(" ");
  const characters = Array.from(sentence.text);
  return characters.slice(sentence.offsets[start][0], sentence.offsets[end - 1][1]).join("");
}

// Whether there is a space before the token.
export function spaceBefore(sentence, index) {
  return index > 0 && !(sentence.offsets && sentence.offsets[index][0] === sentence.offsets[index - 1][1]);
}

export function predicateSpans(prop) {
  return prop.v?.length ? prop.v : [[prop.pred, prop.pred + 1]];
}

// "picked up" of "picked it up"
export function predicateWords(sentence, prop) {
  return predicateSpans(prop).map(([start, end]) => wordsOf(sentence, start, end)).join(" ");
}

export const senseOf = (prop) => prop.sense ?? prop.lemma ?? "";

// One mark per labeled span: the pieces of the predicate, and its arguments, from left to right.
export function marksOf(sentence, prop) {
  const pieces = predicateSpans(prop).map(([start, end], k) => ({
    start, end, arg: null, group: "predicate", modifier: false, prob: prop.prob,
    name: k ? "" : senseOf(prop) || wordsOf(sentence, prop.pred, prop.pred + 1), code: "",
  }));
  const args = prop.args.map((arg) => ({
    start: arg.start, end: arg.end, arg, group: groupOf(arg.role), modifier: isModifier(arg.role), prob: arg.prob,
    name: nameOf(arg), code: nameOf(arg) === arg.role ? "" : arg.role,
  }));
  return [...pieces, ...args].sort((a, b) => a.start - b.start || b.end - a.end);
}
