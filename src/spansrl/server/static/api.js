// Asks the server; whatever goes wrong becomes an Error whose message can be shown as it is.

export async function label(text, types, signal) {
  const answer = await ask("/v1/label", { text, predicate_types: types, html: true }, signal);
  return answer.results[0];
}

async function ask(address, message, signal) {
  const response = await send(address, message, signal);
  const answer = await response.json().catch(() => null);
  if (answer === null) throw new Error(`The server's answer cannot be read (status ${response.status}).`);
  if (!response.ok) throw new Error(explain(response, answer));
  return answer;
}

async function send(address, message, signal) {
  try {
    return await fetch(address, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(message),
      signal,
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server cannot be reached. Is it still running?");
  }
}

function explain(response, answer) {
  const message = answer.error?.message ?? `status ${response.status}`;
  const wait = response.headers.get("Retry-After");
  return `The server says: ${message}.` + (wait ? ` Try again in ${wait} s.` : "");
}
