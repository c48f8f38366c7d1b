// What every page does: the switch between dark and light, panes as tabs on narrow screens, the line of problems.

const root = document.documentElement;

/** Whether the page is dark now, as chosen or as the system has it. */
export function isDark() {
  return root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

/**
 * Say something in the status line, which screen readers read out when they have time.
 * @param {string} text
 */
export function say(text) {
  sent += 1;
  tellOf(sent, text);
}

/** @param {number} number of what the words are about @param {string} text */
function tellOf(number, text) {
  const line = document.getElementById("status");
  if (line) line.textContent = text;
  said = number;
}

/**
 * Say what an answer says, unless the line is about something newer by now.
 * @param {XMLHttpRequest} xhr
 * @param {string} text
 */
export function sayOf(xhr, text) {
  const number = numbers.get(xhr) ?? sent;
  if (number >= said) tellOf(number, text);
}

/**
 * Show a problem above the page; an empty text takes it away.
 * @param {string} text
 */
export function complain(text) {
  const place = document.getElementById("problem");
  if (!place) return;
  place.replaceChildren();
  if (!text) return;
  const line = document.createElement("p");
  line.className = "problem";
  line.textContent = `${text} `;
  const close = document.createElement("button");
  close.type = "button";
  close.className = "quiet";
  close.dataset.close = "";
  close.textContent = "Close";
  line.append(close);
  place.append(line);
}

/**
 * Ask the API; gives the JSON of the answer. What fails is thrown with the server's own sentence.
 * @param {string} path below /api/v1
 * @param {{method?: string, body?: unknown}} [how]
 */
export async function ask(path, how = {}) {
  const response = await fetch(`/api/v1${path}`, {
    method: how.method ?? (how.body === undefined ? "GET" : "POST"),
    headers: how.body === undefined ? {} : { "content-type": "application/json" },
    body: how.body === undefined ? undefined : JSON.stringify(how.body),
  });
  const text = await response.text();
  const data = text ? JSON.parse(text) : null;
  if (!response.ok) {
    const problem = data?.error ?? { message: `The server answered ${response.status}.` };
    throw Object.assign(new Error(problem.message), { status: response.status, problem, data });
  }
  return data;
}

/**
 * Put the focus on something, also where a keyboard does not come by itself.
 * @param {Element | null | undefined} place
 */
export function goTo(place) {
  if (!(place instanceof HTMLElement)) return;
  if (!place.matches("a[href], button, input, select, textarea, summary, [tabindex]")) place.tabIndex = -1;
  place.focus();
}

/** What an element is known by in a piece of the page that is loaded anew. @param {Element} element */
function likeness(element) {
  const marks = ["name", "value", "href", "aria-label"].map((name) => element.getAttribute(name));
  return [element.tagName, ...marks, element.matches("textarea, select") ? "" : element.textContent?.trim()].join("\n");
}

/**
 * Where a person is in a piece that is about to be loaded anew: the focus, what is open, what is typed.
 * @param {HTMLElement} piece
 * @param {Element | null} [sent] the form that was sent, whose fields are through
 */
function placeIn(piece, sent = null) {
  const at = piece.contains(document.activeElement) ? document.activeElement : null;
  const fields = /** @type {(HTMLInputElement | HTMLTextAreaElement)[]} */ ([...piece.querySelectorAll("input[id]:not([type=file]), textarea[id]")]);
  const typed = fields.filter((field) => field.value !== field.defaultValue && !sent?.contains(field));
  return {
    focus: at && likeness(at),
    id: at?.id,
    open: new Set([...piece.querySelectorAll("details[open] > summary")].map(likeness)),
    typed: typed.map(({ id, value, selectionStart, selectionEnd }) => ({ id, value, from: selectionStart, to: selectionEnd })),
  };
}

/**
 * Bring a person back to where they were, or at least to the piece that has come.
 * @param {HTMLElement} piece
 * @param {ReturnType<typeof placeIn>} place
 */
function goBackTo(piece, place) {
  for (const summary of piece.querySelectorAll("details:not([open]) > summary")) {
    if (!place.open.has(likeness(summary))) continue;
    globalThis.htmx.process(summary.parentElement); // so that it loads what it holds
    summary.parentElement?.setAttribute("open", "");
  }
  const fields = place.typed.map((typed) => ({ ...typed, field: /** @type {HTMLInputElement | null} */ (document.getElementById(typed.id)) }));
  for (const { field, value } of fields) if (field) field.value = value;
  if (place.focus && document.activeElement === document.body) {
    const all = [...piece.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]")];
    const same = place.id ? all.find((one) => one.id === place.id) : undefined;
    goTo(same ?? all.find((one) => likeness(one) === place.focus) ?? piece.querySelector("[data-said], h1, h2, h3, p") ?? piece);
  }
  for (const { field, from, to } of fields) if (field && field === document.activeElement && from !== null) field.setSelectionRange(from, to);
}

/** The fields with words that are not saved, of forms that say so. @param {ParentNode} within */
const unsaved = (within) => /** @type {HTMLTextAreaElement[]} */ ([...within.querySelectorAll("form[data-unsaved] :is(textarea, input:not([type=hidden]))")]).filter(
  (field) => field.value !== field.defaultValue,
);

function nameTheme() {
  const other = isDark() ? "Light" : "Dark";
  for (const button of document.querySelectorAll("[data-switch-theme]")) {
    button.textContent = other;
    button.setAttribute("aria-label", `Switch to the ${other.toLowerCase()} theme`);
  }
}

function switchTheme() {
  root.dataset.theme = isDark() ? "light" : "dark";
  localStorage.setItem("fabula-theme", root.dataset.theme);
  nameTheme();
}

/**
 * On narrow screens the panes of a page (children of `.panes` with `data-tab`, their name) are tabs.
 * @param {HTMLElement} panes
 */
function makeTabs(panes) {
  if (panes.previousElementSibling?.matches(".tabs")) return;
  const all = /** @type {HTMLElement[]} */ ([...panes.children].filter((pane) => pane.hasAttribute("data-tab")));
  if (all.length < 2) return;
  const bar = document.createElement("div");
  bar.className = "tabs";
  bar.setAttribute("role", "group");
  bar.setAttribute("aria-label", "Parts of this page");
  const heading = document.createElement("h1"); // of the page, while the part that has it is not shown
  heading.className = "unseen";
  const own = panes.querySelector("h1");
  heading.textContent = own?.textContent ?? "";
  const buttons = all.map((pane) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = pane.dataset.tab ?? "";
    button.addEventListener("click", () => show(pane));
    return button;
  });
  /** @param {HTMLElement} wanted */
  const show = (wanted) => {
    all.forEach((pane, i) => {
      pane.toggleAttribute("data-current", pane === wanted);
      buttons[i].setAttribute("aria-pressed", String(pane === wanted));
    });
    heading.hidden = !own || wanted.contains(own);
  };
  bar.append(heading, ...buttons);
  panes.before(bar);
  show(all.find((pane) => pane.hasAttribute("data-current")) ?? all.find((pane) => pane.matches(".middle")) ?? all[0]);
}

/**
 * Show the pane of that name where panes are tabs.
 * @param {string} name
 */
export function showTab(name) {
  for (const button of document.querySelectorAll(".tabs > button")) {
    if (button.textContent === name) /** @type {HTMLElement} */ (button).click();
  }
}

document.addEventListener("click", (event) => {
  const target = /** @type {HTMLElement} */ (event.target);
  if (target.closest("[data-switch-theme]")) switchTheme();
  if (target.closest("[data-close]")) {
    target.closest(".problem")?.remove();
    document.getElementById("main")?.focus();
  }
});

/** Requests, and messages that answer none, so far; each has the next number. */
let sent = 0;
let said = 0; // the number of what the status line is about
/** @typedef {{asked: number, done: number}} Known of a place: its last request, and the last change whose answer stands there */
/** @type {Map<string, Known>} */
const byId = new Map();
/** @type {WeakMap<Element, Known>} */
const byElement = new WeakMap();
/** The numbers of requests. @type {WeakMap<XMLHttpRequest, number>} */
const numbers = new WeakMap();

/** What is known of a place of the page: of one with an id also when another element has it by now. @param {HTMLElement} target */
function about(target) {
  const known = (target.id ? byId.get(target.id) : byElement.get(target)) ?? { asked: 0, done: 0 };
  if (target.id) byId.set(target.id, known);
  else byElement.set(target, known);
  return known;
}

/** Does something newer stand there, or come? Answers may overtake each other. @param {any} detail of htmx:beforeSwap */
function isOvertaken({ target, xhr, requestConfig }) {
  const number = numbers.get(xhr) ?? sent;
  const known = about(target);
  if (requestConfig.verb === "get") return known.asked > number;
  if (known.done > number) return true;
  known.done = number;
  return false;
}

/**
 * Make a piece like another one, and touch only what differs: a book has hundreds of lines, and its author is typing.
 * @param {Node} there @param {Node} now
 */
function renew(there, now) {
  if (there.isEqualNode(now)) return;
  const [old, new_] = [[...there.childNodes], [...now.childNodes]];
  if (old.length && old.length === new_.length && there.cloneNode(false).isEqualNode(now.cloneNode(false))) {
    old.forEach((one, at) => renew(one, new_[at]));
    return;
  }
  /** @type {ChildNode} */ (there).replaceWith(now);
  if (now instanceof Element) globalThis.htmx.process(now);
}

/** Where a person was in pieces that are being loaded anew. @type {WeakMap<Element, ReturnType<typeof placeIn>>} */
const left = new WeakMap();

/** @param {HTMLElement} target which is itself, or has been replaced by what has its id now */
function goBack(target) {
  const place = left.get(target);
  const piece = target.isConnected ? target : document.getElementById(target.id);
  if (place && piece) goBackTo(piece, place);
  left.delete(target);
}

addEventListener("beforeunload", (event) => unsaved(document).length && event.preventDefault());
document.addEventListener("htmx:confirm", (event) => {
  const { target, elt } = /** @type {CustomEvent} */ (event).detail;
  const lost = target instanceof Element && target !== elt ? unsaved(target).find((field) => field.form !== elt) : undefined;
  if (!lost) return;
  event.preventDefault();
  say("Save or cancel your changes first.");
  lost.focus();
});
document.addEventListener("htmx:beforeSend", (event) => {
  const { target, xhr } = /** @type {CustomEvent} */ (event).detail;
  sent += 1;
  numbers.set(xhr, sent);
  about(target).asked = sent;
});
document.addEventListener("htmx:beforeSwap", (event) => {
  const { detail } = /** @type {CustomEvent} */ (event);
  if (!detail.shouldSwap) return;
  if (!detail.isError && isOvertaken(detail)) detail.shouldSwap = false;
  else left.set(detail.target, placeIn(detail.target, detail.requestConfig.verb === "get" ? null : detail.requestConfig.elt.closest("form")));
});
document.addEventListener("htmx:afterSwap", (event) => goBack(/** @type {CustomEvent} */ (event).detail.target));
document.addEventListener("htmx:oobBeforeSwap", (event) => {
  const { detail } = /** @type {CustomEvent} */ (event);
  const { target, fragment } = detail;
  left.set(target, placeIn(target));
  const now = fragment.firstElementChild;
  if (!target.id || now?.id !== target.id) return;
  detail.shouldSwap = false;
  renew(target, now);
  target.dispatchEvent(new CustomEvent("htmx:oobAfterSwap", { bubbles: true, detail })); // htmx says so only where it swaps
});
document.addEventListener("htmx:oobAfterSwap", (event) => goBack(/** @type {CustomEvent} */ (event).detail.target));
document.addEventListener("htmx:beforeRequest", (event) => {
  const { triggeringEvent } = /** @type {CustomEvent} */ (event).detail.requestConfig;
  if (triggeringEvent?.isTrusted) complain(""); // a person goes on; what the page asks for by itself leaves what is said
});
document.addEventListener("htmx:sendError", () => complain("The server cannot be reached. It may have been stopped. Your text is still on this page."));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", nameTheme);

const line = document.getElementById("status");
if (line) new ResizeObserver(() => root.style.setProperty("--status", `${line.offsetHeight}px`)).observe(line, { box: "border-box" });
nameTheme();
document.querySelectorAll(".panes").forEach((panes) => makeTabs(/** @type {HTMLElement} */ (panes)));
