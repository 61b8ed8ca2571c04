// The card of a span or predicate: role, meaning, probability, the sense's definition and roles, other senses.

import { byId, element, percent } from "./dom.js";
import { baseRole, meaningOf } from "./roles.js";
import { predicateWords, senseOf, wordsOf } from "./sentence.js";

const SENSES_AT_ONCE = 4;

export function openCard(opener, sentence, prop, arg) {
  const dialog = byId("card");
  byId("card-title").textContent = arg ? wordsOf(sentence, arg.start, arg.end) : predicateWords(sentence, prop);
  byId("card-body").replaceChildren(...(arg ? argumentPart(sentence, prop, arg) : []), ...predicatePart(sentence, prop, arg));
  dialog.showModal();
  byId("card-body").scrollTop = 0;
  moveBeside(dialog, opener);
  dialog.addEventListener("close", () => opener.focus({ preventScroll: true }), { once: true });
}

export function setUpCard() {
  const dialog = byId("card");
  byId("card-close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close(); // the backdrop: everything else is inside a child
  });
}

// Below the mark where there is room, otherwise above; on a phone the style sheet puts it at the bottom.
function moveBeside(dialog, opener) {
  dialog.style.left = dialog.style.top = "";
  if (matchMedia("(max-width: 40rem)").matches) return;
  const mark = opener.getBoundingClientRect(), own = dialog.getBoundingClientRect(), edge = 12;
  const below = mark.bottom + 8;
  const top = below + own.height + edge <= innerHeight ? below : Math.max(edge, mark.top - own.height - 8);
  dialog.style.left = `${Math.max(edge, Math.min(mark.left, innerWidth - own.width - edge))}px`;
  dialog.style.top = `${Math.max(edge, Math.min(top, innerHeight - own.height - edge))}px`;
}

function argumentPart(sentence, prop, arg) {
  const facts = [["Role", element("strong", {}, arg.role)]];
  const meaning = meaningOf(arg);
  if (meaning) facts.push(["Meaning", meaning]);
  if (arg.thematic) facts.push(["VerbNet role", arg.thematic]);
  if (arg.function && !arg.role.endsWith(arg.function)) facts.push(["Function", arg.function]);
  if (arg.role.startsWith("R-")) facts.push(["R-", `a word that refers back to the ${baseRole(arg.role)}`]);
  if (arg.role.startsWith("C-")) facts.push(["C-", `a further piece of the ${baseRole(arg.role)}`]);
  facts.push(["Predicate", predicateWords(sentence, prop)]);
  if (arg.prob !== undefined) facts.push(["Probability", likelihood(arg.prob)]);
  return [list(facts), element("hr")];
}

function predicatePart(sentence, prop, arg) {
  const facts = [["Sense", element("strong", {}, senseOf(prop) || "not known")]];
  if (prop.definition) facts.push(["Definition", prop.definition]);
  if (prop.verbnet) facts.push(["VerbNet class", prop.verbnet.join(", ")]);
  if (prop.framenet) facts.push(["FrameNet frame", prop.framenet]);
  if (prop.sense_prob !== undefined) facts.push(["Probability", likelihood(prop.sense_prob)]);
  if (prop.type) facts.push(["Type", prop.type + (prop.prob === undefined ? "" : ` (probability ${percent(prop.prob)})`)]);
  return [list(facts), ...rolesPart(sentence, prop, arg), ...othersPart(prop)];
}

function rolesPart(sentence, prop, chosen) {
  const roles = Object.entries(prop.roles ?? {});
  if (!roles.length) return [];
  const rows = roles.map(([role, meaning]) => {
    const args = prop.args.filter((arg) => arg.role === role);
    const words = args.map((arg) => wordsOf(sentence, arg.start, arg.end)).join(" … ");
    const row = element("tr", { class: chosen?.role === role ? "chosen" : "" });
    row.append(element("th", { scope: "row" }, role), element("td", {}, meaning), element("td", { class: words ? "" : "quiet" }, words || "–"));
    return row;
  });
  const head = element("tr", {}, ...["Role", "Meaning", "Here"].map((title) => element("th", { scope: "col" }, title)));
  const table = element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows));
  return [element("h3", {}, `Roles of ${prop.sense}`), table];
}

function othersPart(prop) {
  const others = prop.alternatives ?? [];
  if (!others.length) return [];
  const facts = others.map(({ sense, definition, prob }) => [sense, definition + (prob === undefined ? "" : ` (${percent(prob)})`)]);
  const rest = facts.splice(SENSES_AT_ONCE);
  const more = rest.length ? [element("details", {}, element("summary", {}, `${rest.length} more`), list(rest))] : [];
  return [element("h3", {}, `Other senses of “${prop.lemma}”`), list(facts), ...more];
}

function likelihood(prob) {
  const meter = element("meter", { min: 0, max: 1, low: 0.5, high: 0.8, optimum: 1, value: prob, "aria-hidden": "true" });
  return element("span", {}, percent(prob), " ", meter);
}

function list(facts) {
  return element("dl", {}, ...facts.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));
}
