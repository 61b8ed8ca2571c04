// Text and settings in the address, after the #: browsers do not send that part to any server.

import { DEFAULTS, TYPES } from "./filters.js";

export function readLink(hash) {
  const parts = new URLSearchParams(hash.replace(/^#/, ""));
  const types = parts.get("types")?.split(",").filter((type) => TYPES.includes(type));
  const minProb = Number.parseFloat(parts.get("min_prob"));
  return {
    text: parts.get("text") ?? "",
    settings: {
      types: types ?? DEFAULTS.types,
      find: parts.get("find") ?? DEFAULTS.find,
      minProb: minProb >= 0 && minProb <= 1 ? minProb : DEFAULTS.minProb,
    },
  };
}

export function writeLink(text, { types, find, minProb }) {
  const parts = new URLSearchParams({ text });
  if (types.join() !== DEFAULTS.types.join()) parts.set("types", types.join(","));
  if (find) parts.set("find", find);
  if (minProb !== null) parts.set("min_prob", String(minProb));
  return text ? `#${parts}` : "";
}
