// A rater's task by keyboard: goes to questions and answers them, keeps each click, sends when all is answered.

const form = /** @type {HTMLFormElement | null} */ (document.querySelector("#answers"));
const texts = [...document.querySelectorAll(".texts > .text")];
const status = document.querySelector("#status");
const begun = Date.now();
let hiddenSince = document.hidden ? begun : 0;
let hiddenFor = 0;
const shelf = /** @type {HTMLElement | null} */ (document.querySelector(".texts"));
/** How this task was read before it was loaded again, in this tab. @type {{seconds: number, depths: number[]}} */
const earlier = JSON.parse(sessionStorage.getItem(`seen/${shelf?.dataset.key}`) ?? '{"seconds": 0, "depths": []}');
/** The clicks that can be taken back, the last one last. @type {{name: string, value: string}[]} */
const clicks = [];
const depths = texts.map((_, at) => earlier.depths[at] ?? 0);

/** Say something in words, also to those who do not see it. @param {string} words */
function say(words) {
  if (status) status.textContent = words;
}

/** @returns {HTMLFieldSetElement[]} */
function questions() {
  return form ? [...form.querySelectorAll("fieldset")] : [];
}

/** What is chosen in a question. @param {Element} question */
function chosen(question) {
  return /** @type {HTMLInputElement | null} */ (question.querySelector("input:checked"));
}

/** The question that has the focus. */
function present() {
  return questions().find((one) => one.contains(document.activeElement));
}

/** Go to a question. @param {Element | undefined} question */
function goTo(question) {
  if (question) (chosen(question) ?? question.querySelector("input"))?.focus();
}

/** Seconds in which the task was to be seen. */
function seconds() {
  const away = hiddenSince ? Date.now() - hiddenSince : 0;
  return earlier.seconds + (Date.now() - begun - hiddenFor - away) / 1000;
}

/** Note how far each text has been read. */
function look() {
  texts.forEach((text, at) => {
    if (text.clientHeight) depths[at] = Math.max(depths[at], Math.min((text.scrollTop + text.clientHeight) / text.scrollHeight, 1));
  });
}

/** How many questions have no answer yet. */
function unanswered() {
  return questions().filter((one) => !chosen(one)).length;
}

/** Whether all is answered; the button says so. */
function complete() {
  const open = unanswered();
  const button = /** @type {HTMLButtonElement | null} */ (document.querySelector("#send"));
  if (button) button.disabled = open > 0;
  return open === 0;
}

let saving = Promise.resolve();
let typing = 0;
/** Keep what is clicked and written so far; what comes later is sent later. @param {boolean} [last] the page ends */
function save(last = false) {
  if (!form || sent) return;
  clearTimeout(typing);
  typing = 0;
  const body = new URLSearchParams();
  for (const [name, value] of new FormData(form)) body.set(name, String(value));
  const keep = () => fetch(`/task/${form.dataset.key}/draft`, { method: "POST", body, keepalive: last });
  saving = (last ? keep() : saving.then(keep)) // a page that ends waits for nothing
    .then((answer) => say(answer.ok ? `Saved. ${unanswered() || "None"} left to answer.` : "Your answers could not be saved. They stay on this page."))
    .catch(() => say("There is no connection. Your answers stay on this page."));
}

/** What stood in each question before the last change. @type {Map<string, string>} */
const before = new Map(questions().map((one) => [one.querySelector("input").name, chosen(one)?.value ?? ""]));

/** Take a new answer over. @param {HTMLInputElement} input */
function changed(input) {
  clicks.push({ name: input.name, value: before.get(input.name) ?? "" });
  before.set(input.name, input.value);
  complete();
  save();
}

/** Take the last click back. */
function undo() {
  const last = clicks.pop();
  if (!last || !form) return;
  for (const input of form.querySelectorAll(`input[type=radio]`)) {
    const radio = /** @type {HTMLInputElement} */ (input);
    if (radio.name === last.name) radio.checked = radio.value === last.value;
  }
  before.set(last.name, last.value);
  complete();
  save();
  say("The last click was undone.");
}

/** Answer the present question. @param {string} value */
function answer(value) {
  const question = present();
  const input = /** @type {HTMLInputElement | undefined} */ (
    question && [...question.querySelectorAll("input")].find((one) => one.value === value)
  );
  if (!input) return false;
  input.focus();
  if (!input.checked) {
    input.checked = true;
    changed(input);
  }
  return true;
}

/** Answer the present question by the place of the choice. @param {number} place */
function answerAt(place) {
  const inputs = present()?.querySelectorAll("input") ?? [];
  return place < inputs.length && answer(/** @type {HTMLInputElement} */ (inputs[place]).value);
}

/** Where the rater was before the rubric was opened. @type {Element | null} */
let left = null;
/** Open the rubric and go there; close it, and go back. */
function lookUp() {
  const rubric = /** @type {HTMLDetailsElement | null} */ (document.querySelector("#rubric"));
  if (!rubric) return;
  rubric.open = !rubric.open;
  if (rubric.open) {
    left = document.activeElement;
    rubric.querySelector("summary")?.focus();
    rubric.scrollIntoView();
  } else if (left && left !== document.body) /** @type {HTMLElement} */ (left).focus();
}

/** Do what a key stands for. @param {string} key @returns {boolean} whether it stands for anything here */
function press(key) {
  const all = questions();
  const at = all.indexOf(/** @type {HTMLFieldSetElement} */ (present()));
  const sidesOnly = all.every((one) => one.dataset.scale === "sides");
  if (/^[1-9]$/.test(key)) {
    const number = Number(key);
    if (!sidesOnly && at >= 0 && all[at].dataset.scale !== "sides") return answerAt(number - 1);
    if (number > all.length) return false;
    goTo(all[number - 1]);
    return true;
  }
  const value = { a: "A", s: "S", b: "B" }[key];
  if (value) return answer(value);
  if (key === "n" || key === "p") goTo(all[Math.min(Math.max(at + (key === "n" ? 1 : -1), 0), all.length - 1)]);
  else if (key === "u") undo();
  else if (key === "h") lookUp();
  else if (key === "q" || key === "w") show(key === "q" ? 0 : 1);
  else if (key === "Enter" && at >= 0 && complete()) form?.requestSubmit();
  else return false;
  return true;
}

/** Go to a text; where there is room for one only, show it. @param {number} at */
function show(at) {
  const text = /** @type {HTMLElement | undefined} */ (texts[at]);
  if (!text) return;
  const side = text.dataset.side;
  if (side) {
    /** @type {HTMLElement} */ (document.querySelector(".texts")).dataset.show = side;
    for (const tab of document.querySelectorAll(".tabs button")) {
      tab.setAttribute("aria-pressed", String(/** @type {HTMLElement} */ (tab).dataset.show === side));
    }
  }
  text.focus();
  look();
}

const keys = /** @type {HTMLInputElement | null} */ (document.querySelector("#keys"));
if (keys) {
  keys.checked = localStorage.getItem("keys") !== "off";
  keys.addEventListener("change", () => localStorage.setItem("keys", keys.checked ? "on" : "off"));
}

document.addEventListener("keydown", (event) => {
  const target = /** @type {HTMLElement} */ (event.target);
  const writes = target.matches("textarea, input[type=text]");
  if (writes || event.ctrlKey || event.metaKey || event.altKey || (keys && !keys.checked)) return;
  if (event.key === "Enter" && !target.matches("input[type=radio]")) return;
  if (press(event.key)) event.preventDefault();
});
document.addEventListener("visibilitychange", () => {
  if (document.hidden) hiddenSince = Date.now();
  else if (hiddenSince) {
    hiddenFor += Date.now() - hiddenSince;
    hiddenSince = 0;
  }
});
texts.forEach((text) => text.addEventListener("scroll", look, { passive: true }));
for (const tabs of document.querySelectorAll(".tabs")) {
  if (tabs.children.length > 1) tabs.removeAttribute("hidden");
  [...tabs.children].forEach((tab, at) => tab.addEventListener("click", () => show(at)));
}
form?.addEventListener("change", (event) => {
  const input = /** @type {HTMLInputElement} */ (event.target);
  if (input.type === "radio") changed(input);
  else save();
});
form?.addEventListener("input", (event) => {
  if (!(/** @type {HTMLElement} */ (event.target).matches("textarea"))) return;
  clearTimeout(typing);
  typing = setTimeout(() => save(), 800);
});
let sent = false;
form?.addEventListener("submit", (event) => {
  if (sent) {
    event.preventDefault(); // twice sent is once stored, and once is enough
    return;
  }
  sent = true;
  look();
  /** @type {HTMLInputElement} */ (form.elements.namedItem("seconds")).value = seconds().toFixed(1);
  /** @type {HTMLInputElement} */ (form.elements.namedItem("depths")).value = JSON.stringify(depths.map((one) => Number(one.toFixed(3))));
});
for (const talk of document.querySelectorAll("form.say")) {
  talk.addEventListener("submit", (event) => {
    if (sent) event.preventDefault();
    sent = true;
    say("The character is answering.");
  });
  talk.closest(".talk")?.scrollTo(0, 1e9);
}
window.addEventListener("pagehide", () => {
  look();
  if (typing) save(true);
  if (shelf) sessionStorage.setItem(`seen/${shelf.dataset.key}`, JSON.stringify({ seconds: seconds(), depths }));
});
window.addEventListener("pageshow", (event) => {
  if (event.persisted) sent = false;
});
look();
complete();
