// The page: what is typed goes to the server, what comes back is shown as pictures, as a table and as JSON.

import { label } from "./api.js";
import { copy } from "./clipboard.js";
import { EXAMPLES } from "./examples.js";
import { readLink, writeLink } from "./link.js";
import { rowsOf, tableOf, textOf } from "./table.js";
import { makeTabs } from "./tabs.js";

const at = (id) => document.getElementById(id);
const form = at("form");
const switches = [...form.elements.types];
const allTypes = switches.map((input) => input.value);
let running = null; // the AbortController of the request that is on its way
let copies = {}; // what the button copies, by panel
let panel = "pictures";

const chosenTypes = () => switches.filter((input) => input.checked).map((input) => input.value);

async function run() {
  const text = at("text").value;
  const types = chosenTypes();
  const wrong = !text.trim() ? "Write a text first." : !types.length ? "Switch on at least one kind of predicate." : "";
  showError(wrong);
  if (wrong) return at(text.trim() ? "go" : "text").focus();
  history.replaceState(null, "", location.pathname + writeLink(text, types, allTypes));
  running?.abort();
  const mine = (running = new AbortController());
  showBusy(true);
  try {
    show(await label(text, types, mine.signal));
  } catch (error) {
    if (mine !== running) return; // a newer request has taken over
    at("results").hidden = true;
    at("status").textContent = error.name === "AbortError" ? "Stopped." : "";
    showError(error.name === "AbortError" ? "" : error.message);
  }
  if (mine === running) {
    running = null;
    showBusy(false);
  }
}

function show(result) {
  const rows = rowsOf(result);
  const json = JSON.stringify({ ...result, html: undefined }, null, 2);
  copies = { table: textOf(rows), json: json + "\n" };
  at("pictures").replaceChildren(...result.html.map(picture));
  at("table").replaceChildren(tableOf(rows));
  at("json").textContent = json;
  at("results").hidden = false;
  const propositions = result.sentences.reduce((sum, sentence) => sum + sentence.props.length, 0);
  at("status").textContent = `${count(result.sentences.length, "sentence")}, ${count(propositions, "predicate")}.`;
  at("status").scrollIntoView({ block: "nearest" });
}

// The fragment comes from our server, which escapes the text; a parsed document runs no scripts, nor does our policy.
function picture(fragment) {
  return document.adoptNode(new DOMParser().parseFromString(fragment, "text/html").body.firstElementChild);
}

function showBusy(busy) {
  document.body.classList.toggle("busy", busy);
  at("results").setAttribute("aria-busy", String(busy));
  at("go").textContent = busy ? "Stop" : "Label";
  if (busy) at("status").textContent = "Labelling …";
}

function showError(message) {
  at("error").textContent = message;
  at("error").hidden = !message;
  if (message) at("status").textContent = "";
}

async function copyAndSay(text, what) {
  try {
    await copy(text);
    at("status").textContent = `${what} copied.`;
  } catch (error) {
    showError(error.message);
  }
}

function fromAddress() {
  const { text, types } = readLink(location.hash);
  if (!text) return;
  at("text").value = text;
  for (const input of switches) input.checked = types === null || types.includes(input.value);
  run();
}

function count(number, word) {
  return `${number} ${word}${number === 1 ? "" : "s"}`;
}

for (const { name, text } of EXAMPLES) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = name;
  button.title = text;
  button.addEventListener("click", () => {
    at("text").value = text;
    run();
  });
  at("examples").append(button);
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (running) running.abort();
  else run();
});
form.addEventListener("change", (event) => {
  if (event.target.name === "types" && !at("results").hidden) run();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run();
  if (event.key === "Escape") running?.abort();
});
makeTabs(document.querySelector("[role=tablist]"), (chosen) => {
  panel = chosen;
  at("copy").hidden = panel === "pictures";
});
at("copy").addEventListener("click", () => copyAndSay(copies[panel], panel === "json" ? "JSON" : "Table"));
at("link").addEventListener("click", () => {
  const address = location.origin + location.pathname + writeLink(at("text").value, chosenTypes(), allTypes);
  copyAndSay(address, "Link");
});
window.addEventListener("hashchange", fromAddress);
fromAddress();
if (!matchMedia("(pointer: coarse)").matches) at("text").focus(); // on a phone the keyboard would cover the page
