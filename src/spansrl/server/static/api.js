// The request to the server. Whatever goes wrong becomes a LabelError whose message can be shown as it is.

export class LabelError extends Error {
  // `wait`: seconds after which the same request may succeed; null if it never will.
  constructor(message, wait = null) {
    super(message);
    this.wait = wait;
  }
}

// All predicates and arguments: the page filters them itself.
export const label = async (text, signal) => (await answerTo({ text, explain: true, min_prob: 0 }, signal))[0];

// Texts with their statements, of arguments that are likely enough.
export const labelTexts = (texts, signal) => answerTo({ texts, statements: true }, signal);

async function answerTo(message, signal) {
  const response = await send(message, signal);
  const answer = await response.json().catch((error) => {
    if (error.name === "AbortError") throw error;
    return null;
  });
  if (answer === null) throw new LabelError(`The server's answer is not JSON (status ${response.status}).`);
  if (!response.ok) throw explain(response, answer);
  return answer.results;
}

async function send(message, signal) {
  try {
    return await fetch("/v1/label", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(message),
      signal,
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    const cause = navigator.onLine ? "Is it still running?" : "This device seems to be offline.";
    throw new LabelError(`The server cannot be reached. ${cause}`, 5);
  }
}

function explain(response, answer) {
  const found = answer.error?.message ?? `status ${response.status}`;
  const wait = Number.parseInt(response.headers.get("Retry-After") ?? "", 10);
  if (response.status === 413) return new LabelError(`The text is too long: ${found}.`);
  if (response.status === 429) return new LabelError("The server is busy.", wait || 2);
  if (response.status === 503) return new LabelError(`The server is not ready: ${found}.`, wait || 2);
  return new LabelError(`The server reports an error: ${found}.`);
}
