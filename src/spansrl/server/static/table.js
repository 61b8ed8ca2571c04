// The answer as rows: one for each argument, and one for each predicate that has none.

import { element } from "./dom.js";
import { meaningOf } from "./roles.js";
import { predicateWords, senseOf, wordsOf } from "./sentence.js";

const COLUMNS = [
  { key: "sentence", title: "Sentence", look: "number wide" },
  { key: "predicate", title: "Predicate", look: "nowrap" },
  { key: "sense", title: "Sense", look: "nowrap" },
  { key: "type", title: "Type", look: "wide" },
  { key: "role", title: "Role", look: "nowrap" },
  { key: "words", title: "Words", look: "words" },
  { key: "meaning", title: "Meaning" },
  { key: "prob", title: "Probability", look: "number" },
];

export function rowsOf(result) {
  return result.sentences.flatMap((sentence, index) =>
    sentence.props.flatMap((prop) => {
      const shared = {
        sentence: index + 1, predicate: predicateWords(sentence, prop), sense: senseOf(prop), type: prop.type ?? "",
      };
      const rows = prop.args.map((arg) => ({
        ...shared,
        role: arg.role,
        meaning: meaningOf(arg) ?? "",
        words: wordsOf(sentence, arg.start, arg.end),
        prob: arg.prob === undefined ? "" : arg.prob.toFixed(2),
      }));
      return rows.length ? rows : [{ ...shared, role: "", meaning: "", words: "", prob: "" }];
    }),
  );
}

export function tableOf(rows) {
  const columns = COLUMNS.filter((column) => rows.some((row) => row[column.key] !== ""));
  const head = element("tr", {}, ...columns.map(({ title, look }) => element("th", { scope: "col", class: look }, title)));
  const lines = rows.map((row) =>
    element("tr", {}, ...columns.map(({ key, look }) => element("td", { class: look }, String(row[key])))),
  );
  return element("table", {}, element("thead", {}, head), element("tbody", {}, ...lines));
}

// As RFC 4180 has it.
export function csvOf(rows) {
  const cell = (value) => (/[",\n\r]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
  const lines = rows.map((row) => COLUMNS.map(({ key }) => cell(String(row[key]))));
  return [COLUMNS.map(({ key }) => key), ...lines].map((line) => line.join(",")).join("\r\n") + "\r\n";
}
