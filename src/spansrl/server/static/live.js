// Labeling while people type: wait for a pause, cancel earlier requests, ignore late answers, retry politely.

const PAUSE = 300; // milliseconds
const MOST_TRIES = 8;

export class Live {
  #ask;
  #handlers;
  #timer = null;
  #request = null; // the AbortController of the request under way
  #latest = 0;

  // handlers: started(), answered(result), failed(error, seconds until the next try or null)
  constructor(ask, handlers) {
    this.#ask = ask;
    this.#handlers = handlers;
  }

  later(text) {
    this.cancel();
    this.#timer = setTimeout(() => this.now(text), PAUSE);
  }

  cancel() {
    clearTimeout(this.#timer);
    this.#request?.abort();
    this.#request = null;
    this.#latest += 1;
  }

  async now(text, tries = 1) {
    this.cancel();
    const number = this.#latest;
    this.#request = new AbortController();
    this.#handlers.started();
    try {
      const result = await this.#ask(text, this.#request.signal);
      if (number === this.#latest) this.#handlers.answered(result);
    } catch (error) {
      if (number === this.#latest) this.#retry(error, text, tries);
    }
  }

  #retry(error, text, tries) {
    const again = error.wait != null && tries < MOST_TRIES;
    const seconds = again ? Math.min(60, Math.max(error.wait, 2 ** (tries - 1))) : null;
    if (again) this.#timer = setTimeout(() => this.now(text, tries + 1), 1000 * seconds);
    this.#handlers.failed(error, seconds);
  }
}
