// The OpenAPI document of this server as a page.

import { byId, element } from "./dom.js";

const EXAMPLES = {
  "/v1/label": `-H 'Content-Type: application/json' \\\n     -d '{"text": "The cat chased a mouse."}'`,
  "/v1/label/stream": `-H 'Content-Type: application/x-ndjson' \\\n     --data-binary @texts.jsonl`,
};

function endpoint(path, method, operation) {
  const title = element("h2", {}, element("span", { class: "method" }, method.toUpperCase()), element("code", {}, path));
  const card = element("section", { class: "card endpoint" }, title, element("p", {}, operation.summary));
  for (const parameter of operation.parameters ?? []) {
    card.append(element("p", {}, element("code", {}, `?${parameter.name}=`), " ", parameter.description));
  }
  const call = `curl ${location.origin}${path}` + (path in EXAMPLES ? ` ${EXAMPLES[path]}` : "");
  card.append(folded("Example", call, true));
  const rows = Object.entries(operation.responses).map(([status, { description, content }]) =>
    row(element("code", {}, status), description, content),
  );
  if (operation.requestBody) rows.unshift(row("body", "", operation.requestBody.content));
  card.append(element("table", {}, element("tbody", {}, ...rows)));
  return card;
}

function row(status, description, content) {
  const [type, { schema }] = Object.entries(content)[0];
  const isError = schema?.$ref?.endsWith("/Error");
  const meaning = element("td", {}, description, " ", isError ? "" : element("code", {}, type));
  return element("tr", {}, element("td", {}, status), meaning, element("td", {}, ...(schema?.anyOf ?? (schema ? [schema] : [])).flatMap((one) => [reference(one), " "])));
}

function reference(schema) {
  const name = schema.$ref.split("/").pop();
  return element("a", { href: `#${name}` }, name);
}

function folded(title, text, open) {
  return element("details", { open }, element("summary", {}, title), element("pre", {}, element("code", {}, text)));
}

function component(name, schema) {
  const card = element("section", { class: "card endpoint", id: name }, element("h2", {}, element("code", {}, name)));
  if (schema.description) card.append(element("p", {}, schema.description));
  const fields = Object.entries(schema.properties ?? {}).map(([field, { description = "" }]) =>
    element("tr", {}, element("td", {}, element("code", {}, field)), element("td", {}, description)),
  );
  card.append(element("table", {}, element("tbody", {}, ...fields)));
  card.append(folded("Schema", JSON.stringify(schema, null, 2), false));
  return card;
}

async function show() {
  const response = await fetch("/openapi.json");
  const api = await response.json();
  const endpoints = Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => endpoint(path, method, operation)),
  );
  const schemas = Object.entries(api.components.schemas).map(([name, schema]) => component(name, schema));
  const introduction = element("p", {}, `${api.info.description} Version ${api.info.version}.`);
  byId("endpoints").replaceChildren(introduction, ...endpoints, element("h2", {}, "Schemas"), ...schemas);
  byId(location.hash.slice(1))?.scrollIntoView();
}

show().catch((error) => {
  byId("endpoints").replaceChildren(element("p", { class: "error" }, `The API description cannot be shown: ${error.message}`));
});
