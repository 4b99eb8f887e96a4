// The two forms: signing in, and creating a campaign. Rules are checked by the service, whose words are shown.

import { button, noticeLater } from "./notices.js";
import { ROOT, Unreachable, newKey, send } from "./requests.js";

/** Send a form's JSON; what is wrong is said in its place, with a way to try the very same request again. */
async function submit(form, path, body, then, key = newKey()) {
  const submitter = form.querySelector("button.primary");
  say(form, null);
  submitter.setAttribute("aria-busy", "true");
  try {
    then(await send(path, body, key));
  } catch (error) {
    say(form, error.message, error instanceof Unreachable ? () => submit(form, path, body, then, key) : null);
  }
  submitter.removeAttribute("aria-busy");
}

function say(form, text, retry = null) {
  const place = form.querySelector(".form-problem");
  place.replaceChildren();
  if (text === null) return;
  const words = document.createElement("p");
  words.textContent = text;
  place.append(words);
  if (retry) place.append(button("Try again", retry));
  place.scrollIntoView({ block: "nearest" });
}

export function startSignIn(form) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const token = form.elements.token.value.trim();
    submit(form, `${ROOT}/sign-in`, { token }, () => location.assign(form.dataset.next));
  });
}

export function startCreate(form) {
  const rows = document.getElementById("arm-rows");
  document.getElementById("add-arm").addEventListener("click", () => {
    rows.append(document.getElementById("arm-row").content.cloneNode(true));
    rows.lastElementChild.querySelector("input").focus();
  });
  rows.addEventListener("click", (event) => {
    const row = event.target.closest("[data-remove-arm]")?.parentElement;
    if (!row) return;
    const neighbour = row.nextElementSibling ?? row.previousElementSibling;
    row.remove();
    (neighbour?.querySelector("input") ?? document.getElementById("add-arm")).focus();
  });
  const policy = document.getElementById("policy");
  policy.addEventListener("change", () => describe(policy));
  describe(policy);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    let body;
    try {
      body = campaignOf(form);
    } catch (error) {
      say(form, error.message);
      return;
    }
    submit(form, form.dataset.post, body, (made) => {
      noticeLater(made.warnings ?? []);
      location.assign(`${ROOT}/campaigns/${encodeURIComponent(body.name)}`);
    });
  });
}

function describe(policy) {
  const { summary, parameters, usual } = policy.selectedOptions[0].dataset;
  document.getElementById("policy-hint").textContent = summary;
  document.getElementById("parameters-hint").textContent = parameters ? `It takes ${parameters}.` : "It takes none.";
  document.getElementById("parameters").value = usual;
}

function campaignOf(form) {
  const value = (name) => form.elements[name].value.trim();
  const each = (name) => [...form.querySelectorAll(`[name="${name}"]`)].map((input) => input.value.trim());
  const costs = each("arm-cost").map(amounts);
  const body = {
    name: value("name"),
    costs: each("arm-name").map((name, row) => [name, costs[row]]),
    budget: amounts(value("budget")),
    reward_range: [number(value("reward-low")), number(value("reward-high"))],
    policy: { name: value("policy"), ...parametersIn(value("parameters")) },
    on_expire: value("on_expire"),
    on_overrun: value("on_overrun"),
    skip: form.elements.skip.checked,
  };
  const limits = each("arm-limit").map((limit) => (limit ? number(limit) : null));
  if (limits.some((limit) => limit !== null)) body.limits = limits;
  for (const name of ["requests", "seed"]) if (value(name)) body[name] = number(value(name));
  for (const name of ["lease", "requests_rate", "until", "refill"]) if (value(name)) body[name] = value(name);
  if (value("unit")) body.unit = amounts(value("unit"));
  return body;
}

const AMOUNT = "[-+\\d.eE]+";
const PART = new RegExp(`^(?:(\\S+)\\s+)?(${AMOUNT}(?:(?:\\s+to\\s+|\\s*\\.\\.\\s*)${AMOUNT})?)$`);

/** Amounts or ranges by resource, from "usd 0.02, gpu_s 5 to 20". All else goes as it is: the service reads it. */
function amounts(text) {
  const parts = text.split(",").map((part) => part.trim().match(PART));
  if (parts.some((part) => !part?.[1])) return text;
  return Object.fromEntries(parts.map(([, resource, amount]) => [resource, amount]));
}

/** A number, or the text where it is none: then the service says what is wrong with it. */
function number(text) {
  return text !== "" && Number.isFinite(Number(text)) ? Number(text) : text;
}

/** The parameters of a policy as they are typed: "width = 0.5, lazy = true". */
function parametersIn(text) {
  try {
    return JSON.parse(`{${text.replace(/(^|,)\s*(\w+)\s*=/g, '$1"$2":')}}`);
  } catch {
    throw new Error(`The parameters are ${text}: write them as in width = 0.5, lazy = true`);
  }
}
