// A picture as SVG: on the page, where marks are buttons, and as a file with its own light and dark colors.

import { svgElement } from "./dom.js";
import { CODE_GAP, FONT, SIZES, UNSURE } from "./layout.js";
import { GROUPS } from "./roles.js";

const SHAPES = `text { font-family: ${FONT}; } .word { font-size: ${SIZES.word}px; } .name { font-size: ${SIZES.name}px; }
.code { font-size: ${SIZES.code}px; } .bold, .name { font-weight: 600; } .bar { stroke-width: 6; } .thread, .tick { stroke-width: 1; }
.modifier .bar { stroke-dasharray: 6 3; } .unsure .bar { stroke-opacity: .45; } .unsure .name { font-weight: 400; }
.name, .code { paint-order: stroke; stroke-width: 3; stroke-linejoin: round; }`;

// `describe(mark)`: the text that a screen reader reads for a mark; without it, nothing in the picture is a button.
export function drawSvg(picture, describe = null) {
  const svg = svgElement("svg", {
    class: "picture", width: picture.width, height: picture.height, viewBox: `0 0 ${picture.width} ${picture.height}`,
  });
  svg.append(...picture.words.map((word) => drawWord(word, describe)), ...picture.threads.map(drawThread));
  svg.append(...picture.marks.map((placed, k) => drawMark(placed, k, describe)));
  return svg;
}

// On the page the words are the picture's name, so that screen readers read them as one sentence.
function drawWord({ text, x, y, bold, width, token }, describe) {
  const look = { x, y, class: bold ? "word bold" : "word", "data-token": token, "aria-hidden": describe && "true" };
  return svgElement("text", { ...look, ...fitted(width) }, text);
}

// With another font a text is as wide as it was measured, so that nothing overlaps.
const fitted = (width) => (width ? { textLength: width.toFixed(2), lengthAdjust: "spacingAndGlyphs" } : {});

function drawThread({ x1, x2, y, prop }) {
  return svgElement("line", { class: "thread", "data-prop": prop, x1, x2, y1: y, y2: y });
}

function drawMark({ mark, prop, x1, x2, y, first, label }, number, describe) {
  const classes = ["mark", mark.group, mark.modifier ? "modifier" : "", mark.prob < UNSURE ? "unsure" : ""];
  const button = describe && (first && mark.name ? { role: "button", "aria-label": describe(mark, prop) } : { "aria-hidden": "true" });
  const group = svgElement("g", { class: classes.filter(Boolean).join(" "), "data-mark": number, "data-prop": prop, ...button });
  if (describe) {
    const left = Math.min(x1, label.x), right = Math.max(x2, label.x + label.width);
    group.append(svgElement("rect", { class: "hit", x: left, y: y - 5, width: right - left, height: label.y - y + 11, rx: 4 }));
  }
  group.append(svgElement("line", { class: "bar", x1: x1 + 1.5, x2: Math.max(x2 - 1.5, x1 + 3), y1: y, y2: y }));
  if (label.lane > 0 && label.width) {
    const x = Math.max(x1, label.x) + 2;
    group.append(svgElement("line", { class: "tick", x1: x, x2: x, y1: y + 3, y2: label.y - SIZES.name + 1 }));
  }
  group.append(svgElement("text", { class: "name", x: label.x, y: label.y, ...fitted(label.nameWidth) }, label.name));
  if (label.code) {
    const x = label.x + label.nameWidth + CODE_GAP;
    group.append(svgElement("text", { class: "code", x, y: label.y, ...fitted(label.width - label.nameWidth - CODE_GAP) }, label.code));
  }
  return group;
}

// All pictures in one file, one below the other. `colors`: { light: {…}, dark: {…} }, see theme.js.
export function svgFile(pictures, colors) {
  const edge = 16, gap = 18;
  const width = Math.max(...pictures.map((picture) => picture.used)) + 2 * edge;
  const height = pictures.reduce((sum, picture) => sum + picture.height + gap, 2 * edge - gap);
  const style = `${SHAPES}\n${rules(colors.light)}\n@media (prefers-color-scheme: dark) { ${rules(colors.dark)} }`;
  const file = svgElement("svg", { xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}` });
  file.append(svgElement("style", {}, style), svgElement("rect", { class: "paper", width, height, rx: 8 }));
  let y = edge;
  for (const picture of pictures) {
    const part = svgElement("g", { transform: `translate(${edge} ${y})` });
    part.append(...drawSvg(picture).childNodes);
    file.append(part);
    y += picture.height + gap;
  }
  return new XMLSerializer().serializeToString(file);
}

function rules(colors) {
  const groups = GROUPS.map((name) => `.${name} .bar, .${name} .tick { stroke: ${colors[name].line}; } .${name} .name { fill: ${colors[name].ink}; }`);
  return `.paper { fill: ${colors.paper}; } .name, .code { stroke: ${colors.paper}; } text, .predicate .name { fill: ${colors.ink}; } .code { fill: ${colors.quiet}; }
.thread { stroke: ${colors.thread}; } .predicate .bar, .predicate .tick { stroke: ${colors.ink}; } ${groups.join("\n")}`;
}
