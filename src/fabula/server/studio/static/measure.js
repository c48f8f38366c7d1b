// The Measure page: fields that belong to what is measured, how a run stands, and its result when it has ended.

import { onEvent } from "./events.js";
import { say } from "./studio.js";

const kind = /** @type {HTMLSelectElement | null} */ (document.getElementById("kind"));
const evaluator = /** @type {HTMLSelectElement | null} */ (document.getElementById("evaluator"));
const project = document.body.dataset.project ?? "";
const learns = document.getElementById("learn") !== null;

let mine = ""; // the run that this page started
let due = 0;
let asking = false;

function showFields() {
  for (const place of document.querySelectorAll("[data-of]")) {
    place.toggleAttribute("hidden", /** @type {HTMLElement} */ (place).dataset.of !== kind?.value);
  }
  for (const about of document.querySelectorAll("[data-evaluator]")) {
    about.toggleAttribute("hidden", /** @type {HTMLElement} */ (about).dataset.evaluator !== evaluator?.value);
  }
}

/** What the fields of a form say. @param {HTMLFormElement} form */
const fields = (form) => new URLSearchParams(/** @type {any} */ (new FormData(form))).toString();

// What was said of the cost is of the fields as they were, whenever the answer comes.
for (const form of /** @type {NodeListOf<HTMLFormElement>} */ (document.querySelectorAll("#measure, #learn"))) {
  let asked = "";
  const forget = () => { if (fields(form) !== asked) document.getElementById("begun")?.replaceChildren(); };
  form.addEventListener("input", () => { showFields(); forget(); });
  form.addEventListener("htmx:beforeRequest", (event) => { if (event.target === form) asked = fields(form); });
  form.addEventListener("htmx:afterSettle", forget);
}
showFields();

/** Have the server say anew how the run stands, once for all that happens within a moment. */
function refresh() {
  if (!document.getElementById("measuring") || due) return;
  due = window.setTimeout(async () => {
    due = 0;
    if (asking) return refresh();
    asking = true;
    try {
      await show();
    } catch {
      // The server is away; the next event, or the next look at the page, tells how the run stands.
    } finally {
      asking = false;
    }
  }, 300);
}

/** What changes while a run is at work is put in by itself: a button that is just pressed stays where it is. */
async function show() {
  const shown = /** @type {HTMLElement} */ (document.getElementById("measuring"));
  const open = ["queued", "running"].includes(shown.dataset.state ?? "");
  const run = mine || (open ? shown.dataset.run : "") || "";
  const address = `/projects/${encodeURIComponent(project)}/measure-run${learns ? "/learning" : ""}?run=${encodeURIComponent(run)}`;
  const answer = await fetch(address);
  if (!answer.ok) return;
  const next = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("measuring");
  const now = document.getElementById("measuring");
  if (!next || !now || now !== shown) return refresh(); // another answer has come meanwhile
  const sums = now.querySelector(".sums");
  const nextSums = next.querySelector(".sums");
  if (sums && nextSums && next.dataset.run === now.dataset.run && next.dataset.state === now.dataset.state) {
    sums.replaceWith(nextSums);
  } else {
    now.replaceWith(next);
    window.htmx.process(next);
  }
  look();
}

/** See whether the run that was begun here has ended, and open what it has found. */
function look() {
  const shown = document.getElementById("measuring");
  if (!shown) return;
  if (shown.dataset.begun !== undefined && shown.dataset.run && mine !== shown.dataset.run) {
    mine = shown.dataset.run;
    delete shown.dataset.begun;
    say("The run has started.");
    refresh(); // it may have ended before this page knew of it
  }
  if (!mine || shown.dataset.run !== mine || ["queued", "running"].includes(shown.dataset.state ?? "")) return;
  mine = "";
  say(shown.querySelector(".note")?.textContent ?? "The run has ended.");
  if (shown.dataset.state === "finished" && shown.dataset.result) location.assign(shown.dataset.result);
}

document.body.addEventListener("htmx:afterSettle", look);

onEvent((event) => {
  if (event.project === project && event.run) refresh();
});
