// One pane for each role of a room: what it writes, as it writes it, with tokens and cost.
//
// Text is put in as text, never as HTML, once in a frame. A pane shows the end of a long text; a button shows all of it.
// It follows what is written until its reader scrolls back, and again once they are at the end.

/** @typedef {import("./events.js").Happening} Happening */

const SHOWN = 3_000; // characters of a pane, unless all are wanted
const SLACK = 1_500; // and so many more before its beginning is taken off
const KEPT = 2_000_000;
const BETWEEN = 60; // milliseconds at least between two frames in which text is put in
const LETTERS = 4; // of a token, on average

/**
 * @typedef {Object} Pane
 * @property {HTMLElement} root
 * @property {HTMLElement} log
 * @property {Text} text
 * @property {HTMLElement} about
 * @property {HTMLButtonElement} all
 * @property {string[]} fresh pieces that are not on the page yet
 * @property {string} whole
 * @property {boolean} showsAll
 * @property {boolean} follows
 * @property {string} path of the call that is at work, or was last
 * @property {string} performer
 * @property {Set<string>} running
 * @property {{calls: number, replayed: number, tokens: number, cached: number, cost: number | null, letters: number}} took
 */

/**
 * The panes in a place of the page.
 * @param {HTMLElement} place
 * @param {(sum: {calls: number, replayed: number, tokens: number, cached: number, cost: number | null, running: number}) => void} [onSum]
 */
export function makePanes(place, onSum) {
  /** @type {Map<string, Pane>} */
  const panes = new Map();
  /** @type {Map<string, string>} */
  const roles = new Map(); // by the path of a call
  /** @type {Set<Pane>} */
  const changed = new Set();
  let drawing = false;
  let drawn = 0;

  /** @param {Pane} pane */
  function draws(pane) {
    changed.add(pane);
    if (drawing) return;
    drawing = true;
    const rest = drawn + BETWEEN - performance.now();
    if (rest > 0) setTimeout(() => requestAnimationFrame(draw), rest);
    else requestAnimationFrame(draw);
  }

  function draw() {
    drawing = false;
    drawn = performance.now();
    for (const pane of changed) write(pane);
    for (const pane of changed) if (pane.follows) pane.log.scrollTop = 1e9;
    changed.clear();
    onSum?.(sum(panes.values()));
  }

  /** @param {string} role */
  function paneOf(role) {
    const there = panes.get(role);
    if (there) return there;
    const pane = newPane(role, draws);
    panes.set(role, pane);
    place.append(pane.root);
    return pane;
  }

  return {
    /**
     * Take an event of the run in.
     * @param {Happening} said
     */
    hear(said) {
      const event = whole(said);
      const pane = event.type === "call_retried" ? triedAgain(event, panes.values()) : heard(event, roles, paneOf);
      if (pane) draws(pane);
    },
    /** Begin anew, for another run. */
    clear() {
      panes.clear();
      roles.clear();
      changed.clear();
      place.replaceChildren();
    },
    /** How many letters are on the page, and all of each role's text that has arrived: for tests. */
    letters: () => [...panes.values()].reduce((sum, pane) => sum + pane.whole.length, 0),
    texts: () => Object.fromEntries([...panes].map(([role, pane]) => [role, pane.whole + pane.fresh.join("")])),
  };
}

const FIELDS = ["path", "role", "performer", "model", "reason", "text"];

/**
 * An event with all that is read here: the log of a project that came from elsewhere may lack it.
 * @param {Happening} said
 * @returns {Happening}
 */
function whole(said) {
  if (said.type === "text_arrived" && typeof said.path === "string" && typeof said.text === "string") return said;
  const event = { ...said, usage: { prompt: 0, reply: 0, cached: 0, cost: null, ...said.usage } };
  for (const field of FIELDS) event[field] = String(said[field] ?? "");
  return event;
}

/**
 * @param {Happening} event
 * @param {Map<string, string>} roles
 * @param {(role: string) => Pane} paneOf
 */
function heard(event, roles, paneOf) {
  if (event.type === "text_arrived") {
    const pane = paneOf(roles.get(event.path) ?? "");
    if (pane.path !== event.path && pane.running.size > 1) pane.fresh.push(headed(pane, event.path));
    pane.path = event.path;
    pane.fresh.push(event.text);
    pane.took.letters += event.text.length;
    return pane;
  }
  if (event.type === "call_started") {
    roles.set(event.path, event.role);
    const pane = paneOf(event.role);
    pane.fresh.push(headed(pane, event.path));
    pane.path = event.path;
    pane.performer = event.performer.split("@")[0];
    pane.running.add(event.path);
    if (event.priced === false && !pane.took.calls) pane.took.cost = null;
    return pane;
  }
  if (event.type !== "call_finished" && event.type !== "call_lost") return null;
  const pane = paneOf(event.role);
  pane.running.delete(event.path);
  pane.took.letters = 0;
  if (event.replayed) pane.took.replayed += 1;
  else {
    const before = pane.took.calls ? pane.took.cost : 0;
    pane.took.calls += 1;
    pane.took.tokens += event.usage.prompt + event.usage.reply;
    pane.took.cached += event.usage.cached;
    pane.took.cost = before === null || event.usage.cost === null ? null : before + event.usage.cost;
  }
  return pane;
}

/**
 * A model failed and is asked again: what it says from here on is its whole answer. The event does not say in which call,
 * so it is only marked where a single role has that model at work.
 * @param {Happening} event
 * @param {Iterable<Pane>} panes
 */
function triedAgain(event, panes) {
  const model = event.model.split("@")[0];
  const at = [...panes].filter((pane) => pane.running.size === 1 && pane.performer === model);
  if (at.length !== 1) return null;
  at[0].fresh.push(`\n[${event.reason} Asked again.]\n`);
  return at[0];
}

/**
 * A line that says which call follows.
 * @param {Pane} pane
 * @param {string} path
 */
function headed(pane, path) {
  return `${pane.whole || pane.fresh.length ? "\n\n" : ""}[${path}]\n`;
}

/**
 * Put what has arrived on the page.
 * @param {Pane} pane
 */
function write(pane) {
  const piece = pane.fresh.join("");
  pane.fresh = [];
  if (piece) {
    pane.whole += piece;
    if (pane.whole.length > 2 * KEPT) pane.whole = pane.whole.slice(-KEPT);
    if (!pane.showsAll && pane.text.length + piece.length > SHOWN + SLACK) pane.text.data = pane.whole.slice(-SHOWN);
    else pane.text.appendData(piece);
  }
  pane.all.hidden = pane.showsAll || pane.whole.length <= pane.text.length;
  const { calls, replayed, tokens, cost, letters } = pane.took;
  const coming = Math.round(letters / LETTERS);
  const said = [
    pane.performer,
    calls ? `${calls.toLocaleString("en")} ${calls === 1 ? "call" : "calls"}` : "",
    replayed ? `${replayed.toLocaleString("en")} from the journal` : "",
    tokens || coming ? `${coming ? "about " : ""}${(tokens + coming).toLocaleString("en")} tokens` : "",
    calls || cost === null ? dollars(cost) : "",
  ];
  pane.about.textContent = said.filter(Boolean).join(" · ");
  pane.root.classList.toggle("at-work", pane.running.size > 0);
}

/**
 * @param {string} role
 * @param {(pane: Pane) => void} draws
 * @returns {Pane}
 */
function newPane(role, draws) {
  const root = document.createElement("section");
  const name = document.createElement("h3");
  const about = document.createElement("p");
  const log = document.createElement("div");
  const all = document.createElement("button");
  const text = document.createTextNode("");
  root.className = "role";
  name.textContent = role.replaceAll("_", " ").replaceAll("-", " ") || "others";
  name.id = `role-${role || "others"}`;
  about.className = "hint";
  log.className = "log";
  log.setAttribute("role", "log");
  log.setAttribute("aria-live", "off");
  log.setAttribute("aria-labelledby", name.id);
  log.tabIndex = 0;
  log.append(text);
  all.type = "button";
  all.className = "quiet";
  all.textContent = "Show everything";
  all.hidden = true;
  root.append(name, about, all, log);
  const took = { calls: 0, replayed: 0, tokens: 0, cached: 0, cost: /** @type {number | null} */ (0), letters: 0 };
  /** @type {Pane} */
  const pane = {
    ...{ root, log, text, about, all, took, fresh: [], whole: "", showsAll: false, follows: true },
    ...{ path: "", performer: "", running: new Set() },
  };
  all.addEventListener("click", () => {
    pane.showsAll = true;
    pane.follows = false;
    pane.text.data = pane.whole;
    draws(pane);
  });
  log.addEventListener("scroll", () => {
    pane.follows = log.scrollTop + log.clientHeight >= log.scrollHeight - 8;
  });
  return pane;
}

/** @param {Iterable<Pane>} panes */
function sum(panes) {
  const found = { calls: 0, replayed: 0, tokens: 0, cached: 0, cost: /** @type {number | null} */ (0), running: 0 };
  for (const { took, running } of panes) {
    found.calls += took.calls;
    found.replayed += took.replayed;
    found.tokens += took.tokens + Math.round(took.letters / LETTERS);
    found.cached += took.cached;
    found.cost = found.cost === null || took.cost === null ? null : found.cost + took.cost;
    found.running += running.size;
  }
  return found;
}

/**
 * US dollars for people.
 * @param {number | null} cost
 */
export function dollars(cost) {
  if (cost === null) return "price unknown";
  return cost ? `$${cost.toFixed(4)}` : "$0";
}
