// The text and the predicate types in the address, after the #: browsers do not send that part to any server.

export function readLink(hash) {
  const parts = new URLSearchParams(hash.replace(/^#/, ""));
  return { text: parts.get("text") ?? "", types: parts.get("types")?.split(",").filter(Boolean) ?? null };
}

export function writeLink(text, types, allTypes) {
  const parts = new URLSearchParams({ text });
  if (types.length < allTypes.length) parts.set("types", types.join(","));
  return text ? `#${parts}` : "";
}
