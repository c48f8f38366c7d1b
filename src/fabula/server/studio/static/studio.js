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
  const line = document.getElementById("status");
  if (line) line.textContent = text;
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

/** Where a person is in a piece that is about to be loaded anew: the focus, what is open, what is typed. @param {HTMLElement} piece */
function placeIn(piece) {
  const at = piece.contains(document.activeElement) ? document.activeElement : null;
  const fields = /** @type {(HTMLInputElement | HTMLTextAreaElement)[]} */ ([...piece.querySelectorAll("input[id], textarea[id]")]);
  return {
    focus: at && likeness(at),
    open: new Set([...piece.querySelectorAll("details[open] > summary")].map(likeness)),
    typed: fields.filter((field) => field.value !== field.defaultValue).map(({ id, value }) => ({ id, value })),
  };
}

/**
 * Bring a person back to where they were, or at least to the piece that has come.
 * @param {HTMLElement} piece
 * @param {ReturnType<typeof placeIn>} place
 * @param {boolean} typedStays
 */
function goBackTo(piece, place, typedStays) {
  for (const summary of piece.querySelectorAll("details:not([open]) > summary")) {
    if (place.open.has(likeness(summary))) summary.parentElement?.setAttribute("open", "");
  }
  for (const { id, value } of typedStays ? place.typed : []) {
    const field = document.getElementById(id);
    if (field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement) field.value = value;
  }
  if (!place.focus || document.activeElement !== document.body) return;
  const all = [...piece.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]")];
  goTo(all.find((one) => likeness(one) === place.focus) ?? piece.querySelector("[data-said], h1, h2, h3, p") ?? piece);
}

function nameTheme() {
  const other = isDark() ? "Light" : "Dark";
  for (const button of document.querySelectorAll("[data-switch-theme]")) {
    button.textContent = other;
    button.setAttribute("aria-label", `Change to the ${other.toLowerCase()} look`);
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
/** @type {ReturnType<typeof placeIn> | undefined} */
let place;
document.addEventListener("htmx:beforeSwap", (event) => {
  place = placeIn(/** @type {CustomEvent} */ (event).detail.target);
});
document.addEventListener("htmx:afterSwap", (event) => {
  const { target, requestConfig } = /** @type {CustomEvent} */ (event).detail;
  const piece = target.isConnected ? target : document.getElementById(target.id); // itself, or what replaces it
  if (place && piece) goBackTo(piece, place, requestConfig?.verb === "get");
  place = undefined;
});
document.addEventListener("htmx:beforeRequest", () => complain(""));
document.addEventListener("htmx:sendError", () => complain("The server cannot be reached. It may have been ended; what you wrote is still on this page."));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", nameTheme);

nameTheme();
document.querySelectorAll(".panes").forEach((panes) => makeTabs(/** @type {HTMLElement} */ (panes)));
