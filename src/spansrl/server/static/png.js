// A picture as PNG, drawn on a canvas twice as fine as the screen's, in the colors of the page.

import { CODE_GAP, UNSURE, fontOf } from "./layout.js";

const EDGE = 16, GAP = 18, SCALE = 2;
const TALLEST = 16000; // canvases beyond this stay empty in some browsers

export function pngBlob(pictures, colors) {
  const width = Math.max(...pictures.map((picture) => picture.used)) + 2 * EDGE;
  const height = pictures.reduce((sum, picture) => sum + picture.height + GAP, 2 * EDGE - GAP);
  if (height * SCALE > TALLEST) return Promise.reject(new Error("Too many sentences for one PNG. Download SVG instead."));
  const canvas = document.createElement("canvas");
  canvas.width = Math.ceil(width * SCALE);
  canvas.height = Math.ceil(height * SCALE);
  const pen = canvas.getContext("2d");
  pen.scale(SCALE, SCALE);
  pen.fillStyle = colors.paper;
  pen.fillRect(0, 0, width, height);
  pen.translate(EDGE, EDGE);
  for (const picture of pictures) {
    draw(pen, picture, colors);
    pen.translate(0, picture.height + GAP);
  }
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

function draw(pen, picture, colors) {
  for (const { text, x, y, bold } of picture.words) write(pen, text, x, y, fontOf("word", bold), colors.ink);
  for (const { x1, x2, y } of picture.threads) stroke(pen, [x1, y], [x2, y], 1, colors.thread);
  for (const { mark, x1, x2, y, label } of picture.marks) {
    const { line, ink } = colors[mark.group] ?? { line: colors.ink, ink: colors.ink };
    pen.globalAlpha = mark.prob < UNSURE ? 0.45 : 1;
    pen.setLineDash(mark.modifier ? [6, 3] : []);
    stroke(pen, [x1 + 1.5, y], [Math.max(x2 - 1.5, x1 + 3), y], 6, line);
    pen.setLineDash([]);
    pen.globalAlpha = 1;
    const tick = Math.max(x1, label.x) + 2;
    if (label.lane > 0 && label.width) stroke(pen, [tick, y + 3], [tick, label.y - 12], 1, line);
    write(pen, label.name, label.x, label.y, fontOf("name", label.bold), ink, colors.paper);
    write(pen, label.code, label.x + label.nameWidth + CODE_GAP, label.y, fontOf("code"), colors.quiet, colors.paper);
  }
}

// `halo`: a color around the letters, so that lines behind them do not touch them.
function write(pen, text, x, y, font, color, halo = null) {
  pen.font = font;
  if (halo) {
    pen.lineWidth = 3;
    pen.lineJoin = "round";
    pen.strokeStyle = halo;
    pen.strokeText(text, x, y);
  }
  pen.fillStyle = color;
  pen.fillText(text, x, y);
}

function stroke(pen, from, to, width, color) {
  pen.lineWidth = width;
  pen.strokeStyle = color;
  pen.beginPath();
  pen.moveTo(...from);
  pen.lineTo(...to);
  pen.stroke();
}
