// The geometry of a picture: words with natural spacing, and under each line one row per predicate that has
// something there. A label is below its bar. Where two labels would collide, the right one moves to the right if it
// still begins under its bar; otherwise the left one moves down and a thin line leads to it. For drawing, see svg.js, png.js.

import { percent } from "./dom.js";
import { shortCode } from "./roles.js";
import { marksOf, predicateSpans, spaceBefore } from "./sentence.js";

export const FONT = 'Arial, Helvetica, "Liberation Sans", system-ui, sans-serif'; // as wide everywhere as possible
export const SIZES = { word: 18, name: 13, code: 11 };
export const CODE_GAP = 4; // between a label's name and its code
export const UNSURE = 0.5; // below this probability a mark is faint
const LINE = 30, BAR = 6, LANE = 17, ROW_GAP = 9, LINE_GAP = 14, LABEL_GAP = 9, NARROWEST_NAME = 190;
const FARTHEST = 0.67; // of the width of a bar: where its label begins at the latest

const canvas = document.createElement("canvas").getContext("2d");

export function fontOf(kind, bold = false) {
  return `${bold ? 600 : 400} ${SIZES[kind]}px ${FONT}`;
}

function widthOf(text, kind, bold) {
  canvas.font = fontOf(kind, bold);
  return canvas.measureText(text).width;
}

// -> { width, used, height, words: [{text, x, y, bold, token}], marks: [{prop, mark, x1, x2, y, first, label}], threads }
export function layOut(sentence, width) {
  const lines = breakLines(sentence, width);
  const picture = { width, height: 0, words: [], marks: [], threads: [] };
  for (const line of lines) {
    const baseline = picture.height + SIZES.word;
    picture.words.push(...line.map((piece) => ({ ...piece, y: baseline })));
    picture.height += LINE;
    for (const row of rowsOf(sentence, line)) addRow(picture, row);
    picture.height += LINE_GAP;
  }
  picture.height -= LINE_GAP - 2;
  const ends = [...picture.words, ...picture.marks.map((one) => one.label)].map((part) => part.x + part.width);
  return { ...picture, used: Math.ceil(Math.max(...ends)) };
}

// One row per predicate; predicates without arguments share one.
function rowsOf(sentence, line) {
  const rows = sentence.props.map((_, k) => rowOf(sentence, k, line));
  const hasArguments = (_, k) => sentence.props[k].args.length > 0;
  const bare = rows.filter((row, k) => !hasArguments(row, k)).flat().sort((a, b) => a.x1 - b.x1);
  return [...rows.filter(hasArguments), bare].filter((row) => row.length);
}

// What the predicate has on the line; where the predicate itself is on another line, the first label says whose row it is.
function rowOf(sentence, prop, line) {
  const marks = marksOf(sentence, sentence.props[prop]);
  const row = marks.map((mark) => ({ mark, prop, ...extent(line, mark) })).filter((one) => one.x2 > one.x1);
  const isName = (mark) => mark.group === "predicate" && mark.name;
  const of = row.some(({ mark }) => isName(mark)) ? "" : `of ${marks.find(isName)?.name ?? ""}`;
  return row.map((one, k) => ({ ...one, of: k ? "" : of }));
}

function addRow(picture, row) {
  const y = picture.height + BAR / 2;
  for (const one of row) one.y = y;
  for (const one of row) one.label = labelOf(one, picture.width, shortCode(one.mark.code));
  setLanes(row, picture.width);
  for (const { label } of row) label.y = y + BAR / 2 + (label.lane + 1) * LANE - 3;
  for (const prop of new Set(row.map((one) => one.prop))) {
    const own = row.filter((one) => one.prop === prop);
    for (let k = 1; k < own.length; k += 1) picture.threads.push({ prop, y, x1: own[k - 1].x2, x2: own[k].x1 });
  }
  picture.marks.push(...row);
  picture.height += BAR + (Math.max(...row.map((one) => one.label.lane)) + 1) * LANE + ROW_GAP;
}

// A label is below its bar, from the bar's start, and moves left where the line ends.
function labelOf({ mark, x1, x2, first, of }, width, role) {
  const unsure = mark.prob !== undefined && mark.prob < UNSURE ? percent(mark.prob) : "";
  const code = [role, of, unsure].filter(Boolean).join(" ");
  const codeWidth = code ? widthOf(code, "code") + CODE_GAP : 0;
  const begun = first || !mark.name || mark.name.startsWith("…") ? mark.name : `… ${mark.name}`;
  const name = shortened(begun, !unsure, Math.min(width - codeWidth, Math.max(x2 - x1 - codeWidth, NARROWEST_NAME)));
  const nameWidth = widthOf(name, "name", !unsure);
  const total = nameWidth + codeWidth;
  return { name, code, bold: !unsure, nameWidth, width: total, x: Math.max(0, Math.min(x1, width - total)) };
}

// From right to left: a label moves those on its right, or goes one lane below all those that it would run into.
function setLanes(placed, width) {
  for (let k = placed.length - 1; k >= 0; k -= 1) {
    const mine = placed[k].label;
    const others = placed.slice(k + 1).filter((one) => one.label.width);
    moveRight(others, mine.x + mine.width + LABEL_GAP, width);
    const hit = others.map((one) => one.label).filter((other) => overlap(mine, other));
    mine.lane = Math.max(-1, ...hit.map((other) => other.lane)) + 1;
  }
}

// Make room up to x, if all labels in the way can move.
function moveRight(placed, x, width) {
  const moves = [];
  for (const { label, x1, x2 } of placed) {
    if (label.x >= x) break;
    if (label.lane > 0 || x > x1 + FARTHEST * (x2 - x1) || x + label.width > width) return;
    moves.push([label, x]);
    x += label.width + LABEL_GAP;
  }
  for (const [label, to] of moves) label.x = to;
}

const overlap = (one, other) => one.x < other.x + other.width + LABEL_GAP && other.x < one.x + one.width + LABEL_GAP;

function shortened(text, bold, most) {
  if (widthOf(text, "name", bold) <= most) return text;
  const characters = Array.from(text);
  while (characters.length > 1 && widthOf(characters.join("") + "…", "name", bold) > most) characters.pop();
  return characters.join("").trimEnd() + "…";
}

// Where the mark is on the line; x2 <= x1 where it is not.
function extent(line, mark) {
  const inside = line.filter(({ token }) => mark.start <= token && token < mark.end);
  if (!inside.length) return { x1: 0, x2: 0, first: false };
  const last = inside[inside.length - 1];
  return { x1: inside[0].x, x2: last.x + last.width, first: inside[0].token === mark.start && inside[0].begins };
}

function breakLines(sentence, width) {
  const bold = new Set(sentence.props.flatMap(predicateSpans).flatMap(([start, end]) => range(start, end)));
  const space = widthOf("n n", "word") - widthOf("nn", "word");
  const lines = [[]];
  let x = 0;
  for (const group of groupsOf(sentence, bold, width)) {
    const size = group.reduce((sum, piece) => sum + piece.width, 0);
    const gap = x > 0 && group[0].space ? space : 0;
    if (x > 0 && x + gap + size > width) {
      lines.push([]);
      x = 0;
    } else x += gap;
    for (const piece of group) {
      lines[lines.length - 1].push({ ...piece, x });
      x += piece.width;
    }
  }
  return lines;
}

// Tokens without a space between them stay on one line where they fit.
function groupsOf(sentence, bold, width) {
  const groups = [];
  sentence.tokens.forEach((text, token) => {
    const space = spaceBefore(sentence, token);
    const pieces = piecesOf(text, bold.has(token), width).map((piece, k) => ({ ...piece, token, space: space && !k, begins: !k }));
    const group = groups[groups.length - 1];
    const size = (group ?? []).reduce((sum, piece) => sum + piece.width, 0) + pieces[0].width;
    if (group && !space && pieces.length === 1 && size <= width) group.push(pieces[0]);
    else groups.push(...pieces.map((piece) => [piece]));
  });
  return groups;
}

// A word that is wider than a line is broken anywhere.
function piecesOf(word, bold, width) {
  const text = word.replace(/\s+/g, " ");
  const whole = widthOf(text, "word", bold);
  if (whole <= width) return [{ text, bold, width: whole }];
  const pieces = [];
  let rest = Array.from(text);
  while (rest.length) {
    let size = Math.max(1, Math.floor((rest.length * width) / widthOf(rest.join(""), "word", bold)));
    while (size > 1 && widthOf(rest.slice(0, size).join(""), "word", bold) > width) size -= 1;
    const piece = rest.slice(0, size).join("");
    pieces.push({ text: piece, bold, width: widthOf(piece, "word", bold) });
    rest = rest.slice(size);
  }
  return pieces;
}

const range = (start, end) => Array.from({ length: end - start }, (_, k) => start + k);
