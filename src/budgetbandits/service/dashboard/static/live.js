// Keeps a page up to date: when something happens, it is fetched again, and what differs is taken over.
//
// A campaign's page follows the events of its journal. They only say that there is something new: all numbers come from
// the server, written there. The list of campaigns looks every few seconds.

import * as journal from "./journal.js";
import { morph } from "./morph.js";
import { dismiss, notice } from "./notices.js";
import { paced } from "./pace.js";
import { Problem, page } from "./requests.js";
import { localise, setClock, tick } from "./times.js";

const PAUSE = 1000; // between two looks, at least
const PATIENCE = 4; // times as long as the last look took: a busy service is not asked more than it can answer
const RETRIES = [1000, 2000, 4000, 8000, 15000];
const TOPIC = "live";
const MAY_PASS = [429, 503];

let failures = 0;
let retry = 0;
let onFresh = () => {};
let isStreaming = () => true;
let stop = () => {};

/** Look at the page again, as soon as may be; at once for one who has just done something. */
export const refresh = paced(look, (took) => Math.max(PAUSE, PATIENCE * took));

async function look() {
  clearTimeout(retry);
  try {
    const fresh = await page(journal.freshAddress());
    if (journal.isReplaced(fresh)) {
      giveUp();
      return;
    }
    takeOver(fresh);
    failures = 0;
    dismiss(TOPIC);
    if (isStreaming()) status("on", "Live");
  } catch (error) {
    fail(error);
  }
}

/** Stop, since what the page shows has not happened: an older copy of the store is there in place of it. */
function giveUp() {
  stop();
  status("lost", "Replaced");
  const words = "The journal was replaced by an older copy: what you see is not what is there now.";
  notice(words, { error: true, retry: () => location.reload(), label: "Reload", topic: TOPIC });
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
  if (around && (!focused.isConnected || around.hidden)) {
    const next = around.hidden ? null : around.querySelector("button, a, [tabindex='0']");
    (next ?? document.getElementById("main")).focus();
  }
  setClock(fresh.body.dataset.now);
  tick(document);
  journal.takeOver(fresh);
  onFresh();
  readOn();
}

/** Look again at a long journal that has not been read to its end: each look reads on. */
function readOn() {
  if (document.querySelector("[data-reading]")) refresh();
}

function fail(error) {
  const mayPass = !(error instanceof Problem) || MAY_PASS.includes(error.status);
  status("lost", mayPass ? "Offline" : "Stopped");
  if (failures === 0 || !mayPass) {
    const words = mayPass ? `${error.message} What you see may be old.` : error.message;
    notice(words, { error: true, retry: () => refresh({ atOnce: true }), topic: TOPIC });
  }
  if (mayPass) retry = setTimeout(refresh, RETRIES[Math.min(failures, RETRIES.length - 1)]);
  failures += 1;
}

function status(kind, text) {
  const live = document.getElementById("live");
  live.className = `live ${kind}`;
  const words = live.querySelector(".live-text");
  if (words.textContent !== text) words.textContent = text;
}

/** Begin to watch what this page is about. `then` is called whenever it was taken over afresh. */
export function watch(then) {
  const live = document.getElementById("live");
  onFresh = then;
  readOn();
  if (live.dataset.events) watchEvents(live.dataset.events);
  else watchList(1000 * Number(live.dataset.poll));
}

function watchList(period) {
  const look = () => {
    if (!document.hidden) refresh();
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
    source.close();
  };
  isStreaming = () => source.readyState === EventSource.OPEN;
  // Browsers open few connections to one server: a page that nobody sees gives its own back.
  const follow = () => {
    close();
    if (!document.hidden) {
      refresh();
      open();
    }
  };
  document.addEventListener("visibilitychange", follow);
  stop = () => {
    close();
    document.removeEventListener("visibilitychange", follow);
  };
  open();
}
