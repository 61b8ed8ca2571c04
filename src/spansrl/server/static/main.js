// The page: text goes to the server as it is typed, and the answer is shown as pictures, as a table and as JSON.

import { label, labelTexts } from "./api.js";
import { setUpCard } from "./card.js";
import { copy } from "./clipboard.js";
import { byId, counted, element } from "./dom.js";
import { save } from "./download.js";
import { EXAMPLES } from "./examples.js";
import { DEFAULTS, argsIn, filtered, propsIn } from "./filters.js";
import { readLink, writeLink } from "./link.js";
import { Live } from "./live.js";
import { setUpMenus } from "./menu.js";
import { layouts, pictureWidth, setUpPictures, showPictures } from "./pictures.js";
import { pngBlob } from "./png.js";
import { curlCommand, pythonCode } from "./snippets.js";
import { statementCsv, statementRows, statementTable, statementsOfFile } from "./statements.js";
import { svgFile } from "./svg.js";
import { csvOf, rowsOf, tableOf } from "./table.js";
import { makeTabs } from "./tabs.js";
import { colorsOf, currentTheme, setUpTheme } from "./theme.js";

const text = byId("text");
const switches = [...document.querySelectorAll("input[name=types]")];
let result = null; // the server's answer
let view = null; // what the filters leave of it
let minProb = DEFAULTS.minProb;

const live = new Live(label, {
  started: () => setBusy(true),
  answered(answer) {
    setBusy(false);
    showError("");
    result = answer;
    showWarning(answer.warnings ?? []);
    suggestPredicates();
    show();
  },
  failed(error, seconds) {
    setBusy(false);
    document.body.classList.toggle("stale", seconds !== null);
    showWarning([]);
    byId("results").hidden = seconds === null || result === null;
    showError(error.message + (seconds === null ? "" : ` Trying again in ${seconds} s.`));
  },
});

function settings() {
  return {
    types: switches.filter((input) => input.checked).map((input) => input.value),
    find: byId("find").value.trim(),
    minProb,
  };
}

function setSettings({ types, find, minProb: least }) {
  for (const input of switches) input.checked = types.includes(input.value);
  byId("find").value = find;
  setMinProb(least);
}

function setMinProb(least) {
  minProb = least;
  byId("min").value = least ?? 0;
  byId("min-shown").textContent = least === null ? "the model's own" : `${Math.round(100 * least)}%`;
  byId("min-own").hidden = least === null;
}

const isDefault = () => JSON.stringify(settings()) === JSON.stringify(DEFAULTS);

function show() {
  view = filtered(result, settings());
  byId("results").hidden = false;
  showPanel();
  const unlikely = argsIn(filtered(result, { ...settings(), minProb: 0 })).length - argsIn(view).length;
  const button = element("button", { type: "button", class: "plain small", id: "unlikely" }, `Show ${counted(unlikely, "unlikely argument")}`);
  byId("status").replaceChildren(summary(), ...(unlikely && minProb === null ? [" ", button] : []));
  const isFirst = text.value === EXAMPLES[0].text && isDefault();
  history.replaceState(null, "", location.pathname + (isFirst ? "" : writeLink(text.value, settings())));
}

// Only the panel that is visible: long texts make large tables.
function showPanel() {
  if (!byId("pictures").hidden) showPictures(view);
  if (!byId("table").hidden) byId("table").replaceChildren(tableOf(rowsOf(view)));
  if (!byId("statements").hidden) attempt(showStatements, null);
  if (!byId("json").hidden) byId("json").textContent = jsonOf(view);
}

// Asked for only where they are shown; they do not depend on the filters.
let stated = { text: null, rows: [] };

async function statements() {
  const now = text.value;
  if (stated.text !== now) stated = { text: now, rows: statementRows(await labelTexts([now])) };
  return stated.rows;
}

async function showStatements() {
  byId("statements").replaceChildren(statementTable(await statements()));
}

async function labelFile(file) {
  if (!file) return;
  const progress = (done, all) => (byId("status").textContent = `Labeling ${file.name}: ${done} of ${all} texts …`);
  const rows = await statementsOfFile(file, progress);
  save(statementCsv(rows), file.name.replace(/\.[^.]*$/, "") + "-statements.csv", "text/csv");
}

function summary() {
  const found = propsIn(view).length;
  const hidden = isDefault() ? 0 : propsIn(result).length - found;
  return `${counted(result.sentences.length, "sentence")}, ${counted(found, "predicate")}${hidden ? `, ${hidden} hidden` : ""}.`;
}

// The format that programs get, without the frames that the page asked for.
const EXPLANATIONS = ["definition", "roles", "alternatives", "min_prob"];

function jsonOf(shown) {
  return indented(JSON.parse(JSON.stringify(shown, (key, value) => (EXPLANATIONS.includes(key) ? undefined : value))));
}

// What is short, and every list of plain values, is on one line.
function indented(value, margin = "") {
  const flat = JSON.stringify(value);
  const isList = Array.isArray(value);
  if (flat.length < 100 || (isList && value.every((one) => typeof one !== "object"))) return flat;
  const inner = `${margin}  `;
  const parts = Object.entries(value).map(([key, one]) => (isList ? "" : `${JSON.stringify(key)}: `) + indented(one, inner));
  return `${isList ? "[" : "{"}\n${inner}${parts.join(`,\n${inner}`)}\n${margin}${isList ? "]" : "}"}`;
}

function suggestPredicates() {
  const names = new Set(propsIn(result).map((prop) => prop.lemma).filter(Boolean));
  byId("found").replaceChildren(...[...names].sort().map((name) => element("option", { value: name })));
}

function textChanged(now) {
  for (const button of byId("examples").children) button.setAttribute("aria-pressed", String(button.title === text.value));
  if (!text.value.trim()) {
    live.cancel();
    setBusy(false);
    showError("");
    showWarning([]);
    result = null;
    byId("results").hidden = true;
    byId("status").textContent = "Type a sentence, or pick an example.";
    history.replaceState(null, "", location.pathname);
  } else if (now) live.now(text.value);
  else live.later(text.value);
}

function setBusy(busy) {
  document.body.classList.toggle("busy", busy);
  document.body.classList.remove("stale");
  byId("results").setAttribute("aria-busy", String(busy));
  if (busy && result === null) byId("status").textContent = "Labeling …";
}

function showError(message) {
  byId("error").textContent = message;
  byId("error").hidden = !message;
  if (message) byId("status").textContent = "";
}

function showWarning(warnings) {
  byId("warning").textContent = warnings.map((warning) => `Note: ${warning}.`).join(" ");
  byId("warning").hidden = !warnings.length;
}

async function attempt(work, done) {
  try {
    await work();
    showError("");
    if (done) byId("status").textContent = done;
  } catch (error) {
    showError(error.message);
  }
}

const COPIES = {
  link: ["Link", () => location.origin + location.pathname + writeLink(text.value, settings())],
  python: ["Python code", () => pythonCode(text.value, settings())],
  curl: ["curl command", () => curlCommand(text.value, settings())],
  json: ["JSON", () => jsonOf(view) + "\n"],
};

const FILES = {
  svg: () => save(svgFile(layouts(view, pictureWidth()), { light: colorsOf("light"), dark: colorsOf("dark") }), "spansrl.svg", "image/svg+xml"),
  png: async () => save(await pngBlob(layouts(view, pictureWidth()), colorsOf(currentTheme())), "spansrl.png", "image/png"),
  json: () => save(jsonOf(view) + "\n", "spansrl.json", "application/json"),
  csv: () => save(csvOf(rowsOf(view)), "spansrl.csv", "text/csv"),
  statements: async () => save(statementCsv(await statements()), "statements.csv", "text/csv"),
};

function openLink() {
  const link = readLink(location.hash);
  text.value = link.text || EXAMPLES[0].text;
  setSettings(link.settings);
  if (!isDefault()) byId("filters").open = true;
  textChanged(true);
}

for (const { name, text: example } of EXAMPLES) {
  const button = element("button", { type: "button", title: example, "aria-pressed": "false" }, name);
  button.addEventListener("click", () => {
    text.value = example;
    textChanged(true);
  });
  byId("examples").append(button);
}
text.addEventListener("input", (event) => {
  if (!event.isComposing) textChanged(false);
});
text.addEventListener("compositionend", () => textChanged(false));
byId("form").addEventListener("submit", (event) => event.preventDefault());
byId("file").addEventListener("change", async () => {
  const [file] = byId("file").files;
  await attempt(() => labelFile(file), `${file?.name}: statements saved.`);
  byId("file").value = "";
});
byId("clear").addEventListener("click", () => {
  text.value = "";
  textChanged(true);
  text.focus();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) textChanged(true);
});
byId("min").addEventListener("input", () => setMinProb(Number(byId("min").value)));
byId("filters").addEventListener("input", () => result && show());
document.addEventListener("click", ({ target }) => {
  if (target.id !== "unlikely" && target.id !== "min-own") return;
  setMinProb(target.id === "unlikely" ? 0 : null);
  byId("filters").open = true;
  if (result) show();
});
document.addEventListener("click", ({ target }) => {
  const { copy: what, save: kind } = target.dataset ?? {};
  if (what) attempt(() => copy(COPIES[what][1]()), `${COPIES[what][0]} copied.`);
  if (kind) attempt(FILES[kind], `${kind.toUpperCase()} saved.`);
});
window.addEventListener("hashchange", openLink);
window.addEventListener("online", () => textChanged(true));

setUpTheme();
setUpCard();
setUpMenus();
setUpPictures();
makeTabs(document.querySelector("[role=tablist]"), () => view && showPanel());
openLink();
