// The request of the page as code: for Python, and for the command line with curl.

import { TYPES } from "./filters.js";

export function pythonCode(text, settings) {
  const options = Object.entries(requestOptions(settings)).map(([name, value]) => `, ${name}=${JSON.stringify(value)}`);
  return `import spansrl

srl = spansrl.load()
doc = srl(${JSON.stringify(text)}${options.join("")})
for prop in doc.props:
    print(prop.sense, [(arg.role, arg.text, arg.meaning) for arg in prop.args])
`;
}

export function curlCommand(text, settings) {
  const body = JSON.stringify({ text, ...requestOptions(settings) }).replaceAll("'", "'\\''");
  return `curl ${location.origin}/v1/label -H 'Content-Type: application/json' \\\n     -d '${body}'\n`;
}

function requestOptions({ types, minProb }) {
  const all = types.length === TYPES.length;
  return { ...(all ? {} : { predicates: types }), ...(minProb === null ? {} : { min_prob: minProb }) };
}
