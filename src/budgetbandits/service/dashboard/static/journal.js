// The journal on the page of a campaign: the newest entries first, new ones put in above, older ones fetched below.

import { notice } from "./notices.js";
import { page } from "./requests.js";
import { localise } from "./times.js";

const MOST = 2000; // rows that are kept in the page
const rows = () => document.getElementById("entries");
const numberOf = (row) => Number(row.id.slice("entry-".length));

/** The last entry shown. */
export function last() {
  const first = rows()?.firstElementChild;
  return first ? numberOf(first) : 0;
}

/** Whether a fresh page is about another journal: it has fewer entries than were shown, and a journal only grows. */
export function isReplaced(fresh) {
  return Number(fresh.getElementById("entries")?.dataset.all ?? Infinity) < last();
}

/** Where this page is to be fetched again, with the entries that it does not show yet. */
export function freshAddress() {
  const address = new URL(location.href);
  if (rows()) address.searchParams.set("after", last());
  address.hash = "";
  return address.href;
}

/** Put the entries of a fresh page above those shown, without moving what is being read. */
export function takeOver(fresh) {
  const body = rows();
  if (!body) return;
  const added = [...fresh.getElementById("entries").children].filter((row) => numberOf(row) > last());
  if (!added.length) return;
  // More came than are sent at a time: those between are not here, so all begins anew.
  if (numberOf(added.at(-1)) > last() + 1) body.replaceChildren();
  const scroll = document.getElementById("journal-scroll");
  const before = scroll.scrollHeight;
  const isReading = scroll.scrollTop > 0;
  body.prepend(...added);
  document.getElementById("no-entries").hidden = true;
  if (isReading) scroll.scrollTop += scroll.scrollHeight - before;
  while (body.children.length > MOST) body.lastElementChild.remove();
  document.getElementById("newer").hidden = !isReading;
  document.getElementById("older").hidden = numberOf(body.lastElementChild) <= 1;
}

export function start() {
  const scroll = document.getElementById("journal-scroll");
  const newer = document.getElementById("newer");
  const older = document.getElementById("older");
  newer.addEventListener("click", () => {
    scroll.scrollTop = 0;
    scroll.focus();
  });
  scroll.addEventListener("scroll", () => {
    if (scroll.scrollTop === 0) newer.hidden = true;
  });
  older.addEventListener("click", () => loadOlder(older));
}

async function loadOlder(older) {
  const body = rows();
  const first = numberOf(body.lastElementChild);
  older.disabled = true;
  try {
    const found = await page(`${older.dataset.page}?before=${first}`);
    localise(found);
    const added = [...found.getElementById("entries").children].filter((row) => numberOf(row) < first);
    body.append(...added);
    older.hidden = !added.length || numberOf(body.lastElementChild) <= 1;
  } catch (error) {
    notice(error.message, { error: true, retry: () => loadOlder(older) });
  } finally {
    older.disabled = false;
  }
}
