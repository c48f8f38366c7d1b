// The Plan page: cards are moved by dragging and by keyboard. Nothing is saved here: each move shows what would change.
import { showReadings } from "./reading.js";
import { complain, goTo, say } from "./studio.js";

/** @type {HTMLElement | null} */
let dragged = null;
let before = "";
/** @type {Element | null} */
let found = document.querySelector(location.hash.startsWith("#scene-") ? `#${CSS.escape(location.hash.slice(1))}` : "#none");

const list = () => /** @type {HTMLElement | null} */ (document.querySelector("[data-cards]"));
const cards = () => /** @type {HTMLElement[]} */ ([...(list()?.querySelectorAll(":scope > [data-number]") ?? [])]);
const order = () => cards().map((card) => card.dataset.number).join(",");

/** Show each card's place, and say what a person has done. @param {HTMLElement} card */
function placed(card) {
  cards().forEach((one, place) => {
    const shown = one.querySelector("[data-place]");
    if (shown) shown.textContent = String(place + 1);
  });
  const place = cards().indexOf(card) + 1;
  card.dataset.moved = "";
  say(`${card.dataset.title} is now scene ${place} of ${cards().length}. It is not saved yet. What would change is shown below the cards.`);
  show();
}

let waiting = 0;

/** Ask what the new order would change, once the moving has paused and all cards are there. */
function show() {
  clearTimeout(waiting);
  const whole = !list()?.querySelector(":scope > [hx-get]");
  waiting = window.setTimeout(() => (whole ? ask({ do: "order", order: order() }) : show()), 300);
}

/** @param {Record<string, string>} fields */
function ask(fields) {
  const cardList = list();
  if (!cardList) return;
  complain("");
  clearTimeout(waiting);
  wanted = question(new Map(Object.entries(fields)));
  const values = { base: cardList.dataset.base ?? "", ...fields };
  window.htmx.ajax("POST", `${cardList.dataset.at}/preview`, { target: "#plan-change", swap: "innerHTML", values });
}

let wanted = ""; // what was asked last: no other answer is shown

/** What a preview asks about. @param {{get: (name: string) => any}} fields */
const question = (fields) => ["do", "order", "number"].map((name) => fields.get(name) ?? "").join(" ");

document.addEventListener("htmx:beforeRequest", (event) => {
  const { elt, target, requestConfig } = /** @type {CustomEvent} */ (event).detail;
  if (!elt.matches("form") || !["plan", "plan-change"].includes(target.id)) return;
  clearTimeout(waiting); // a move that was to be asked about in a moment
  wanted = question(requestConfig.formData);
});
document.addEventListener("htmx:beforeSwap", (event) => {
  const { detail } = /** @type {CustomEvent} */ (event);
  if (detail.target.id === "plan-change" && question(detail.requestConfig.formData) !== wanted) detail.shouldSwap = false;
});

// A scene that was added is no more to be added.
document.addEventListener("htmx:beforeOnLoad", (event) => {
  const { target, requestConfig, xhr } = /** @type {CustomEvent} */ (event).detail;
  if (target.id !== "plan" || xhr.status !== 200 || requestConfig.formData.get("do") !== "add") return;
  /** @type {HTMLInputElement | null} */ (document.getElementById("new-title"))?.form?.reset();
});

/** Move a card by so many places, or to an end. @param {HTMLElement} card @param {number} by */
function move(card, by) {
  const all = cards();
  const from = all.indexOf(card);
  const to = Math.max(0, Math.min(all.length - 1, from + by));
  if (to === from) {
    say(`${card.dataset.title} is already at the ${from === 0 ? "beginning" : "end"}.`);
    return;
  }
  const focused = /** @type {HTMLElement | null} */ (document.activeElement);
  if (to > from) all[to].after(card);
  else all[to].before(card);
  focused?.focus();
  placed(card);
}

// A link of another page leads to a card that comes after the page.
document.addEventListener("htmx:afterSettle", () => {
  const wanted = location.hash.startsWith("#scene-") && document.getElementById(location.hash.slice(1));
  if (!wanted || wanted === found) return;
  found = wanted;
  wanted.scrollIntoView({ block: "center" });
});

const STEPS = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1, Home: -Infinity, End: Infinity };

document.addEventListener("keydown", (event) => {
  const button = /** @type {HTMLElement} */ (event.target).closest("[data-move]");
  const by = STEPS[/** @type {keyof STEPS} */ (event.key)];
  const card = button?.closest("[data-number]");
  if (!card || by === undefined) return;
  event.preventDefault();
  move(/** @type {HTMLElement} */ (card), by);
});

document.addEventListener("click", (event) => {
  const target = /** @type {HTMLElement} */ (event.target);
  const card = /** @type {HTMLElement | null} */ (target.closest("[data-number]"));
  const step = target.closest("[data-move]");
  if (step && card) move(card, Number(/** @type {HTMLElement} */ (step).dataset.move));
  else if (target.closest("[data-remove]") && card) {
    ask({ do: "remove", number: card.dataset.number ?? "" });
    say(`What would change without ${card.dataset.title} is shown below the cards.`);
  } else if (target.closest("[data-shut]")) {
    target.closest("form")?.remove();
    goTo(card?.querySelector("[hx-get]"));
  } else if (target.closest("[data-leave]")) leave();
});

/** Put the cards back as the plan has them. */
function leave() {
  clearTimeout(waiting);
  wanted = "";
  document.getElementById("plan-change")?.replaceChildren();
  cards()
    .sort((a, b) => Number(a.dataset.number) - Number(b.dataset.number))
    .forEach((card, place) => {
      delete card.dataset.moved;
      list()?.append(card);
      const shown = card.querySelector("[data-place]");
      if (shown) shown.textContent = String(place + 1);
    });
  say("The plan is unchanged.");
  goTo(document.getElementById("scenes-head"));
}

document.addEventListener("dragstart", (event) => {
  const target = /** @type {HTMLElement} */ (event.target);
  const card = target instanceof HTMLElement ? /** @type {HTMLElement | null} */ (target.closest("[data-cards] > [data-number]")) : null;
  if (!card || target.closest("form, input, textarea")) return;
  dragged = card;
  before = order();
  card.classList.add("dragged");
  if (event.dataTransfer) {
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", card.dataset.title ?? "");
  }
});

document.addEventListener("dragover", (event) => {
  if (!dragged) return;
  const over = /** @type {HTMLElement | null} */ (/** @type {HTMLElement} */ (event.target).closest("[data-cards] > [data-number]"));
  if (!over && !(/** @type {HTMLElement} */ (event.target).closest("[data-cards]"))) return;
  event.preventDefault();
  if (!over || over === dragged) return;
  const all = cards();
  if (all.indexOf(over) > all.indexOf(dragged)) over.after(dragged);
  else over.before(dragged);
});

document.addEventListener("drop", (event) => {
  if (dragged) event.preventDefault();
});

document.addEventListener("dragend", () => {
  if (!dragged) return;
  const card = dragged;
  dragged = null;
  card.classList.remove("dragged");
  if (order() !== before) placed(card);
});

let looked = 0;

/** Say of each part of the story which is stale and the like: what a run would ask is looked at for that, so it comes later. */
async function showStates() {
  const at = /** @type {HTMLElement | null} */ (document.querySelector(".plan-cards"))?.dataset.at;
  const look = (looked += 1);
  const response = at ? await fetch(`${at}/states`).catch(() => null) : null;
  const states = response?.ok && (await response.json());
  if (!states || look !== looked) return;
  for (const card of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".plan-cards > [data-name]"))) {
    const place = card.querySelector("[data-states]");
    const found = /** @type {string[]} */ (states[card.dataset.name ?? ""] ?? []);
    place?.replaceChildren(...found.flatMap((state) => {
      const chip = document.createElement("span");
      chip.className = `chip ${state.split(" ")[0]}`;
      chip.textContent = state;
      return [chip, " "];
    }));
  }
}

document.addEventListener("htmx:afterSwap", (event) => {
  const said = document.querySelector("#plan [data-said]");
  const target = /** @type {HTMLElement | undefined} */ (/** @type {CustomEvent} */ (event).detail?.target);
  if (target?.id === "plan") {
    say(said?.textContent?.trim() ?? "");
    document.getElementById("main")?.focus();
    showStates();
  } else if (target?.matches("li.card")) { // the other cards have come, or one that was decided about
    say(document.getElementById(target.id)?.querySelector("[data-said]")?.textContent ?? "");
    showStates();
  }
  else if (target?.id === "plan-change" && !document.activeElement?.matches("[data-move], body")) {
    goTo(target.querySelector("h3")); // but who moves a card by keyboard goes on with that
  } else if (target?.id.startsWith("form-")) target.querySelector("input:not([type=hidden]), textarea")?.focus();
});

// A card that was accepted is in the plan: what is done next is done to the new plan.
document.body.addEventListener("fabula:planned", (event) => {
  const { base } = /** @type {CustomEvent} */ (event).detail;
  list()?.setAttribute("data-base", base);
  for (const field of /** @type {NodeListOf<HTMLInputElement>} */ (document.querySelectorAll("#plan [name=base]"))) field.value = base;
});

showStates();
showReadings("#plan");
