// Small helpers that make elements. Text is always set as text, never parsed as HTML.

export function element(kind, attributes = {}, ...children) {
  return fill(document.createElement(kind), attributes, children);
}

export function svgElement(kind, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", kind), attributes, children);
}

export const byId = (id) => document.getElementById(id);

export function counted(number, word) {
  return `${number} ${word}${number === 1 ? "" : "s"}`;
}

// Never "0%" or "100%" for something that is merely unlikely or likely.
export function percent(prob) {
  if (prob > 0 && prob < 0.005) return "<1%";
  return `${Math.round(100 * (prob < 1 ? Math.min(prob, 0.99) : prob))}%`;
}

function fill(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
}
