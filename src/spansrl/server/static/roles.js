// Roles: the role that R- and C- belong to, its color group (as in visualize/palette.py), and what it means.

const FAMILIES = {
  TMP: "time",
  LOC: "place", DIR: "place", GOL: "place",
  MNR: "manner", CAU: "manner", PRP: "manner", PNC: "manner", EXT: "manner", COM: "manner", PRD: "manner", REC: "manner",
};

// Modifiers in plain words, for models without frames.
const MODIFIERS = {
  ADV: "circumstance", CAU: "cause", COM: "companion", DIR: "direction", DIS: "discourse",
  EXT: "extent", GOL: "goal or beneficiary", LOC: "location", MNR: "manner", MOD: "modality", NEG: "negation",
  PNC: "purpose", PRD: "state or attribute", PRP: "purpose", REC: "reciprocity", TMP: "time",
};

// Shorter than the meanings, for labels.
const SHORT = { MOD: "modal" };

const LONGEST = 25; // characters; from longer meanings only the first alternative is shown
const GENERIC = ["agent", "patient", "theme", "cause", "causer", "logical subject"];

export const GROUPS = ["arg0", "arg1", "arg2", "arg3", "arg4", "arg5", "time", "place", "manner", "clause"];

export const baseRole = (role) => role.replace(/^[RC]-/, "");

const coreNumber = (role) => baseRole(role).match(/^A(?:RG)?([0-5A])$/)?.[1];
const suffixOf = (role) => baseRole(role).split("-").pop();

export function groupOf(role) {
  const number = coreNumber(role);
  return number ? `arg${number.replace("A", "5")}` : (FAMILIES[suffixOf(role)] ?? "clause");
}

// "A1", "R-A1", "TMP": as in the other pictures.
export const shortCode = (role) => role.replace(/A(?:RG)?M-/, "").replace("ARG", "A");

export const isModifier = (role) => coreNumber(role) === undefined;

// "thing bought"; undefined for a core role whose meaning is not known.
export function meaningOf(arg) {
  return arg.meaning ?? (isModifier(arg.role) ? MODIFIERS[suffixOf(arg.role)] : undefined);
}

// PropBank's descriptions have remarks and alternatives: "agent, attacker (if any)" becomes "attacker".
export function shortened(meaning) {
  const parts = meaning.replace(/\([^)]*\)?/g, " ").split(/[,;]| \/ /).map((part) => part.replace(/\s+/g, " ").trim()).filter(Boolean);
  const best = parts.find((part) => !GENERIC.includes(part.toLowerCase())) ?? parts[0] ?? meaning;
  return best.length > LONGEST ? best.split(" or ")[0] : best;
}

// The meaning as a label: "→ buyer" refers back to the buyer, "… buyer" continues it.
export function nameOf(arg) {
  const known = meaningOf(arg);
  if (known === undefined) return arg.role;
  const meaning = (isModifier(arg.role) && SHORT[suffixOf(arg.role)]) || shortened(known);
  if (arg.role.startsWith("R-")) return `→ ${meaning}`;
  if (arg.role.startsWith("C-")) return `… ${meaning}`;
  return meaning;
}
