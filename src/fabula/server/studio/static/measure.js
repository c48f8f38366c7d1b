// The Measure page: fields that belong to what is measured, how a run stands, and its result when it has ended.

import { onEvent } from "./events.js";
import { say } from "./studio.js";

const kind = /** @type {HTMLSelectElement | null} */ (document.getElementById("kind"));
const evaluator = /** @type {HTMLSelectElement | null} */ (document.getElementById("evaluator"));
const project = document.body.dataset.project ?? "";
const learns = document.getElementById("learn") !== null;

let mine = ""; // the run that was begun from this page
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

let changes = 0; // of fields
/** How many there were when something was asked. @type {WeakMap<XMLHttpRequest, number>} */
const asked = new WeakMap();
document.addEventListener("htmx:beforeRequest", (event) => {
  asked.set(/** @type {CustomEvent} */ (event).detail.xhr, changes);
});
document.addEventListener("htmx:beforeSwap", (event) => {
  const { detail } = /** @type {CustomEvent} */ (event);
  if (detail.target.id === "begun" && asked.get(detail.xhr) !== changes) detail.shouldSwap = false;
});

// What was said of the cost is of the fields as they were.
for (const form of document.querySelectorAll("#measure, #learn")) {
  form.addEventListener("input", () => {
    showFields();
    changes += 1;
    document.getElementById("begun")?.replaceChildren();
  });
}
showFields();

/** Have the server say anew how the run stands, once for all that happens within a moment. */
function refresh() {
  if (!document.getElementById("measuring") || due) return;
  due = window.setTimeout(async () => {
    due = 0;
    if (asking) return refresh();
    asking = true;
    const shown = document.getElementById("measuring");
    const run = mine || (shown?.dataset.state === "running" ? shown.dataset.run : "") || "";
    const address = `/projects/${encodeURIComponent(project)}/measure-run${learns ? "/learning" : ""}?run=${encodeURIComponent(run)}`;
    await window.htmx.ajax("GET", address, { target: "#measuring", swap: "outerHTML" }).catch(() => {});
    asking = false;
  }, 300);
}

document.body.addEventListener("htmx:afterSettle", () => {
  const shown = document.getElementById("measuring");
  if (!shown) return;
  if (shown.dataset.begun !== undefined && shown.dataset.run && mine !== shown.dataset.run) {
    mine = shown.dataset.run;
    delete shown.dataset.begun;
    say("It has begun.");
    refresh(); // it may have ended before this page knew of it
  }
  if (!mine || shown.dataset.run !== mine || ["queued", "running"].includes(shown.dataset.state ?? "")) return;
  mine = "";
  say(shown.querySelector(".note")?.textContent ?? "It has ended.");
  if (shown.dataset.state === "finished" && shown.dataset.result) location.assign(shown.dataset.result);
});

onEvent((event) => {
  if (event.project === project && event.run) refresh();
});
