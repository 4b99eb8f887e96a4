// Moments in the reader's own time zone, in the same form and length as the server writes them; and clocks that tick.

const two = (number) => String(number).padStart(2, "0");

export function localText(when) {
  const date = `${when.getFullYear()}-${two(when.getMonth() + 1)}-${two(when.getDate())}`;
  return `${date} ${two(when.getHours())}:${two(when.getMinutes())}:${two(when.getSeconds())}`;
}

export function localise(root) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    const text = localText(new Date(time.dateTime));
    time.textContent = time.hasAttribute("data-minutes") ? text.slice(0, "yyyy-mm-dd hh:mm".length) : text;
  }
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  for (const place of root.querySelectorAll("[data-zone]")) place.textContent = `in your time zone (${zone})`;
}

const UNITS = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];

/** A duration in its two largest units, as `formats.how_long` writes it. */
export function howLong(seconds) {
  let rest = Math.max(Math.round(seconds), 0);
  const place = Math.max(UNITS.findIndex(([, size]) => rest >= size), rest ? 0 : UNITS.length - 1);
  const parts = [];
  for (const [unit, size] of UNITS.slice(place, place + 2)) {
    if (rest >= size) parts.push(`${Math.floor(rest / size).toLocaleString("en")} ${unit}`);
    rest %= size;
  }
  return parts.join(" ") || "0 s";
}

let ahead = 0; // by which the server's clock is ahead of this machine's

export function setClock(now) {
  ahead = Date.parse(now) - Date.now();
}

export const serverTime = () => Date.now() + ahead;

export function tick(root) {
  const now = serverTime();
  for (const clock of root.querySelectorAll(".clock")) {
    const { since, until } = clock.dataset;
    const seconds = since ? now - Date.parse(since) : Date.parse(until) - now;
    const text = seconds > 0 ? howLong(seconds / 1000) : "over";
    if (clock.textContent !== text) clock.textContent = text;
  }
}
