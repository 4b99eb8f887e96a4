// Requests to the service, and what is said when they fail.

const PATIENCE = 30; // seconds that an answer may take

/** The path below which the service is found; a proxy in front may have one. */
export const ROOT = document.body.dataset.root;

/** What the service refused, in its own words. */
export class Problem extends Error {
  constructor(status, detail) {
    super(detail || `The service answered with ${status}.`);
    this.status = status;
  }
}

/** No answer came: nobody knows whether something was changed. */
export class Unreachable extends Error {
  constructor() {
    super("The service cannot be reached.");
  }
}

/** A key that makes a request repeatable: with the same key, it is done once. */
export function newKey() {
  // Not randomUUID, which browsers have for https and localhost only.
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function answer(path, options, patience = PATIENCE) {
  let response;
  try {
    response = await fetch(path, { ...options, credentials: "same-origin", signal: AbortSignal.timeout(1000 * patience) });
  } catch {
    throw new Unreachable();
  }
  if (response.ok) return response;
  throw new Problem(response.status, await detailIn(response));
}

async function detailIn(response) {
  const text = await response.text();
  const isPage = response.headers.get("Content-Type")?.startsWith("text/html");
  try {
    return isPage ? parsed(text).querySelector("[data-detail]").textContent : JSON.parse(text).detail;
  } catch {
    return null; // it comes from something between us and the service
  }
}

const parsed = (text) => new DOMParser().parseFromString(text, "text/html");

/** Change something: send JSON and return the JSON that comes back, null if there is none. */
export async function send(path, body, key = newKey(), patience = PATIENCE) {
  const headers = { "Content-Type": "application/json", "X-Requested-With": "budgetbandits", "Idempotency-Key": key };
  const response = await answer(path, { method: "POST", headers, body: JSON.stringify(body) }, patience);
  return response.status === 204 ? null : response.json();
}

export async function read(path) {
  return (await answer(path, { headers: { Accept: "application/json" } })).json();
}

/** Fetch a page of ours; without a token any more, go and ask for one. */
export async function page(path) {
  const response = await answer(path, { headers: { Accept: "text/html" } });
  if (new URL(response.url).pathname === `${ROOT}/sign-in`) {
    location.assign(`${ROOT}/sign-in?next=${encodeURIComponent(location.pathname)}`);
    throw new Unreachable();
  }
  return parsed(await response.text());
}
