// Keeps a page up to date: when something happens, it is fetched again, and what differs is taken over.
//
// A campaign's page follows the events of its journal. They only say that there is something new: all
// numbers come from the server, written there. The list of campaigns looks every few seconds.

import { morph } from "./morph.js";
import { dismiss, notice } from "./notices.js";
import { Problem, page } from "./requests.js";
import { localise, setClock, tick } from "./times.js";
import * as journal from "./journal.js";

const PAUSE = 1000; // between two looks, at least
const PATIENCE = 4; // times as long as the last look took: a busy service is not asked more than it can answer
const RETRIES = [1000, 2000, 4000, 8000, 15000];
const LOST = "lost";

let wanted = false; // somebody wants to look again
let looking = null;
let wake = () => {};
let failures = 0;
let onFresh = () => {};

/** Look at the page again, as soon as may be; at once for one who has just done something. */
export function refresh({ atOnce = false } = {}) {
  wanted = true;
  if (atOnce) wake();
  looking ??= look().finally(() => { looking = null; });
  return looking;
}

async function look() {
  while (wanted) {
    wanted = false;
    const begin = performance.now();
    try {
      const fresh = await page(journal.freshAddress());
      takeOver(fresh);
      failures = 0;
      dismiss(LOST);
    } catch (error) {
      failed(error);
      return;
    }
    await pause(Math.max(PAUSE, PATIENCE * (performance.now() - begin)));
  }
}

function takeOver(fresh) {
  localise(fresh);
  const focused = document.activeElement;
  const around = focused?.closest("[data-live]");
  for (const section of document.querySelectorAll("[data-live]")) {
    const other = fresh.getElementById(section.id);
    if (other) morph(section, other);
  }
  // Where the focused element is gone, such as a button of a pull that was settled, the next best gets the focus.
  if (around && !focused.isConnected) (around.querySelector("button, [tabindex='0']") ?? around).focus();
  setClock(fresh.body.dataset.now);
  tick(document);
  journal.takeOver(fresh);
  onFresh();
}

function failed(error) {
  if (error instanceof Problem && error.status !== 503 && error.status !== 429) {
    status("lost", "Stopped");
    notice(error.message, { error: true, retry: () => refresh({ atOnce: true }), topic: LOST });
    return;
  }
  status("lost", "Offline");
  if (failures === 0) {
    notice("The service cannot be reached. What you see may be old.", { error: true, retry: () => refresh({ atOnce: true }), topic: LOST });
  }
  setTimeout(refresh, RETRIES[Math.min(failures, RETRIES.length - 1)]);
  failures += 1;
}

function status(kind, text) {
  const live = document.getElementById("live");
  live.className = `live ${kind}`;
  live.querySelector(".live-text").textContent = text;
}

function pause(milliseconds) {
  return new Promise((done) => {
    wake = done;
    setTimeout(done, milliseconds);
  });
}

/** Begin to watch what this page is about. `then` is called whenever it was taken over afresh. */
export function watch(then) {
  const live = document.getElementById("live");
  onFresh = then;
  if (live.dataset.events) watchEvents(live.dataset.events);
  else watchList(1000 * Number(live.dataset.poll));
}

function watchList(period) {
  const look = async () => {
    if (document.hidden) return;
    await refresh();
    if (failures === 0) status("on", "Live");
  };
  status("on", "Live");
  setInterval(look, period);
  document.addEventListener("visibilitychange", look);
}

function watchEvents(address) {
  let source = null;
  let attempts = 0;
  let timer = 0;

  const open = () => {
    clearTimeout(timer);
    source = new EventSource(`${address}?after=${journal.last()}`);
    source.onopen = () => {
      status("on", "Live");
      if (attempts > 0) refresh();
      attempts = 0;
    };
    source.onmessage = () => refresh();
    source.onerror = () => {
      status("lost", "Reconnecting");
      attempts += 1;
      // A browser tries again by itself, but not after an answer other than 200, such as 503.
      if (source.readyState === EventSource.CLOSED) {
        timer = setTimeout(open, RETRIES[Math.min(attempts, RETRIES.length) - 1]);
        refresh(); // which says why, or asks for a new token
      }
    };
  };
  const close = () => {
    clearTimeout(timer);
    source?.close();
  };
  // Browsers have few connections to one server: a page that nobody sees gives its own back.
  document.addEventListener("visibilitychange", () => {
    close();
    if (!document.hidden) {
      refresh();
      open();
    }
  });
  open();
}
