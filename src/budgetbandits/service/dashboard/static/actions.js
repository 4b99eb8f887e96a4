// Buttons that change something, dialogs, and signing out.

import { refresh } from "./live.js";
import { notice } from "./notices.js";
import { ROOT, Unreachable, newKey, page, send } from "./requests.js";
import { localise } from "./times.js";

export function start() {
  document.addEventListener("click", (event) => {
    const target = event.target.closest("[data-post], [data-pane], [data-copy], [data-sign-out]");
    if (!target || target.tagName === "FORM") return;
    if (target.dataset.post) act(target);
    else if (target.dataset.copy) copy(target);
    else if (target.hasAttribute("data-sign-out")) signOut();
    else if (!event.ctrlKey && !event.metaKey && !event.shiftKey) {
      event.preventDefault();
      openPane(target);
    }
  });
}

async function act(button) {
  if (!button.dataset.confirm || (await isConfirmed(button))) await perform(button, newKey());
}

/** Do what a button is for. If no answer comes, it may be tried again with the same key, and is done once. */
async function perform(button, key, { post, body, done, patience } = { ...button.dataset }) {
  button.setAttribute("aria-busy", "true");
  try {
    await send(post, JSON.parse(body), key, patience);
    notice(done);
  } catch (error) {
    const again = () => perform(button, key, { post, body, done, patience });
    notice(error.message, { error: true, retry: error instanceof Unreachable ? again : null, topic: post });
  }
  button.removeAttribute("aria-busy");
  if (document.getElementById("live")) refresh({ atOnce: true });
}

function isConfirmed(button) {
  const dialog = document.getElementById("confirm");
  const yes = document.getElementById("confirm-yes");
  document.getElementById("confirm-title").textContent = button.dataset.confirm;
  document.getElementById("confirm-text").textContent = button.dataset.text;
  yes.textContent = button.dataset.yes;
  yes.className = button.classList.contains("danger") ? "danger" : "primary";
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((decided) => {
    dialog.addEventListener("close", () => decided(dialog.returnValue === "yes"), { once: true });
  });
}

/** Show what stands on another page in a dialog over this one. */
async function openPane(link) {
  const pane = document.getElementById("pane");
  const content = document.getElementById("pane-content");
  content.replaceChildren(paragraph("Loading"));
  pane.showModal();
  try {
    const found = await page(link.href);
    localise(found);
    content.replaceChildren(...found.querySelector("[data-pane-content]").children);
  } catch (error) {
    content.replaceChildren(paragraph(error.message));
  }
}

function paragraph(text) {
  const made = document.createElement("p");
  made.className = "pane-wait";
  made.textContent = text;
  return made;
}

async function copy(button) {
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
    notice("Copied.");
  } catch {
    notice(`Copy it by hand: ${button.dataset.copy}`, { error: true });
  }
}

async function signOut() {
  try {
    await send(`${ROOT}/sign-out`, {});
    location.assign(`${ROOT}/sign-in`);
  } catch (error) {
    notice(error.message, { error: true, retry: signOut });
  }
}
