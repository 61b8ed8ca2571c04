// A predicate in plain English: the sentence's words in order, with what each part is in parentheses.

import { element } from "./dom.js";
import { UNSURE } from "./layout.js";
import { nameOf } from "./roles.js";
import { marksOf, predicateWords, senseOf, spaceBefore } from "./sentence.js";

const SELF_EXPLAINING = /^R-|^A(RG)?M-(MOD|NEG|DIS)$/; // "who", "would", "not", "but"
const LONGEST_GAP = 8; // tokens without a role between two parts

export function readingOf(sentence, prop) {
  const words = element("span", { class: "reading-words" });
  let at = null;
  for (const mark of outermost(marksOf(sentence, prop))) {
    if (at !== null) words.append(gap(sentence, at, mark.start));
    words.append(at !== null && spaceBefore(sentence, mark.start) ? " " : "", ...part(sentence, mark));
    at = mark.end;
  }
  return element("li", {}, words, " ", senseLine(prop));
}

// Predicates without arguments, on one line.
export function bareReading(sentence, props) {
  const parts = props.flatMap((prop, k) => [k ? ", " : " ", element("strong", {}, predicateWords(sentence, prop)), " ", senseLine(prop)]);
  return element("li", {}, element("span", { class: "quiet" }, "Without arguments:"), ...parts);
}

function senseLine(prop) {
  const sense = element("button", { type: "button", class: "sense", "data-pred": prop.pred, title: "About this predicate" }, senseOf(prop));
  return element("span", { class: "quiet sense-line" }, sense, prop.definition ? ` ${prop.definition}` : "");
}

function part(sentence, mark) {
  const text = joined(sentence, mark.start, mark.end);
  if (mark.arg === null) return [element("strong", { class: "verb" }, text)];
  const strong = element("strong", { class: mark.group }, text);
  if (SELF_EXPLAINING.test(mark.arg.role)) return [strong];
  return [strong, " ", element("em", {}, `(${nameOf(mark.arg).replace(/^… /, "")}${mark.prob < UNSURE ? "?" : ""})`)];
}

function gap(sentence, start, end) {
  if (start >= end) return "";
  if (end - start > LONGEST_GAP) return " …";
  return (spaceBefore(sentence, start) ? " " : "") + joined(sentence, start, end);
}

// Models never return overlapping arguments, but files may.
function outermost(marks) {
  return marks.filter((mark, k) => !marks.slice(0, k).some((other) => mark.start < other.end));
}

function joined(sentence, start, end) {
  let text = "";
  for (let k = start; k < end; k += 1) text += (k > start && spaceBefore(sentence, k) ? " " : "") + sentence.tokens[k];
  return text;
}
