/**
 * Spend a budget from JavaScript: Node 18 or newer, a browser, Deno or Bun; nothing to install.
 *
 *     budgetbandits serve sqlite:///ads.db      # prints a token, once
 *     BUDGETBANDITS_TOKEN=bb_... node examples/service.mjs
 *
 * Amounts are text, never floats. A request that was not answered is sent again as it was: an ask is known by its key, a
 * tell by its pull, so nothing happens twice.
 */
const SERVICE = process.env.BUDGETBANDITS_URL ?? "http://127.0.0.1:8000";
const TOKEN = process.env.BUDGETBANDITS_TOKEN ?? "";
const AGAIN = new Set([429, 502, 503, 504]);

/** What the service says is wrong (RFC 9457); `type` tells the kinds apart. */
class Problem extends Error {
  constructor({ type, detail, status }) {
    super(detail);
    this.kind = type?.split(":").pop();
    this.status = status;
  }
}

const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, 1000 * seconds));

/** Send a request until it is answered, for up to half a minute. */
async function call(method, path, body) {
  const request = {
    method,
    headers: { Authorization: `Bearer ${TOKEN}`, "Content-Type": "application/json" },
    body: body && JSON.stringify(body),
  };
  const end = Date.now() + 30_000;
  for (let wait = 0.05; ; wait = Math.min(2 * wait, 2)) {
    let trouble;
    try {
      const response = await fetch(`${SERVICE}/v1${path}`, request);
      const answer = await response.json();
      if (response.ok) return answer;
      trouble = new Problem(answer);
      const isUnderWay = trouble.kind === "request-under-way"; // what was sent before, and not answered
      if (!AGAIN.has(response.status) && !isUnderWay) throw trouble;
      wait = Math.max(wait, Number(response.headers.get("Retry-After") ?? 0));
    } catch (error) {
      if (error === trouble) throw error;
      trouble = error; // of the network
    }
    if (Date.now() + 1000 * wait > end) throw trouble;
    await pause(Math.random() * wait);
  }
}

/** A campaign of the service. */
class Campaign {
  constructor(name) {
    this.path = `/campaigns/${encodeURIComponent(name)}`;
  }
  static async create(name, settings) {
    await call("POST", "/campaigns", { name, ...settings });
    return new Campaign(name);
  }
  /** The next pull, its cost reserved; undefined once waiting brings none. Other pulls may give money back meanwhile. */
  async ask(key = crypto.randomUUID()) {
    for (;;) {
      const { pulls, is_final: isFinal } = await call("POST", `${this.path}/ask`, { key, wait: "20 seconds" });
      if (pulls.length || isFinal) return pulls[0];
    }
  }
  tell(pull, reward, cost) {
    return call("POST", `${this.path}/tell`, { pull, reward, cost });
  }
  money() {
    return call("GET", `${this.path}/money`);
  }
}

const chances = { small: 0.4, large: 0.9 }; // stands for what your action pays
const ads = await Campaign.create(`javascript-${Date.now()}`, {
  costs: { small: "0.10", large: "0.25" },
  budget: "10.00",
  reward_range: [0, 1],
  lease: "10 minutes",
});

/** A worker: as many of them as you like, here or on other machines. */
async function work() {
  let rewards = 0;
  for (let pull; (pull = await ads.ask()); ) {
    const reward = Math.random() < chances[pull.arm] ? 1 : 0;
    await ads.tell(pull, reward);
    rewards += reward;
  }
  return rewards;
}

const rewards = await Promise.all([work(), work(), work(), work()]);
const { money } = await ads.money();
console.log(`${rewards.reduce((sum, reward) => sum + reward, 0)} rewards, spent ${money.spent} of ${money.budget}`);
