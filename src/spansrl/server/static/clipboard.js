// Copying. Pages that are neither on localhost nor on https have no clipboard API, but the older command still works.

export async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const before = document.activeElement;
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  before?.focus();
  if (!done) throw new Error("The browser does not let this page copy.");
}
