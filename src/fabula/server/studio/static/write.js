// The Write page: the room while a run is at work, its sums, what it keeps, and how it stands.

import { onConnection, onEvent } from "./events.js";
import { dollars, makePanes } from "./panes.js";
import { ask, complain, say } from "./studio.js";

/** @typedef {import("./events.js").Happening} Happening */

const project = document.body.dataset.project ?? "";
const parts = `/projects/${encodeURIComponent(project)}/write-parts`;
const room = /** @type {HTMLElement} */ (document.getElementById("room"));
const sums = /** @type {HTMLElement} */ (document.getElementById("sum"));
const connection = /** @type {HTMLElement} */ (document.getElementById("connection"));
const scratchpad = /** @type {HTMLElement} */ (document.getElementById("scratchpad"));
const panes = makePanes(/** @type {HTMLElement} */ (document.getElementById("roles")), showSum);

let shown = ""; // the run whose room is shown
let after = 0; // up to this number its events came in one piece
let loading = false;
/** @type {Happening[]} */
let meanwhile = [];
/** @type {Map<string, number>} */
const soon = new Map();
/** What was not loaded anew since it was in use, by where it stands. @type {Map<string, string>} */
const owed = new Map();
let loaded = Promise.resolve(); // parts are loaded one after the other: htmx drops all but the last of those that wait
const chosen = new URLSearchParams(location.search).has("text");

function newest() {
  return document.getElementById("run")?.dataset.run ?? "";
}

/** @param {{calls: number, tokens: number, cost: number | null, running: number}} sum */
function showSum(sum) {
  const calls = `${sum.calls.toLocaleString("en")} ${sum.calls === 1 ? "call" : "calls"}`;
  const kind = sum.running ? "about " : "";
  const cost = sum.calls || sum.cost === null ? ` · ${dollars(sum.cost)}` : ""; // before the first answer nothing is paid
  sums.textContent = `${sum.running} at work · ${calls} · ${kind}${sum.tokens.toLocaleString("en")} tokens${cost}`;
}

/**
 * Show the room of a run from its beginning; what comes while that is fetched follows it.
 * @param {string} run
 */
async function showRoom(run) {
  shown = run;
  document.getElementById("look-back")?.remove();
  loading = true;
  meanwhile = [];
  panes.clear();
  scratchpad.replaceChildren();
  room.hidden = false;
  try {
    const found = await ask(`/projects/${encodeURIComponent(project)}/runs/${run}/events`);
    if (shown !== run) return;
    after = found.after;
    for (const event of found.events) hearOfRun(event);
  } catch (error) {
    if (shown !== run) return; // another room is shown by now
    complain(/** @type {Error} */ (error).message);
  }
  loading = false;
  for (const event of meanwhile) if (event.n > after) hearOfRun(event);
  meanwhile = [];
}

/** @param {Happening} event of the run that is shown */
function hearOfRun(event) {
  panes.hear(event);
  if (event.type === "kept") addKept(event);
}

/** @param {Happening} event */
function addKept(event) {
  const line = document.createElement("li");
  const link = document.createElement("a");
  link.href = `/projects/${encodeURIComponent(project)}/write?text=${encodeURIComponent(event.path)}`;
  link.textContent = event.path;
  line.append(link, ` ${Number(event.words ?? 0).toLocaleString("en")} words`);
  scratchpad.append(line);
  while (scratchpad.childElementCount > 300) scratchpad.firstElementChild?.remove();
  /** @type {HTMLElement} */ (document.getElementById("nothing-kept")).hidden = true;
}

/**
 * Load a part of the page anew, once for all that asks for it within a moment; what is in use, once it is not any more.
 * @param {string} what
 * @param {string} target
 */
function refresh(what, target) {
  if (soon.has(target)) return;
  const timer = window.setTimeout(() => {
    soon.delete(target);
    if (isInUse(target)) owed.set(target, what);
    else loaded = loaded.then(() => window.htmx.ajax("GET", `${parts}/${what}`, { target, swap: "outerHTML" })).catch(() => {});
  }, 250);
  soon.set(target, timer);
}

/** Does somebody mark words of the text, or type into what belongs to the run? @param {string} target */
function isInUse(target) {
  if (target === "#text") return Boolean(getSelection()?.toString());
  return target === "#run" && document.activeElement?.matches("#run :is(textarea, input)");
}

// What was in use is loaded when it is not any more.
for (const type of ["selectionchange", "focusout"]) {
  document.addEventListener(type, () => setTimeout(() => {
    for (const [target, what] of owed) if (!isInUse(target) && owed.delete(target)) refresh(what, target);
  }));
}

/** Show anew what stands in the middle: what was asked for, else the story. */
function refreshText() {
  const text = document.getElementById("text");
  const name = chosen ? text?.dataset.name ?? "" : "";
  if (text) refresh(`text?name=${encodeURIComponent(name)}`, "#text");
}

/** @param {Happening} event */
function hear(event) {
  if (event.project !== project) return;
  const type = event.type;
  if (event.run === shown) {
    if (loading) meanwhile.push(event);
    else if (event.n > after) hearOfRun(event);
  }
  if (type === "run_begun" && event.run !== shown) showRoom(event.run);
  if (type.startsWith("run_") || type === "answers_awaited") refreshRun();
  if (type === "kept" || type === "run_ended" || type === "artefact_changed") {
    refresh(`tree?name=${encodeURIComponent(document.getElementById("text")?.dataset.name ?? "")}`, "#tree");
  }
  if (type === "run_begun") document.body.dispatchEvent(new CustomEvent("fabula:begun"));
  if (type === "run_ended") {
    say(`The run ${WORDS[event.state] ?? "ended"}. ${event.message ?? ""}`);
    document.body.dispatchEvent(new CustomEvent("fabula:ended"));
    refreshText();
  }
  if (type === "call_finished") refreshSum();
}

/** @type {Record<string, string>} */
const WORDS = { finished: "has finished", waits: "waits for you", stopped: "was stopped", failed: "failed", killed: "was killed" };

let summing = 0;

/** The table of what the run took, at most every two seconds. */
function refreshSum() {
  summing ||= window.setTimeout(() => {
    summing = 0;
    refreshRun();
  }, 2000);
}

function refreshRun() {
  refresh("run", "#run");
}

// What a button has changed, and what happened meanwhile, may have answered in another order than it was done.
document.addEventListener("htmx:afterRequest", (event) => {
  const { requestConfig, target } = /** @type {CustomEvent} */ (event).detail;
  if (requestConfig.verb === "post" && target.id === "run") refreshRun();
});

document.addEventListener("click", (event) => {
  const button = /** @type {HTMLElement} */ (event.target).closest("[data-copy]");
  if (!button) return;
  const place = /** @type {HTMLTextAreaElement} */ (document.getElementById(/** @type {HTMLElement} */ (button).dataset.copy ?? ""));
  navigator.clipboard.writeText(place.value).then(
    () => say("The prompt is on the clipboard."),
    () => place.select(),
  );
});

onConnection((is, signedOut) => {
  connection.hidden = is;
  connection.textContent = signedOut ? "signed out: open the link that the server printed" : "no connection; retrying";
});
onEvent(hear);
const back = document.getElementById("look-back");
back?.querySelector("button")?.addEventListener("click", () => showRoom(newest()));
if (newest() && !back) showRoom(newest());
window.fabulaRoom = { texts: panes.texts, letters: panes.letters };
