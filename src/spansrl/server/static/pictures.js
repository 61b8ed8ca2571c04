// The sentences on the page: a picture and its plain-English readings each, drawn again when the width changes.

import { openCard } from "./card.js";
import { byId, element, percent, svgElement } from "./dom.js";
import { layOut } from "./layout.js";
import { bareReading, readingOf } from "./reading.js";
import { setUpRoving } from "./roving.js";
import { predicateWords, wordsOf } from "./sentence.js";
import { drawSvg } from "./svg.js";

const AT_ONCE = 40; // sentences; the button below them shows the others
// Groups of colors that are in the pictures; a modifier's bar is dashed.
const LEGEND = {
  predicate: "predicate", arg0: "ARG0", arg1: "ARG1", arg2: "ARG2", arg3: "ARG3", arg4: "ARG4", arg5: "ARG5",
  time: "time", place: "place", manner: "manner, cause", clause: "other modifiers",
};
let shown = { sentences: [], count: 0 };
let lastWidth = 0;

export function showPictures(result) {
  shown = { sentences: result.sentences, count: AT_ONCE };
  draw();
}

// The layouts of all sentences, for files.
export function layouts(result, width) {
  if (!result.sentences.length) throw new Error("There is no sentence to draw.");
  return result.sentences.map((sentence) => layOut(sentence, width));
}

export const pictureWidth = () => Math.max(240, Math.floor(byId("sentences").clientWidth - horizontalEdges()));

export function setUpPictures() {
  new ResizeObserver(() => {
    if (byId("sentences").clientWidth && pictureWidth() !== lastWidth) draw();
  }).observe(byId("sentences"));
  byId("more").addEventListener("click", () => {
    shown.count += AT_ONCE;
    draw();
  });
}

function draw() {
  lastWidth = pictureWidth();
  const sentences = shown.sentences.slice(0, shown.count);
  byId("sentences").replaceChildren(...sentences.map((sentence, k) => sentenceCard(sentence, k, lastWidth)));
  byId("more").hidden = shown.sentences.length <= shown.count;
  drawLegend();
}

function drawLegend() {
  const found = (classes) => byId("sentences").querySelector(`.mark.${classes}`) !== null;
  const groups = Object.entries(LEGEND).filter(([group]) => found(group));
  const keys = groups.map(([group, name]) => [`${group} ${found(`${group}.modifier`) ? "modifier" : ""}`, name]);
  if (found("unsure")) keys.push(["predicate unsure", "probability below 50%"]);
  const items = keys.map(([look, name]) => {
    const bar = svgElement("line", { class: "bar", x1: 0, x2: 26, y1: 4, y2: 4 });
    return element("li", { class: look }, svgElement("svg", { width: 26, height: 8, "aria-hidden": "true" }, bar), ` ${name}`);
  });
  byId("legend").replaceChildren(...items, ...(items.length ? [element("li", {}, "Select a bar for details.")] : []));
}

function sentenceCard(sentence, index, width) {
  const picture = layOut(sentence, width);
  const describe = (mark, prop) => description(sentence, sentence.props[prop], mark);
  const svg = drawSvg(picture, describe);
  const name = `Sentence ${index + 1}: ${wordsOf(sentence, 0, sentence.tokens.length)}`;
  const box = element("div", { role: "toolbar", "aria-label": name }, svg); // one stop for Tab; arrow keys inside
  addBehavior(box, picture, sentence);
  setUpRoving(box);
  const readings = sentence.props.filter((prop) => prop.args.length).map((prop) => readingOf(sentence, prop));
  const bare = sentence.props.filter((prop) => !prop.args.length);
  if (bare.length) readings.push(bareReading(sentence, bare));
  const list = readings.length ? element("ul", { class: "readings", "aria-label": "In plain English" }, ...readings) : null;
  list?.addEventListener("click", ({ target }) => {
    const prop = sentence.props.find(({ pred }) => String(pred) === target.dataset.pred);
    if (prop) openCard(target, sentence, prop, null);
  });
  return element("article", { class: "card sentence" }, box, list);
}

function description(sentence, prop, mark) {
  const words = wordsOf(sentence, mark.start, mark.end);
  if (mark.arg === null) return `${words}: predicate, ${mark.name}`;
  const sure = mark.prob === undefined ? "" : `, ${percent(mark.prob)}`;
  return `${words}: ${[mark.name, mark.code].filter(Boolean).join(", ")} of ${predicateWords(sentence, prop)}${sure}`;
}

function addBehavior(box, picture, sentence) {
  const placed = (target) => picture.marks[target.closest?.(".mark")?.dataset.mark];
  const open = (target) => {
    const { mark, prop } = placed(target);
    openCard(target.closest(".mark"), sentence, sentence.props[prop], mark.arg);
  };
  box.addEventListener("click", ({ target }) => placed(target) && open(target));
  box.addEventListener("keydown", (event) => {
    if (!["Enter", " "].includes(event.key) || !placed(event.target)) return;
    event.preventDefault();
    open(event.target);
  });
  for (const kind of ["mouseover", "focusin"]) box.addEventListener(kind, ({ target }) => pointAt(box, placed(target)));
  for (const kind of ["mouseleave", "focusout"]) box.addEventListener(kind, () => pointAt(box, undefined));
}

// The other predicates fade, and the words of the span light up.
function pointAt(box, found) {
  for (const part of box.querySelectorAll("[data-prop]")) {
    part.classList.toggle("faded", found !== undefined && Number(part.dataset.prop) !== found.prop);
  }
  for (const word of box.querySelectorAll("[data-token]")) {
    const token = Number(word.dataset.token);
    word.classList.toggle("lit", found !== undefined && found.mark.start <= token && token < found.mark.end);
  }
}

function horizontalEdges() {
  const probe = document.querySelector(".sentence");
  if (!probe) return innerWidth <= 640 ? 28 : 36;
  const style = getComputedStyle(probe);
  return ["paddingLeft", "paddingRight", "borderLeftWidth", "borderRightWidth"].reduce((sum, name) => sum + parseFloat(style[name]), 0);
}
