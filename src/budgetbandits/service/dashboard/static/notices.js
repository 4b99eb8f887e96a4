// Short messages at the edge of the window, where they push nothing aside.

const STAY = 6000;

/** Say something. An error stays until it is dismissed or tried again; only one of the same `topic` is shown. */
export function notice(text, { error = false, retry = null, label = "Try again", topic = text } = {}) {
  dismiss(topic);
  const box = document.createElement("div");
  box.className = error ? "notice error" : "notice";
  box.setAttribute("role", error ? "alert" : "status");
  box.dataset.topic = topic;
  const words = document.createElement("p");
  words.textContent = text;
  box.append(words);
  if (retry) box.append(button(label, () => { box.remove(); retry(); }));
  if (error) box.append(button("Dismiss", () => box.remove()));
  else setTimeout(() => box.remove(), STAY);
  document.getElementById("notices").append(box);
}

export function dismiss(topic) {
  for (const box of document.querySelectorAll(".notice")) if (box.dataset.topic === topic) box.remove();
}

export function button(label, act) {
  const made = document.createElement("button");
  made.type = "button";
  made.className = "quiet";
  made.textContent = label;
  made.addEventListener("click", act);
  return made;
}

const KEPT = "budgetbandits-notices";

/** Say something on the page that is loaded next. */
export function noticeLater(texts) {
  if (texts.length) sessionStorage.setItem(KEPT, JSON.stringify(texts));
}

export function showLater() {
  const texts = JSON.parse(sessionStorage.getItem(KEPT) || "[]");
  sessionStorage.removeItem(KEPT);
  for (const text of texts) notice(text, { error: true });
}
