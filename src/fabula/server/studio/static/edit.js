// The Edit page: a text that saves itself, what it would change, and changes that are taken or left one by one.

import { ask, complain, say } from "./studio.js";

const WAIT_TO_SAVE = 1200; // ms after the last key
const WAIT_TO_KEEP = 250; // in the browser, in case the page ends
const LONGEST_WAIT = 30_000; // between two tries to save
const KEEPALIVE = 60_000; // bytes that a browser still sends while a page ends

/**
 * @typedef {object} Draft a text that is not saved yet, kept in the browser
 * @property {string} text
 * @property {string} base the text that it was made from
 * @property {string} version of that text
 */

/** @param {string} id */
const find = (id) => /** @type {HTMLElement} */ (document.getElementById(id));
const box = /** @type {HTMLTextAreaElement | null} */ (document.getElementById("text"));
if (box) edit(box);

/**
 * Number of words, about as the server counts them.
 * @param {string} text
 */
function countWords(text) {
  return (text.match(/[\p{L}\p{N}][^\s]*/gu) ?? []).length;
}

/** @param {HTMLTextAreaElement} text */
function edit(text) {
  const project = document.body.dataset.project ?? "";
  const name = text.dataset.name ?? "";
  const address = `/projects/${encodeURIComponent(project)}`;
  const artefact = `${address}/artefacts/${name.split("/").map(encodeURIComponent).join("/")}`;
  const key = `fabula-draft:${project}:${name}`;
  let version = text.dataset.version ?? "";
  let base = text.value; // what the server has
  let sent = text.value; // what is in it, as it was typed
  let saving = false;
  let failed = 0;
  let stopped = false; // until the person has settled a conflict
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let keeper;

  const dirty = () => text.value !== sent;

  /** @param {string} state @param {string} words */
  function mark(state, words) {
    const place = find("saved");
    place.dataset.state = state;
    place.className = `chip ${{ saved: "good", unsaved: "stale", failed: "bad" }[state] ?? ""}`;
    place.textContent = words;
  }

  function count() {
    const words = countWords(text.value);
    const place = find("words");
    place.textContent = `${words.toLocaleString("en")} ${words === 1 ? "word" : "words"}`;
    const low = Number(text.dataset.low || 0);
    const high = Number(text.dataset.high || Infinity);
    const off = !text.dataset.low ? "" : words < low ? "shorter than asked" : words > high ? "longer than asked" : "";
    find("length").textContent = off;
  }

  function keepHere() {
    try {
      /** @type {Draft} */
      const draft = { text: text.value, base, version };
      if (dirty()) localStorage.setItem(key, JSON.stringify(draft));
      else localStorage.removeItem(key);
    } catch {
      // The browser's own store is full or shut: the page itself still has the text.
    }
  }

  function changed() {
    count();
    clearTimeout(keeper);
    keeper = setTimeout(keepHere, WAIT_TO_KEEP);
    if (!dirty()) {
      if (!saving) mark("saved", "Saved");
      return;
    }
    if (!failed) mark("unsaved", "Not saved yet");
    if (!stopped) saveSoon(failed ? undefined : WAIT_TO_SAVE);
  }

  /** @param {number | undefined} wait */
  function saveSoon(wait) {
    if (wait === undefined) return; // another try is due already
    clearTimeout(timer);
    timer = setTimeout(save, wait);
  }

  async function save() {
    clearTimeout(timer);
    if (saving || stopped || !dirty()) return;
    saving = true;
    const now = text.value;
    mark("unsaved", "Saving …");
    try {
      const answer = await ask(artefact, { method: "PUT", body: { text: now, base: version } });
      ({ version } = answer);
      base = answer.text ?? now;
      sent = now;
      failed = 0;
      complain("");
      mark(dirty() ? "unsaved" : "saved", dirty() ? "Not saved yet" : "Saved");
      say(`Saved at ${new Date().toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })}.`);
      keepHere();
      refresh();
      if (dirty()) saveSoon(WAIT_TO_SAVE);
    } catch (error) {
      keepHere();
      await notSaved(/** @type {any} */ (error));
    } finally {
      saving = false;
    }
  }

  /** @param {Error & {status?: number, problem?: {code?: string, message: string}, data?: any}} error */
  async function notSaved(error) {
    if (error.problem?.code === "conflict") {
      stopped = true;
      mark("failed", "Changed elsewhere");
      await showMerge(base, text.value);
      return;
    }
    failed += 1;
    const again = error.status === 400 || error.status === 413 || error.status === 422 ? 0 : Math.min(2000 * 2 ** (failed - 1), LONGEST_WAIT);
    mark("failed", "Not saved");
    const why = error.status ? error.message : "The server cannot be reached.";
    complain(`Not saved. ${why} Your text stays on this page and in this browser${again ? "; saving is tried again by itself" : ""}.`);
    say("Not saved.");
    if (again) saveSoon(again);
    else failed = 0; // the next key tries again
  }

  // two who edit -----------------------------------------------------------------------------------------------------

  /**
   * Show what stands elsewhere, mine, and both together.
   * @param {string} was the text that mine was made from
   * @param {string} mine
   */
  async function showMerge(was, mine) {
    const response = await fetch(`${address}/edit-parts/merge`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "text/html" },
      body: JSON.stringify({ name, base: was, mine }),
    });
    if (!response.ok) return complain("The other text cannot be read now. Yours stays on this page.");
    const place = find("review");
    place.innerHTML = await response.text(); // made by our own templates, where every text is escaped
    globalThis.htmx?.process(place);
    place.querySelector("h2")?.focus();
    say("This text was changed elsewhere, too. Look at both, and choose.");
  }

  /** The form of a merge: the text that was put together from it is saved on top of the other one. */
  document.addEventListener("fabula:merged", (event) => {
    const merged = /** @type {CustomEvent<{text: string, version: string, base: string}>} */ (event).detail;
    text.value = merged.text;
    version = merged.version;
    base = sent = merged.base;
    stopped = false;
    failed = 0;
    find("review").replaceChildren();
    complain("");
    changed();
    text.focus();
    save();
  });

  /** The text was changed elsewhere: taken at once where nothing is unsaved here, else both are shown. */
  async function look() {
    if (saving || stopped) return;
    let there;
    try {
      there = await ask(artefact);
    } catch {
      return; // what stands in the way is said when something is saved
    }
    if (there.version === version || saving || stopped) return;
    if (dirty()) {
      stopped = true;
      mark("failed", "Changed elsewhere");
      await showMerge(base, text.value);
      return;
    }
    const at = [text.selectionStart, text.selectionEnd];
    text.value = base = sent = there.text;
    ({ version } = there);
    text.setSelectionRange(at[0], at[1]);
    changed();
    say("This text was changed elsewhere, and is shown as it stands now.");
    refresh();
  }

  // what would change --------------------------------------------------------------------------------------------------

  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let refresher;

  function refresh() {
    clearTimeout(refresher);
    refresher = setTimeout(() => document.body.dispatchEvent(new CustomEvent("fabula:saved")), 150);
  }

  // a draft that a page before this one could not save ---------------------------------------------------------------

  async function putBack() {
    let draft;
    try {
      draft = /** @type {Draft | null} */ (JSON.parse(localStorage.getItem(key) ?? "null"));
    } catch {
      draft = null;
    }
    if (!draft || draft.text === text.value) return;
    const mine = draft.text;
    if (draft.version === version) {
      text.value = mine;
      say("What could not be saved the last time was put back.");
      changed();
      return;
    }
    stopped = true;
    text.value = mine;
    mark("failed", "Changed elsewhere");
    await showMerge(draft.base, mine);
  }

  text.addEventListener("input", changed);
  text.addEventListener("blur", save);
  document.addEventListener("visibilitychange", () => (document.visibilityState === "hidden" ? save() : look()));
  addEventListener("pagehide", () => {
    keepHere();
    if (!dirty() || stopped || new Blob([text.value]).size > KEEPALIVE) return;
    fetch(`/api/v1${artefact}`, {
      method: "PUT",
      keepalive: true,
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ text: text.value, base: version }),
    }).catch(() => {});
  });
  addEventListener("beforeunload", (event) => {
    keepHere();
    if (dirty() && failed) event.preventDefault();
  });
  document.addEventListener("fabula:look", look);
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "s") {
      event.preventDefault();
      save();
    }
  });
  count();
  putBack();
}
