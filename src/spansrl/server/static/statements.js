// Statements: who did what to whom, one row each, for the text on the page and for files of texts.

import { labelTexts } from "./api.js";
import { element } from "./dom.js";

const COLUMNS = ["document", "sentence", "subject", "relation", "object", "others", "time", "place", "manner", "cause",
  "negated", "denied_by", "modal", "voice", "context", "prob"];
const SHOWN = ["subject", "relation", "object", "others", "time", "place", "manner", "cause", "notes"];
const TEXT_COLUMNS = ["text", "body", "content", "article", "abstract", "sentence", "comment", "review", "message"];
const BATCH = 16; // texts in one request

const textOf = (part) => (part ? part.text : "");

export function statementRows(results, documents = null) {
  return results.flatMap((result, number) =>
    result.statements.flatMap((statements, sentence) =>
      statements.map((one) => ({
        ...Object.fromEntries(["subject", "object", "time", "place", "manner", "cause"].map((name) => [name, textOf(one[name])])),
        ...Object.fromEntries(["relation", "denied_by", "modal", "voice", "context"].map((name) => [name, one[name] ?? ""])),
        document: documents?.[number] ?? "",
        sentence: sentence + 1,
        others: (one.others ?? []).map((part) => `${part.role}: ${part.preposition ?? ""} ${part.text}`.replace(":  ", ": ")).join("; "),
        negated: one.negated ? "not" : "",
        notes: [one.negated && "not", one.modal, one.context, one.denied_by].filter(Boolean).join(", "),
        prob: one.prob === undefined ? "" : one.prob.toFixed(2),
      })),
    ),
  );
}

export function statementTable(rows) {
  const columns = SHOWN.filter((name) => ["subject", "relation", "object"].includes(name) || rows.some((row) => row[name]));
  const title = (name) => name[0].toUpperCase() + name.slice(1);
  const head = element("tr", {}, ...columns.map((name) => element("th", { scope: "col" }, title(name))));
  const lines = rows.map((row) => element("tr", {}, ...columns.map((name) => element("td", { class: "words" }, row[name]))));
  return element("table", {}, element("thead", {}, head), element("tbody", {}, ...lines));
}

// As RFC 4180 has it; with a byte-order mark, without which Excel does not read UTF-8.
export function statementCsv(rows) {
  const cell = (value) => (/[",\n\r]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
  const lines = [COLUMNS, ...rows.map((row) => COLUMNS.map((name) => cell(String(row[name]))))];
  return "\ufeff" + lines.map((line) => line.join(",")).join("\r\n") + "\r\n";
}

// Label a file: the rows of a CSV file are documents, any other file is one. `progress(done, all)` is called in between.
export async function statementsOfFile(file, progress) {
  const content = await file.text();
  const texts = /\.csv$/i.test(file.name) ? textsOfCsv(content) : [content];
  const rows = [];
  for (let start = 0; start < texts.length; start += BATCH) {
    progress(start, texts.length);
    const batch = texts.slice(start, start + BATCH);
    const names = batch.map((_, number) => (texts.length > 1 ? String(start + number + 1) : file.name));
    rows.push(...statementRows(await labelTexts(batch), names));
  }
  return rows;
}

export function textsOfCsv(content) {
  const [header, ...rows] = cellsOf(content.replace(/^\ufeff/, ""));
  const usual = (header ?? []).findIndex((name) => TEXT_COLUMNS.includes(name.trim().toLowerCase()));
  if (usual < 0) throw new Error(`The table has no column named ${TEXT_COLUMNS.slice(0, 3).join(", ")} …; found ${(header ?? []).join(", ")}.`);
  return rows.map((row) => row[usual] ?? "").filter((text) => text.trim());
}

function cellsOf(content) {
  const rows = [[]];
  for (const [, quoted, plain, end] of content.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|\n|\r|$)/g)) {
    rows.at(-1).push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    if (end !== ",") rows.push([]);
  }
  return rows.filter((row) => row.some((cell) => cell));
}
