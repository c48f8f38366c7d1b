// The Edit page: a text that saves itself, what it would change, and changes that are taken or left one by one.

import { onEvent, whenEnded } from "./events.js";
import { ask, goTo, say, sayOf, showTab } from "./studio.js";

const WAIT_TO_SAVE = 1200; // ms after the last key
const WAIT_TO_KEEP = 250; // in the browser, in case the page ends
const LONGEST_WAIT = 30_000; // between two tries to save
const LOCKED = 3000; // the same, while a run holds the project
const KEEPALIVE = 60_000; // bytes that a browser still sends while a page ends
const TRIED = 3; // texts that may stand at the server though no answer said so
const SITTING = 120_000; // ms without a key after which `undo` begins anew
const narrow = matchMedia("(max-width: 60rem)");
const GATHER = 150; // ms in which several changes count as one
const FOLLOW = 500; // between two looks at a run

/**
 * @typedef {object} Draft a text that is not saved yet, kept in the browser
 * @property {string} text
 * @property {string} was the text that it was made from
 * @property {string} base names that one
 * @property {string[]} [tried] what was handed in since
 */

/** @param {string} id */
const find = (id) => /** @type {HTMLElement} */ (document.getElementById(id));
const project = document.body.dataset.project ?? "";
const api = `/projects/${encodeURIComponent(project)}`;
const parts = `${api}/edit-parts`;

/** Ask htmx for a piece of the page. @param {string} path @param {string} target */
const load = (path, target) => globalThis.htmx.ajax("GET", path, { target, swap: "innerHTML" });
let telling = /** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined);
let owesSaved = false;

/** Have looked anew at what would change: at the end of a run that was begun here, whose first words wait for nothing. */
function tellSaved() {
  clearTimeout(telling);
  telling = setTimeout(() => {
    owesSaved = starting || following !== "";
    if (!owesSaved) document.body.dispatchEvent(new CustomEvent("fabula:saved"));
  }, GATHER);
}

// What no text keeps: what a terminal would obey, what nobody can see, what turns the direction, halves of characters.
const UNSEEN = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\p{Cs}]/u;

/**
 * Say what went wrong, until it is right again; an empty text takes it away.
 * @param {"unsaved" | "run"} about @param {string} words
 */
function warn(about, words) {
  const place = find("trouble");
  if (words && place.querySelector(`[data-about="${about}"]`)?.textContent === words) return; // said once is enough
  place.querySelector(`[data-about="${about}"]`)?.remove();
  if (!words) return;
  const line = document.createElement("p");
  line.className = "problem";
  line.dataset.about = about;
  line.textContent = words;
  place.append(line);
}

/** A text as the server keeps it: without blanks at the ends of lines. @param {string} text */
const plain = (text) => text.replace(/\p{Cs}/gu, "\ufffd").split("\n").map((line) => line.trimEnd()).join("\n").replace(/^\n+/, "").trimEnd();

/** Number of words, about as the server counts them. @param {string} text */
function countWords(text) {
  const signs = /[\u3005-\u3007\u3041-\u3096\u30a1-\u30fa\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]/gu;
  const alone = text.match(signs)?.length ?? 0;
  return alone + (text.replace(signs, " ").match(/[^\s]*[\p{L}\p{N}][^\s]*/gu)?.length ?? 0);
}

// the text ---------------------------------------------------------------------------------------------------------------

/** The text of this page, saved by itself. */
class Editor {
  /** @param {HTMLTextAreaElement} box */
  constructor(box) {
    this.box = box;
    this.name = box.dataset.name ?? "";
    this.base = box.dataset.base ?? ""; // names what the server has
    this.was = box.value; // what the server has
    this.sent = box.value; // the same, as it was typed
    this.tried = /** @type {string[]} */ ([]); // what was handed in since, and may stand though no answer said so
    this.looks = /** @type {Promise<void>} */ (Promise.resolve());
    this.nextLook = /** @type {Promise<void> | null} */ (null);
    this.address = `${api}/artefacts/${this.name.split("/").map(encodeURIComponent).join("/")}`;
    this.key = `fabula-draft:${project}:${this.name}`;
    this.saving = /** @type {Promise<void> | null} */ (null);
    this.failed = 0;
    this.torn = false; // two texts wait to be put together
    this.typed = 0;
    this.sitting = "";
  }

  /** Is something typed here that the server has not said it has? */
  get dirty() {
    return this.box.value !== this.sent || this.unsure;
  }

  /** May another text of this page stand at the server than the one it spoke of last? */
  get unsure() {
    return this.tried.some((one) => one !== this.sent);
  }

  /** @param {"saved" | "unsaved" | "failed"} state @param {string} words */
  mark(state, words) {
    const place = find("saved");
    if (place.textContent === words) return; // each key says so again
    place.className = `chip ${{ saved: "good", unsaved: "stale", failed: "bad" }[state]}`;
    place.textContent = words;
  }

  count() {
    const words = countWords(this.box.value);
    const { low, high } = this.box.dataset;
    find("words").textContent = `${words.toLocaleString("en")} ${words === 1 ? "word" : "words"}`;
    find("length").textContent = low && words < Number(low) ? "shorter than requested" : high && words > Number(high) ? "longer than requested" : "";
  }

  keep() {
    try {
      const draft = /** @type {Draft} */ ({ text: this.box.value, was: this.was, base: this.base, tried: this.tried });
      if (this.dirty) localStorage.setItem(this.key, JSON.stringify(draft));
      else localStorage.removeItem(this.key);
    } catch {
      // The browser's own store is full or shut; the page itself still has the text.
    }
  }

  changed() {
    const now = Date.now();
    if (now - this.typed > SITTING || !this.sitting) this.sitting = `${now.toString(36)}-${Math.random().toString(36).slice(2)}`;
    this.typed = now;
    clearTimeout(this.counter);
    this.counter = setTimeout(() => this.count(), GATHER);
    clearTimeout(this.keeper);
    this.keeper = setTimeout(() => this.keep(), WAIT_TO_KEEP);
    if (!this.dirty) {
      if (!this.saving) this.mark("saved", "Saved");
    } else if (!this.torn && !this.failed) {
      this.mark("unsaved", "Not saved yet");
      this.saveIn(WAIT_TO_SAVE);
    }
  }

  /** @param {number} wait */
  saveIn(wait) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.save(), wait);
  }

  /** Save now, and wait until it is done. */
  async save() {
    clearTimeout(this.timer);
    while (this.saving) await this.saving; // one after another, however many wait
    if (this.torn || !this.dirty) return;
    this.saving = this.put();
    await this.saving;
    this.saving = null;
    if (this.dirty && !this.torn && !this.failed) this.saveIn(WAIT_TO_SAVE);
  }

  async put() {
    const text = this.box.value;
    this.mark("unsaved", "Saving …");
    this.hand(text);
    try {
      const answer = await ask(this.address, { method: "PUT", body: { text: text.replace(/\p{Cs}/gu, "\ufffd"), base: this.base, sitting: this.sitting } });
      this.base = answer.base;
      this.was = this.sent = text;
      this.tried = [];
      warn("unsaved", "");
      if (this.failed) say("Saved.");
      this.failed = 0;
      this.mark(this.dirty ? "unsaved" : "saved", this.dirty ? "Not saved yet" : "Saved");
      this.keep();
      if (UNSEEN.test(text)) {
        const there = await ask(this.address);
        if (!this.dirty) this.show(there);
        say("Saved, without invisible characters.");
      }
      tellSaved();
    } catch (error) {
      this.keep();
      const { problem, data } = /** @type {any} */ (error);
      const there = problem?.code === "conflict" && data?.conflict;
      if (there && this.isOwn(there.theirs)) {
        this.standOn({ text: there.theirs, base: there.base });
        await this.put();
      } else await this.notSaved(/** @type {any} */ (error));
    }
  }

  /** @param {string} text which is handed in now */
  hand(text) {
    this.tried = [...this.tried.filter((one) => one !== text), text].slice(-TRIED);
  }

  /** Was this text handed in here? A disk that fills, or a line that breaks, may keep it and say nothing of it. @param {string} text */
  isOwn(text) {
    return this.tried.some((one) => plain(one) === plain(text));
  }

  /** Go on from a text of this page's own that stands at the server by now. @param {{text: string, base: string}} there */
  standOn(there) {
    this.base = there.base;
    this.was = there.text;
    if (this.box.value !== there.text) this.sent = there.text; // else it stays unsaved until an answer says otherwise
    if (this.dirty && !this.saving) this.saveIn(WAIT_TO_SAVE);
  }

  /** @param {Error & {status?: number, problem?: {code: string}}} error */
  async notSaved(error) {
    if (error.problem?.code === "conflict") return this.tear();
    this.failed += 1;
    if (error.problem?.code === "locked") {
      this.mark("unsaved", "Waiting for the run");
      if (this.failed === 1) say("A run is writing this project. Your text is kept in this browser and is saved when the run ends.");
      this.saveIn(LOCKED);
      return;
    }
    const wrong = error.status !== undefined && [400, 404, 413, 422].includes(error.status); // the same would fail again
    const why = error.status ? error.message : "The server cannot be reached.";
    const next = wrong ? "It is saved after your next change." : "Saving is retried automatically.";
    this.mark("failed", "Not saved");
    warn("unsaved", `Not saved: ${why} Your text stays on this page and in this browser. ${next}`);
    if (this.failed === 1) say("Not saved.");
    if (wrong) this.failed = 0;
    else this.saveIn(Math.min(1000 * 2 ** this.failed, LONGEST_WAIT));
  }

  /** Another text stands by now: show both, and one with the changes of both. */
  async tear() {
    this.torn = true;
    this.box.readOnly = true;
    this.mark("failed", "Changed elsewhere");
    const body = JSON.stringify({ name: this.name, base: this.was, mine: this.box.value });
    const headers = { "content-type": "application/json", "hx-request": "true" };
    const response = await fetch(`${parts}/merge`, { method: "POST", headers, body }).catch(() => null);
    if (!response?.ok) {
      this.torn = this.box.readOnly = false;
      this.failed += 1;
      warn("unsaved", "Not saved: this text was changed elsewhere, and the other version cannot be read now. Yours stays on this page.");
      this.saveIn(LONGEST_WAIT);
      return;
    }
    show(await response.text());
    say("This text was also changed elsewhere. Compare both versions and choose.");
  }

  /** Take what stands at the server; nothing can be typed until then. */
  async take() {
    const there = await ask(this.address).catch((error) => warn("unsaved", error.message));
    if (there) this.show(there);
    else setTimeout(() => this.take(), LOCKED);
  }

  /** @param {{text: string, base: string}} there what stands at the server */
  show(there) {
    const [from, to] = [this.box.selectionStart, this.box.selectionEnd];
    if (this.box.value !== there.text) this.box.value = there.text;
    this.was = this.sent = this.box.value;
    this.base = there.base;
    this.torn = this.box.readOnly = false;
    this.failed = 0;
    this.tried = [];
    this.sitting = "";
    warn("unsaved", "");
    this.box.setSelectionRange(from, to);
    this.mark("saved", "Saved");
    this.count();
    this.keep();
  }

  /** Was the text changed elsewhere? What is unsaved here is not lost: then both are shown. */
  look(quiet = false) {
    this.nextLook ??= this.looks.then(() => this.see(quiet)); // one after another: an older answer never comes last
    this.looks = this.nextLook;
    return this.looks;
  }

  /** @param {boolean} quiet */
  async see(quiet) {
    this.nextLook = null;
    while (this.saving) await this.saving;
    if (this.torn) return;
    const there = await ask(this.address).catch(() => null);
    if (!there || there.base === this.base || this.torn || this.saving) return;
    if (this.isOwn(there.text)) {
      this.standOn(there);
      return;
    }
    if (this.box.value !== this.sent) {
      await this.tear();
      return;
    }
    this.show(there);
    if (!quiet) say("This text was changed elsewhere. This is its current version.");
  }

  /** Put back what a page before this one could not save. */
  async putBack() {
    let draft = /** @type {Draft | null} */ (null);
    try {
      draft = JSON.parse(localStorage.getItem(this.key) ?? "null");
    } catch {
      return;
    }
    if (!draft || draft.text === this.box.value) return this.keep();
    const there = this.box.value;
    this.box.value = draft.text;
    this.tried = draft.tried ?? [];
    if (draft.base === this.base || this.isOwn(there)) {
      say("Your unsaved text from last time has been restored.");
      this.changed();
      return;
    }
    this.was = draft.was;
    await this.tear();
  }

  leave() {
    const hands = this.dirty && !this.torn && this.box.value.length <= KEEPALIVE / 3;
    if (hands) this.hand(this.box.value);
    this.keep();
    if (!hands) return;
    const body = JSON.stringify({ text: this.box.value, base: this.base, sitting: this.sitting });
    fetch(`/api/v1${this.address}`, { method: "PUT", keepalive: true, headers: { "content-type": "application/json" }, body }).catch(() => {});
  }

  begin() {
    this.box.addEventListener("input", () => this.changed());
    this.box.addEventListener("blur", () => this.save());
    document.addEventListener("visibilitychange", () => (document.visibilityState === "hidden" ? this.save() : this.look()));
    addEventListener("pagehide", () => this.leave());
    addEventListener("beforeunload", (event) => {
      this.keep();
      if (this.dirty && (this.failed || this.torn)) event.preventDefault();
    });
    this.count();
    this.putBack();
  }
}

// what stands above the text: changes, versions, two texts ------------------------------------------------------------

/** Show a piece of HTML of our own templates, in which every text is escaped. @param {string} html */
function show(html) {
  const place = find("review");
  place.innerHTML = html;
  globalThis.htmx.process(place);
  shown();
}

/** Lead to what is shown now; but nobody is taken away from what they are typing. */
function shown() {
  const title = find("review").querySelector("h2");
  const typing = document.activeElement?.matches("textarea:not(:read-only), input:not([type=checkbox], [type=radio])");
  if (!title || typing) return;
  showTab("Text");
  title.focus();
  title.scrollIntoView({ block: "nearest" });
}

/** Lead to the field for what is to be found, filled with what is marked, or to the places. @param {boolean} first */
function seek(first) {
  const field = /** @type {HTMLInputElement} */ (find("find-old"));
  if (first) field.value = marked()?.passage.split("\n")[0].slice(0, field.maxLength) ?? "";
  showTab("Text");
  (boxes()[0] ?? field).focus();
  if (document.activeElement === field) field.select();
}

/** The boxes of all changes that are shown. */
const boxes = () => /** @type {HTMLInputElement[]} */ ([...find("review").querySelectorAll('input[name="take"]')]);

/** @param {KeyboardEvent} event */
function onReviewKey(event) {
  const all = boxes();
  const target = /** @type {HTMLElement} */ (event.target);
  if (!all.length || event.ctrlKey || event.metaKey || event.altKey || target.matches("textarea, select, input:not([type='checkbox'])")) return;
  const at = all.indexOf(/** @type {HTMLInputElement} */ (document.activeElement));
  const step = { j: 1, k: -1 }[event.key];
  if (step !== undefined) all[Math.max(0, Math.min(all.length - 1, at + step))].focus();
  else if (at >= 0 && (event.key === "a" || event.key === "r")) {
    all[at].checked = event.key === "a";
    all[at].dispatchEvent(new Event("change", { bubbles: true }));
    all[Math.min(all.length - 1, at + 1)].focus();
  } else return;
  event.preventDefault();
}

function tellTaken() {
  const all = boxes();
  say(`${all.filter((one) => one.checked).length} of ${all.length} changes are accepted.`);
}

// runs -----------------------------------------------------------------------------------------------------------------

let following = "";
let suggesting = ""; // the last run that was begun for suggestions
const isSuggesting = () => following !== "" && following === suggesting;
let starting = false;
let looking = /** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined);

/** Begin a run of a verb, and follow it. @param {string} verb @param {Record<string, unknown>} given */
async function start(verb, given) {
  if (starting || following) return say("A run started here is still writing.");
  starting = true;
  const caps = ["tokens", "usd"].map((id) => [`budget_${id}`, /** @type {HTMLInputElement | null} */ (find(id))?.value]);
  const budget = Object.fromEntries(caps.filter(([, most]) => most).map(([name, most]) => [name, Number(most)]));
  try {
    const model = /** @type {HTMLInputElement | null} */ (find("model"))?.value.trim();
    const chosen = model && verb === "update" ? { model } : {};
    const run = await ask(`${api}/${verb}`, { body: { ...given, ...chosen, ...budget } });
    following = run.id;
    if (verb === "suggestions") suggesting = run.id;
    if (run.id === suggesting) find("suggest").scrollTop = 0; // what comes stands there
    warn("run", "");
    showRun(run);
    whenEnded(run.id, follow);
  } catch (error) {
    warn("run", /** @type {Error} */ (error).message);
  } finally {
    starting = false;
  }
}

/** How does the run stand that was begun here? At its end, show what it has changed. */
async function follow() {
  clearTimeout(looking);
  looking = undefined;
  const id = following;
  const run = id && (await ask(`${api}/runs/${id}`).catch(() => null));
  if (following !== id) return;
  if (!run) {
    if (id) looking ??= setTimeout(follow, LOCKED); // the server cannot be reached
    return;
  }
  if (run.state === "queued" || run.state === "running") return showRun(run);
  following = "";
  await ended(run);
}

const isMending = () => document.querySelector("#beside form.mend") !== null;
let owesBeside = false;

/** Have what stands beside the text looked at anew, but not while a sentence is being mended there. */
function lookBeside() {
  owesBeside = isMending();
  if (!owesBeside) document.body.dispatchEvent(new CustomEvent("fabula:checked"));
}
let unfolded = /** @type {Map<string, boolean>} */ (new Map()); // by what they are called: whether they are open
/** The parts of what stands beside the text. @param {Element} place */
const folds = (place) => /** @type {HTMLDetailsElement[]} */ ([...place.querySelectorAll(":scope > details")]);
/** @param {Element} fold */
const called = (fold) => fold.querySelector("summary")?.textContent?.trim() ?? "";
// who a name is ----------------------------------------------------------------------------------------------------------

const REST = 350; // ms for which a pointer rests on a name
const NEAR = 200; // characters on each side that are sent
let resting = /** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined);
let lookedUp = 0;

/**
 * Show whom the text names at a place, and what is known of them by then; a place below 0 shows nobody.
 * @param {number} at @param {boolean} answer whether to say so if the text names nobody there
 */
async function showWho(at, answer) {
  const [box, mine] = [find("who"), ++lookedUp];
  const area = /** @type {HTMLTextAreaElement | null} */ (document.getElementById("text"));
  if (!box || !area || (at < 0 && !box.firstChild)) return;
  let said = /** @type {string[]} */ ([]);
  if (at >= 0) {
    const near = { name: box.dataset.part ?? "", before: area.value.slice(Math.max(at - NEAR, 0), at), after: area.value.slice(at, at + NEAR) };
    const response = await fetch(`${parts}/who?${new URLSearchParams(near)}`).catch(() => null);
    if (mine !== lookedUp) return; // another place is asked for by now
    said = response?.ok ? (await response.json()).said : [];
  }
  if (!said.length && answer) said = ["The codex has no entry for this word."];
  box.replaceChildren(...said.map((one, number) => Object.assign(document.createElement(number ? "p" : "strong"), { textContent: one })));
}

document.addEventListener("htmx:beforeSwap", (event) => {
  const { detail } = /** @type {CustomEvent} */ (event);
  if (detail.target.id !== "beside") return;
  unfolded = new Map(folds(detail.target).map((fold) => [called(fold), fold.open]));
  if (detail.requestConfig.verb !== "get" || !isMending()) return;
  detail.shouldSwap = false;
  owesBeside = true;
});

/** What happens in this project, here or elsewhere. @param {import("./events.js").Happening} event */
function hear(event) {
  if (event.project !== project) return;
  const of = event.run === following && following;
  if (of && event.type === "text_arrived") arrived(event);
  else if (of && event.type !== "run_ended") looking ??= setTimeout(follow, FOLLOW);
  if (event.type === "run_ended" && editor?.dirty) editor.save();
  if (event.type === "run_ended" && event.run !== suggesting) lookBeside(); // suggestions change nothing
  if (event.type === "project_changed" && isSuggesting()) return; // its calls were recorded
  if (event.type === "artefact_changed" || event.type === "project_changed" || (event.type === "run_ended" && !of)) {
    editor?.look();
    tellSaved();
  }
}

/** @param {any} run */
function showRun(run) {
  const place = find("run");
  if (!place) return;
  const words = run.state === "queued" ? "The run waits for another run to end." : "The run is writing.";
  const line = document.createElement("p");
  const { calls, prompt, reply } = run.total;
  line.className = "note";
  line.textContent = `${words} ${calls} ${calls === 1 ? "call" : "calls"}, ${(prompt + reply).toLocaleString("en")} tokens so far. `;
  const stop = document.createElement("button");
  stop.type = "button";
  stop.textContent = "Stop";
  stop.addEventListener("click", () => ask(`${api}/runs/${run.id}/stop`, { method: "POST" }).catch((error) => warn("run", error.message)));
  line.append(stop);
  if (!place.firstChild) say(words);
  if (!place.contains(document.activeElement)) place.replaceChildren(line);
}

/** @param {any} run */
async function ended(run) {
  find("run")?.replaceChildren();
  const stopped = "The run was stopped. Finished work is kept. Start the run again to continue from there.";
  const whole = run.state === "finished";
  const link = [...document.querySelectorAll("#tree a")].find((one) => one.getAttribute("href") === `${api}/edit/${run.waits_for}`);
  warn("run", whole ? "" : run.waits_for ? `The run waits: approve “${link?.firstChild?.textContent ?? run.waits_for}”, then continue.` : run.message || stopped);
  say(whole ? "The run is finished." : "The run is not finished.");
  const suggests = run.verb === "suggest"; // which changes nothing
  if (!suggests) await editor?.look(true);
  if (!suggests || owesSaved) tellSaved();
  if (editor?.torn) return; // first two texts are to be put together
  if (suggests) await suggested(run);
  else if (run.verb === "style") whole && globalThis.htmx.ajax("POST", `${parts}/style`, { target: "#review", swap: "innerHTML", values: { run: run.id } });
  else if (whole || run.kept) load(`${parts}/review`, "#review");
}

/** What is marked in the text, without the blanks around it, and where that begins and ends. */
function marked() {
  if (!text) return null;
  const passage = text.value.slice(text.selectionStart, text.selectionEnd);
  if (!passage.trim()) return null;
  const from = text.selectionStart + passage.length - passage.trimStart().length;
  return { passage: passage.trim(), from, to: from + passage.trim().length };
}

/** The characters before a place, in the text as the server keeps it and as Python counts. @param {string} value @param {number} at */
function counted(value, at) {
  const goesOn = /^[^\S\n]*\S/.test(value.slice(at)); // else there are no blanks before it, either
  return [...plain(value.slice(0, at) + (goesOn ? "." : ""))].length - Number(goesOn);
}

function showMarked() {
  const place = document.getElementById("marked");
  if (!place || document.activeElement !== text) return;
  const found = marked();
  const words = found ? countWords(found.passage) : 0;
  const line = found ? `Selected: ${words} ${words === 1 ? "word" : "words"}.` : "Select words to reword, or put the cursor where something should follow.";
  if (place.textContent !== line) place.textContent = line;
  clearTimeout(costing);
  costing = setTimeout(showCost, WAIT_TO_SAVE);
}

/** Save the text before something is done with it, and say where that cannot be. */
async function isSaved() {
  await editor?.save();
  if (!editor?.dirty) return true;
  say("The text must be saved first. Try again when it is saved.");
  return false;
}

/** Mark a sentence in the text, where it stands by now. @param {string} sentence @param {number} from where it stood */
function markSentence(sentence, from) {
  if (!text) return;
  const near = [...text.value].slice(0, from).join("").length; // the server counts characters, a browser their halves
  let at = -1;
  for (let place = text.value.indexOf(sentence); place >= 0; place = text.value.indexOf(sentence, place + 1)) {
    if (at < 0 || Math.abs(place - near) < Math.abs(at - near)) at = place;
  }
  if (at < 0) return say("This sentence is no longer in the text.");
  showTab("Text");
  text.focus();
  text.setSelectionRange(at, at); // a browser scrolls to where the cursor is put
  text.blur();
  text.focus();
  text.setSelectionRange(at, at + sentence.length);
  say("The sentence is marked in the text.");
}

// suggestions ----------------------------------------------------------------------------------------------------------

/** What was asked for last, the place in the text that it is for, and whether words of it stand there. @type {{given: Record<string, any>, from: number, to: number, begun: boolean} | null} */
let place = null;
let costing = /** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined);
const list = () => document.getElementById("suggestions");
/** The arguments for a button, at the place that is marked now. @param {DOMStringMap} button */
function wanted(button) {
  if (!text || !editor) return null;
  const found = marked();
  if (button.kind === "reword" && !found) return null;
  const { value } = text;
  const here = found ? { passage: `${counted(value, found.from) + 1}-${counted(value, found.to)}` } : { at: counted(value, text.selectionEnd) };
  const note = /** @type {HTMLInputElement} */ (find("wish")).value;
  const typed = editor.dirty && !editor.torn && !UNSEEN.test(value) ? { unsaved: plain(value) } : {}; // saved meanwhile
  return { artefact: editor.name, kind: button.kind, count: Number(button.count), amount: button.amount ?? "sentence", note, ...here, ...typed };
}

/** The button that Ctrl+Enter presses: other wordings of what is marked, or the next sentence. */
const usual = () => /** @type {HTMLElement | null} */ (document.querySelector(marked() ? '[data-kind="reword"]' : '[data-amount="sentence"]'));

/** Keep what suggestions are for above the list that opens over it: where its place would be if lines were even. */
function uncover() {
  if (!text || document.activeElement === text) return; // a browser keeps the cursor in sight
  const { top, height } = text.getBoundingClientRect();
  const at = top + (height * text.selectionEnd) / Math.max(text.value.length, 1);
  scrollBy(0, Math.max(at - find("suggest").getBoundingClientRect().top, 0));
}

/** Say what the usual suggestions would cost here. */
async function showCost() {
  const button = /** @type {HTMLDetailsElement} */ (find("suggest")).open ? usual() : null;
  const given = button && !editor?.dirty && wanted(button.dataset);
  if (!given) return;
  const found = await ask(`${api}/suggestions/estimate`, { body: given }).catch(() => null);
  if (!found) return;
  const cost = found.cost === null ? "" : `, $${Number(found.cost).toFixed(found.cost ? 4 : 0)}`;
  find("suggest-cost").textContent = `“${button.textContent}” costs about ${found.tokens.toLocaleString("en")} tokens${cost}.`;
}

/** @param {DOMStringMap} button @param {boolean} more whether others are wanted than those that are shown */
async function suggest(button, more = false) {
  if (!text || following) return say("A run started here is still writing.");
  const given = more && place ? { ...place.given, skip: (place.given.skip ?? 0) + place.given.count } : wanted(button);
  if (!given) return say("Select words in the text first.");
  const { from, to } = marked() ?? { from: text.selectionEnd, to: text.selectionEnd };
  if (!more) place = { given, from, to, begun: false };
  else if (place) place.given = given;
  clear();
  /** @type {HTMLDetailsElement} */ (find("suggest")).open = true;
  if ("unsaved" in given || (await isSaved())) await start("suggestions", given);
}

/** The card of a suggestion. @param {number} n */
function card(n) {
  const there = list()?.querySelector(`[data-n="${n}"]`);
  if (there) return /** @type {HTMLElement} */ (there);
  const item = document.createElement("li");
  item.dataset.n = String(n);
  const words = document.createElement("p");
  words.className = "prose";
  words.append("");
  item.append(words);
  list()?.append(item);
  return item;
}

/** What the next frame shows of each suggestion; nothing if the last one showed all. @type {Map<number, string> | null} */
let pieces = null;

/** @param {number} n @param {string} words */
const write = (n, words) => /** @type {Text | undefined} */ (card(n).querySelector("p")?.firstChild)?.appendData(words);

/** A piece of a suggestion, as it is written: the first is shown at once, others once a frame. @param {import("./events.js").Happening} event */
function arrived(event) {
  const number = /\/suggest\/(\d+)\//.exec(event.path)?.[1];
  if (!number || !place || place.given.kind === "ideas") return;
  const n = Number(number) - (place.given.skip ?? 0);
  if (pieces) {
    pieces.set(n, (pieces.get(n) ?? "") + event.text);
    return;
  }
  write(n, event.text);
  pieces = new Map();
  requestAnimationFrame(() => {
    pieces?.forEach((words, one) => write(one, words));
    pieces = null;
  });
}

/** Take away what is suggested. */
function clear() {
  pieces?.clear();
  list()?.replaceChildren();
}

/** @param {string} label @param {() => void} does */
function button(label, does) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = label;
  made.addEventListener("click", does);
  return made;
}

/** Its sentences: marks that only end one, and titles that only begin one, belong to it. @param {string} words */
function sentences(words) {
  /** @type {string[]} */
  const found = [];
  for (const { segment } of new Intl.Segmenter(undefined, { granularity: "sentence" }).segment(words)) {
    const before = found.pop() ?? "";
    const begun = /(^|\W)(Mr|Mrs|Ms|Dr|St|Prof)\.\s*$/.test(before);
    const ends = begun ? segment : before && (/^[*_'"”’»)\]]*(?=\s|$)\s*/.exec(segment)?.[0] ?? "");
    found.push(...[before + ends, segment.slice(ends.length)].filter(Boolean));
  }
  return found;
}

/** The suggestions of a run that has ended. @param {any} run */
async function suggested(run) {
  const found = run.state === "finished" && (await ask(`${api}/runs/${run.id}/result`).catch(() => null));
  clear();
  if (!found || !place) return;
  found.texts.forEach((/** @type {string} */ suggestion, /** @type {number} */ at) => {
    const item = card(at + 1);
    const words = /** @type {HTMLElement} */ (item.querySelector("p"));
    const idea = found.kind === "ideas";
    words.textContent = idea ? suggestion : "";
    if (!idea) for (const segment of sentences(suggestion)) {
      const sentence = button(segment, () => {
        if ("used" in sentence.dataset) return;
        sentence.dataset.used = "";
        use(segment, found.joins[at]);
      });
      sentence.className = "sentence";
      words.append(sentence);
    }
    item.append(idea ? button("Use as a note", () => noted(suggestion)) : button(`Use ${at + 1}`, () => (use(suggestion, found.joins[at]), dismiss())));
  });
  const row = document.createElement("li");
  row.append(button("Suggest others", () => suggest({}, true)), " ", button("Dismiss", dismiss));
  list()?.append(row);
  say(`${found.texts.length} ${found.texts.length === 1 ? "suggestion" : "suggestions"}. Select a sentence to use only that one.`);
  if (document.activeElement === text) {
    text?.blur();
    text?.focus(); // a browser scrolls to what is selected, above this list
  }
}

/** Nobody waits for the suggestions any more: what is finished is kept, the rest is not asked for. */
function stopSuggesting() {
  if (isSuggesting()) fetch(`/api/v1${api}/runs/${following}/stop`, { method: "POST", keepalive: true }).catch(() => {});
}

function dismiss() {
  stopSuggesting();
  clear();
  place = null;
  text?.focus();
}

/** @param {string} idea */
function noted(idea) {
  /** @type {HTMLInputElement} */ (find("wish")).value = idea;
  if (text && place) text.setSelectionRange(place.to, place.to);
  dismiss();
}

/**
 * Put words where the suggestions are for; what is put there next follows them.
 * @param {string} words @param {[string, string, string]} join what separates them from the text before, from more, and from the text after
 */
function use(words, [first, between, last]) {
  if (!text || !place) return;
  const { from, to } = place;
  const before = text.value.slice(0, from);
  const blanks = before.slice(before.trimEnd().length); // which the server need not have
  const missing = first === " " ? first.slice(blanks.length) : first.slice(blanks.split("\n").length - 1);
  const new_ = (place.begun ? between : missing) + words.trim();
  const after = place.begun ? "" : last;
  text.focus();
  text.setSelectionRange(from, to);
  editor?.save(); // what was typed before, so that one undo takes back this alone
  if (editor) editor.sitting = "";
  // Deprecated, but nothing else keeps the browser's own undo.
  if (!document.execCommand("insertText", false, new_ + after)) text.setRangeText(new_ + after, from, to, "end");
  place.from = place.to = from + new_.length;
  place.begun = true;
  editor?.changed();
  if (editor) editor.typed = 0;
  say("The words are in your text. Ctrl+Z or Undo takes them back.");
}

// the book ---------------------------------------------------------------------------------------------------------------

/** The texts of the book, in their order. */
const texts = () => /** @type {HTMLElement[]} */ ([...document.querySelectorAll("[data-book] > [data-text]")]);
/** The link in the list that gets the focus back when the list is there anew, and the text that it then comes after. @type {{text: string, after: string} | null} */
let refocus = null;

/** Change how the book is divided, and show it. @param {string} verb @param {string} name @param {object} body @param {string} words */
async function arrange(verb, name, body, words) {
  if (!(await isSaved())) return;
  const address = `${api}/${verb}/${name.split("/").map(encodeURIComponent).join("/")}`;
  try {
    await ask(address, { method: verb === "places" ? "PUT" : "POST", body });
    warn("run", "");
    say(words);
  } catch (error) {
    warn("run", /** @type {Error} */ (error).message);
  }
  if (editor) editor.sitting = "";
  await editor?.look(true);
  tellSaved();
}

/** Give a text of the book its place after another one. @param {HTMLElement} one @param {HTMLElement | undefined} after */
function placed(one, after) {
  const title = one.querySelector("a > span")?.textContent ?? "";
  const where = after ? `after ${after.querySelector("a > span")?.textContent}` : "first";
  return arrange("places", one.dataset.text ?? "", { after: after?.dataset.text ?? "" }, `${title} now comes ${where}.`);
}

/** Move a text of the book up or down. @param {HTMLElement | undefined} one @param {number} by */
function step(one, by) {
  const all = texts();
  const at = one ? all.indexOf(one) : -1;
  if (!one || at + by < 0 || at + by >= all.length) return say("There is no text before or after it.");
  const after = all[by < 0 ? at - 2 : at + 1];
  refocus = one.contains(document.activeElement) ? { text: one.dataset.text ?? "", after: after?.dataset.text ?? "" } : null;
  return placed(one, after);
}

/** @param {string} what */
function arranged(what) {
  if (!text || !editor) return;
  const title = /** @type {HTMLInputElement} */ (find("split-title")).value;
  const at = counted(text.value, text.selectionStart);
  if (what === "split") arrange("splits", editor.name, { at, title }, "The text is split. Undo joins it again.");
  else if (what === "merge") arrange("merges", editor.name, undefined, "The next text was added. Undo divides them again.");
  else step(texts().find((one) => one.dataset.text === editor.name), what === "up" ? -1 : 1);
}

/** Show whether this text can be moved, or merged with the next one. */
function showEnds() {
  const at = texts().findIndex((one) => one.dataset.text === editor?.name);
  for (const [what, end] of Object.entries({ merge: texts().length - 1, down: texts().length - 1, up: 0 })) {
    document.querySelector(`[data-arrange=${what}]`)?.setAttribute("aria-disabled", String(at === end));
  }
}

let dragged = /** @type {HTMLElement | null} */ (null);
document.addEventListener("dragstart", (event) => {
  dragged = /** @type {HTMLElement} */ (event.target).closest?.("[data-book] > [data-text]") ?? null;
  dragged?.classList.add("dragged");
});
document.addEventListener("dragover", (event) => {
  const over = /** @type {HTMLElement} */ (event.target).closest?.("[data-book] > [data-text]");
  if (!dragged) return;
  event.preventDefault();
  if (!over || over === dragged) return;
  const { top, height } = over.getBoundingClientRect();
  if (event.clientY < top + height / 2) over.before(dragged);
  else over.after(dragged);
});
document.addEventListener("drop", (event) => dragged && event.preventDefault());
document.addEventListener("dragend", () => {
  if (!dragged) return;
  const one = dragged;
  dragged = null;
  one.classList.remove("dragged");
  placed(one, texts()[texts().indexOf(one) - 1]);
});
document.addEventListener("htmx:oobAfterSwap", () => {
  const all = texts();
  const at = all.findIndex((one) => one.dataset.text === refocus?.text);
  if (refocus && at >= 0 && (all[at - 1]?.dataset.text ?? "") === refocus.after) { // not the list as it was before
    all[at].querySelector("a")?.focus();
    refocus = null;
  }
  showEnds();
});

/** Hide everything but the text, or show it again. @param {boolean} on */
function focusOn(on) {
  document.body.classList.toggle("focused", on);
  document.querySelector("[data-focus]")?.setAttribute("aria-pressed", String(on));
  sessionStorage.setItem("fabula-focus", on ? "1" : "");
  text?.focus();
}
if (sessionStorage.getItem("fabula-focus")) queueMicrotask(() => focusOn(true));

// the rest of the page ---------------------------------------------------------------------------------------------------

const text = /** @type {HTMLTextAreaElement | null} */ (document.getElementById("text"));
const editor = text && new Editor(text);

document.addEventListener("htmx:afterSwap", (event) => {
  const target = /** @type {HTMLElement} */ (event.target);
  if (target.id === "review") shown();
  if (target.id === "review" && document.getElementById("find-old")) seek(/** @type {CustomEvent} */ (event).detail.requestConfig.verb === "get");
  if (target.id.startsWith("mend-")) target.querySelector("textarea")?.focus();
  if (target.id === "beside") for (const fold of folds(target)) fold.open = unfolded.get(called(fold)) ?? (fold.open || (!narrow.matches && fold.hasAttribute("data-open-if-wide")));
  const said = target.querySelector("[data-said]");
  if (said) sayOf(/** @type {CustomEvent} */ (event).detail.xhr, said.textContent ?? "");
});

/** What waits for the text to be saved: asked for twice, it is done once. @type {WeakSet<Element>} */
const held = new WeakSet();

// What is decided is decided about the text as it is on the page: it is saved first.
document.addEventListener("htmx:confirm", async (event) => {
  const { detail } = /** @type {CustomEvent} */ (event);
  if (editor?.torn && detail.verb === "get" && detail.target.id === "review") {
    event.preventDefault(); // the two texts are shown there, and nothing else leads on
    say("First choose which of the two texts to keep.");
  }
  if (detail.verb !== "post" || !editor?.dirty || editor.torn) return;
  event.preventDefault();
  if (held.has(detail.elt)) return;
  held.add(detail.elt);
  if (await isSaved()) detail.issueRequest(true);
  held.delete(detail.elt);
});
// A third text stands by now: the two are put together with that one.
document.addEventListener("htmx:responseError", (event) => {
  const { detail } = /** @type {CustomEvent} */ (event);
  if (detail.xhr.status === 409 && detail.pathInfo.requestPath.endsWith("/edit-parts/merged")) editor?.tear();
});
document.body.addEventListener("fabula:look", () => {
  if (editor) editor.sitting = "";
  editor?.look(true);
});
document.body.addEventListener("fabula:settled", () => editor?.take());

document.addEventListener("click", (event) => {
  const target = /** @type {HTMLElement} */ (event.target);
  if (target.closest("form.mend [data-shut]")) {
    const article = target.closest("article");
    target.closest("form")?.remove();
    goTo(article?.querySelector("[hx-get]"));
    if (owesBeside) lookBeside();
  } else if (target.closest("[data-shut]")) {
    find("review").replaceChildren();
    text?.focus();
  }
  const wrong = /** @type {HTMLElement | null} */ (target.closest("[data-mark]"));
  if (wrong) markSentence(wrong.dataset.sentence ?? "", Number(wrong.dataset.mark));
  const all = /** @type {HTMLElement | null} */ (target.closest("[data-all]"));
  if (all) {
    for (const one of boxes()) one.checked = Boolean(all.dataset.all);
    tellTaken();
  }
  if (target.closest("[data-focus]")) focusOn(!document.body.classList.contains("focused"));
  const arranges = /** @type {HTMLElement | null} */ (target.closest("[data-arrange]"));
  if (arranges) arranged(arranges.dataset.arrange ?? "");
  if (target.closest("[data-style]")) start("style", {});
  const run = /** @type {HTMLElement | null} */ (target.closest("[data-run]"));
  if (run) isSaved().then((yes) => yes && start("update", { revise: run.dataset.run === "revise" }));
});
document.addEventListener("change", (event) => {
  if (/** @type {HTMLElement} */ (event.target).matches('#review input[name="take"]')) tellTaken();
});
document.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key === "s") {
    event.preventDefault();
    editor?.save().then(() => (editor.dirty ? undefined : say("Saved.")));
  } else if ((event.ctrlKey || event.metaKey) && event.key === "Enter" && event.target === text) {
    event.preventDefault();
    const button = usual();
    if (button) suggest(button.dataset);
  } else if (event.altKey && event.code === "KeyW" && text && event.target === text) {
    event.preventDefault();
    showWho(text.selectionStart, true);
  } else if (event.key === "Escape" && find("who")?.firstChild) {
    showWho(-1, false);
  } else if (place && event.altKey && /^[1-9]$/.test(event.key)) {
    event.preventDefault();
    list()?.querySelector(`[data-n="${event.key}"] > button`)?.dispatchEvent(new MouseEvent("click"));
  } else if (place && event.key === "Escape" && (list()?.firstChild || isSuggesting())) {
    dismiss();
  } else if (event.key === "F8" || (event.key === "Escape" && document.body.classList.contains("focused"))) {
    event.preventDefault();
    focusOn(!document.body.classList.contains("focused"));
  } else if (event.altKey && event.code === "KeyR") {
    event.preventDefault();
    text?.blur(); // what is typed from now on is to be found
    document.querySelector("[data-find]")?.dispatchEvent(new MouseEvent("click"));
  } else if (event.altKey && (event.key === "ArrowUp" || event.key === "ArrowDown") && /** @type {HTMLElement} */ (event.target).closest("[data-book]")) {
    event.preventDefault();
    step(/** @type {HTMLElement} */ (event.target).closest("[data-text]") ?? undefined, event.key === "ArrowUp" ? -1 : 1);
  } else if (/** @type {HTMLElement} */ (event.target).closest("#review")) onReviewKey(event);
});
document.addEventListener("input", (event) => {
  const form = /** @type {HTMLInputElement} */ (event.target).form;
  if (!form?.contains(document.getElementById("find-old")) || !form.nextElementSibling) return;
  while (form.nextElementSibling) form.nextElementSibling.remove(); // places of other words
  say("Show the places again.");
});
document.addEventListener("selectionchange", showMarked);
text?.addEventListener("mousemove", (event) => {
  clearTimeout(resting);
  resting = setTimeout(() => {
    const found = document.caretPositionFromPoint?.(event.clientX, event.clientY);
    if (found?.offsetNode === text) showWho(found.offset, false);
  }, REST);
});
text?.addEventListener("mouseleave", () => clearTimeout(resting));
text?.addEventListener("input", () => showWho(-1, false));
text?.addEventListener("select", showMarked);
addEventListener("pagehide", stopSuggesting);
document.getElementById("suggest")?.addEventListener("toggle", () => (uncover(), showCost()));
document.getElementById("suggest")?.addEventListener("click", (event) => {
  const button = /** @type {HTMLElement | null} */ (/** @type {HTMLElement} */ (event.target).closest("[data-kind]"));
  if (button) suggest(button.dataset);
});
document.addEventListener("htmx:validation:failed", (event) => say(/** @type {CustomEvent} */ (event).detail.message));
showEnds();
editor?.begin();
const linked = new URLSearchParams(location.hash.slice(1)); // to words in the text
if (linked.get("words")) markSentence(linked.get("words") ?? "", Number(linked.get("at")));
onEvent(hear);
