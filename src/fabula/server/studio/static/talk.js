// The Talk page: what is said, the answer as it comes, answers to choose among, and what a conversation needs to be kept.

import { ask, complain, say } from "./studio.js";

const LONGEST = 4000; // characters of a message

const talk = /** @type {HTMLElement | null} */ (document.getElementById("talk"));
if (talk) converse(talk);
else takeCards(/** @type {HTMLFormElement} */ (document.getElementById("drop")));

/** A card that is dropped anywhere on the page is added. @param {HTMLFormElement} form */
function takeCards(form) {
  const input = /** @type {HTMLInputElement} */ (form.elements.namedItem("file"));
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => {
    if (!event.dataTransfer?.files.length) return;
    event.preventDefault();
    input.files = event.dataTransfer.files;
    input.dispatchEvent(new Event("change", { bubbles: true }));
  });
}

/** @param {HTMLElement} talk */
function converse(talk) {
  const project = document.body.dataset.project ?? "";
  const chat = talk.dataset.chat ?? "";
  const player = talk.dataset.player ?? "";
  const home = `/projects/${encodeURIComponent(project)}`;
  const path = `${home}/chats/${encodeURIComponent(chat)}`;
  const form = /** @type {HTMLFormElement} */ (document.getElementById("say"));
  const words = /** @type {HTMLTextAreaElement} */ (document.getElementById("words"));
  const key = `fabula-words:${project}:${chat}`;
  const model = /** @type {HTMLInputElement} */ (document.getElementById("model"));
  const others = new BroadcastChannel("fabula-talk");
  let busy = false;
  let drafted = { version: -1, take: 0, line: "" };
  let missed = false; // something was changed elsewhere while this page was busy
  /** @type {HTMLElement | null} */
  let live = null; // the turn that is being made
  /** What stands here is being fetched, or changed by a form beside it; a move waits for both. @type {Promise<void>} */
  let shown = Promise.resolve();
  /** @type {Promise<void> | null} */
  let nextShown = null;
  /** @type {Promise<void>} */
  let set = Promise.resolve();

  const state = () => /** @type {DOMStringMap} */ (document.getElementById("state")?.dataset ?? {});
  const version = () => Number(state().version);

  /** @param {boolean} now */
  function setBusy(now) {
    busy = now;
    talk.setAttribute("aria-busy", String(now));
    for (const button of document.querySelectorAll("#talk button, #say button")) {
      if (now) button.setAttribute("aria-disabled", "true");
      else button.removeAttribute("aria-disabled");
    }
    if (!now && missed) look();
  }

  /** Show the conversation as the server has it now; one after another, so that an older answer never comes last. */
  function refresh() {
    nextShown ??= shown.then(() => {
      nextShown = null;
      return globalThis.htmx.ajax("GET", talk.dataset.part, { source: talk, target: talk, swap: "innerHTML" }).catch(() => {});
    });
    shown = nextShown;
    return shown;
  }

  /** Begin something for which nothing else may be under way: what comes in its midst would take its turn off the page. */
  async function begin() {
    setBusy(true);
    complain("");
    await Promise.all([shown, set]);
    setBusy(true); // the buttons that have come, too
  }

  /** See what was changed elsewhere, as soon as nothing is under way here. */
  async function look() {
    missed = busy || Boolean(open());
    if (missed) return;
    await refresh();
    attend();
  }

  function toEnd() {
    const last = document.getElementById("log")?.lastElementChild;
    last?.scrollIntoView({ block: "end" });
  }

  /** What a template of the page holds, for once. @param {string} which */
  function made(which) {
    const template = /** @type {HTMLTemplateElement} */ (talk.querySelector(`template${which}`) ?? talk.querySelector("template"));
    return /** @type {HTMLElement} */ (template.content.firstElementChild?.cloneNode(true));
  }

  /**
   * A line of the conversation.
   * @param {string} name
   * @param {string} text
   */
  function line(name, text) {
    const message = made(`[data-who="${CSS.escape(name)}"]`);
    message.querySelector(".words")?.append(text);
    return message;
  }

  /**
   * A turn that is being made: what is said, and the answer as its pieces come, as text and never as HTML.
   * @param {string} said
   * @param {boolean} again
   */
  function liveTurn(said, again) {
    document.getElementById("nothing")?.remove();
    document.querySelector("#log .broken")?.remove();
    const log = /** @type {HTMLElement} */ (document.getElementById("log"));
    const turn = document.createElement("article");
    turn.className = "turn live";
    if (again) log.querySelector(".turn:last-of-type .line:not(.own)")?.classList.add("faint");
    if (said) turn.append(line(player, said));
    log.append(turn);
    live = turn;
    /** @type {HTMLElement | null} */
    let answer = null;
    let waiting = "";
    let drawn = false;
    const draw = () => {
      drawn = false;
      answer?.querySelector(".words")?.append(waiting);
      waiting = "";
      toEnd();
    };
    const preparing = document.createElement("p");
    preparing.className = "faint";
    preparing.textContent = "Thinking …";
    const end = document.createElement("button");
    end.type = "button";
    end.className = "quiet";
    end.dataset.stop = "";
    end.textContent = "Stop";
    turn.append(preparing, end);
    toEnd();
    return {
      /** @param {{who: string, text: string}} piece */
      piece(piece) {
        if (!answer) {
          preparing.remove();
          answer = line(piece.who, "");
          end.before(answer);
        }
        waiting += piece.text;
        if (!drawn) {
          drawn = true;
          requestAnimationFrame(draw);
        }
      },
      /**
       * What came stays; nothing of it counts.
       * @param {string} problem
       */
      breakOff(problem) {
        live = null;
        preparing.remove();
        end.remove();
        draw();
        turn.className = "turn broken";
        const sentence = document.createElement("p");
        sentence.className = "problem";
        sentence.textContent = problem;
        turn.append(sentence);
      },
    };
  }

  /**
   * Make a move, or follow the one that is being made.
   * @param {string} kind
   * @param {string} [said]
   * @param {boolean} [follow]
   */
  async function move(kind, said = "", follow = false) {
    if (busy || (!follow && waits())) return false;
    await begin();
    const what = { move: kind, line: kind === "say" ? said : null };
    /** @type {Response} */
    let response;
    try {
      response = await fetch(`/api/v1${follow ? `${path}/turns/live` : `${home}/turns`}`, {
        method: follow ? "GET" : "POST",
        headers: follow ? {} : { "content-type": "application/json" },
        body: follow ? undefined : JSON.stringify({ ...what, conversation: chat, version: version(), model: model.value.trim() }),
      });
      if (!response.ok) throw await problemOf(response);
    } catch (problem) {
      await refused(/** @type {Error & {code?: string}} */ (problem));
      return false;
    }
    if (!follow) others.postMessage({ project, chat });
    const body = /** @type {ReadableStream<Uint8Array>} */ (response.body);
    if (kind === "say" && !follow) takeOut(said);
    const turn = liveTurn(said, kind === "another");
    let ended = false;
    let spoken = "";
    try {
      for await (const { name, data } of eventsOf(body)) {
        if (name === "piece") turn.piece(data);
        else ended = true;
        if (name === "done") spoken = data.turn.who ? `${data.turn.who}: ${data.turn.answer}` : "The part ends.";
        if (name === "failed") spoken = `${data.error.message} The conversation is unchanged.`;
        if (name === "failed" && data.error.code === "model_unavailable") {
          complain("No model answers for this character. Name a model under “Who plays them”, and try again.");
          model.closest("details")?.setAttribute("open", "");
        }
      }
    } catch {
      // the connection was cut; what follows asks the server how it stands
    }
    if (!ended && !(await alive())) {
      turn.breakOff("The server cannot be reached. The part of the answer that arrived stays on this page; reload it when the server is back.");
      if (said) keep(words.value || said);
      say("The server cannot be reached.");
      setBusy(false);
      return true;
    }
    live = null;
    await refresh();
    if (!follow) others.postMessage({ project, chat });
    toEnd();
    if (ended) say(spoken);
    setBusy(false);
    if (!ended) attend();
    return true;
  }

  async function alive() {
    try {
      await ask(path);
      return true;
    } catch (problem) {
      return Boolean(/** @type {{status?: number}} */ (problem).status);
    }
  }

  /** @param {Error & {code?: string}} problem */
  async function refused(problem) {
    const behind = problem.code === "stale" || problem.code === "busy";
    if (behind) await refresh();
    setBusy(false);
    if (behind) attend();
    complain(problem.code ? problem.message : "The server cannot be reached. Your text stays on this page.");
  }

  /**
   * Choose the answer before or behind the one that stands; behind the last one another is drawn.
   * @param {number} by
   */
  async function swipe(by) {
    const { chosen, drawn } = state();
    const wanted = Number(chosen) + by;
    if (busy || !Number(drawn) || wanted < 1 || waits()) return;
    const pressed = document.activeElement?.hasAttribute("data-swipe");
    if (wanted > Number(drawn)) {
      await move("another");
    } else {
      await change("/choose", { number: wanted });
      say(`Answer ${wanted} of ${drawn}. ${document.querySelector("#log .turn:last-of-type .line:not(.own)")?.textContent ?? ""}`);
    }
    if (pressed) /** @type {HTMLElement | null} */ (document.querySelector(`[data-swipe="${by}"]:not(:disabled)`) ?? words).focus();
  }

  /**
   * @param {string} what
   * @param {object} body
   * @param {string} [method]
   */
  async function change(what, body, method) {
    if (busy) return false;
    await begin();
    try {
      await ask(`${path}${what}`, { method, body: { ...body, version: version() } });
      others.postMessage({ project, chat });
    } catch (problem) {
      const { message, problem: said } = /** @type {Error & {problem?: {code: string}}} */ (problem);
      await refused(Object.assign(new Error(message), { code: said?.code }));
      return false;
    }
    await refresh();
    setBusy(false);
    return true;
  }

  /** Have a model write what could be said next; it stays in the field until it is sent. */
  async function draft() {
    await begin();
    say("Thinking …");
    drafted = { version: version(), take: drafted.version === version() ? drafted.take + 1 : 0, line: drafted.line };
    try {
      const { line } = await ask(`${path}/draft`, { body: { take: drafted.take } });
      keep(words.value && words.value !== drafted.line ? `${words.value.trimEnd()} ${line}` : line);
      drafted.line = line;
      say(line);
    } catch (problem) {
      say("");
      complain(/** @type {Error} */ (problem).message);
    }
    setBusy(false);
    words.focus();
  }

  const open = () => /** @type {HTMLElement | null} */ (talk.querySelector("form.editing textarea"));

  /** Whether words that are being changed would be lost. */
  function waits() {
    if (!open()) return false;
    say("Save or cancel your edit first.");
    open()?.focus();
    return true;
  }

  /** Change the words of a message where it stands. @param {HTMLElement} pen */
  function edit(pen) {
    const { edit: part = "said", turn } = pen.dataset;
    const message = /** @type {HTMLElement} */ (pen.parentElement);
    const shown = /** @type {HTMLElement} */ (message.querySelector(".line"));
    const form = /** @type {HTMLFormElement} */ (made(".editing"));
    const field = /** @type {HTMLTextAreaElement} */ (form.elements[0]);
    field.defaultValue = shown.querySelector(".words")?.textContent ?? "";
    field.setAttribute("aria-label", pen.getAttribute("aria-label") ?? "");
    const close = () => {
      form.replaceWith(shown);
      pen.hidden = false;
      pen.focus();
      if (missed) look();
    };
    form.elements[2].addEventListener("click", close);
    form.addEventListener("keydown", (event) => {
      if (event.key === "Escape") close();
      else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
      else return;
      event.preventDefault();
    });
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (busy) return say("An answer is being written. Save when it is complete.");
      const saved = await change(`/turns/${turn}`, { [part]: field.value }, "PUT");
      const now = /** @type {HTMLElement | null} */ (talk.querySelector(`[data-edit=${part}][data-turn="${turn}"]`));
      if (saved) {
        say("Saved.");
        now?.focus();
      } else if (now && !form.isConnected) edit(now).value = field.value; // what was typed stays
    });
    shown.replaceWith(form);
    pen.hidden = true;
    field.style.height = `${Math.min(field.scrollHeight + 4, innerHeight / 2)}px`;
    field.focus();
    return field;
  }

  /** Follow what another window has begun. */
  function attend() {
    if (state().live === "true" && !busy) move(state().kind ?? "say", state().said ?? "", true);
  }

  /** @param {string} text */
  function keep(text) {
    words.value = text;
    if (text) localStorage.setItem(key, text);
    else localStorage.removeItem(key);
    measure();
  }

  /** Take what was said out of the field; what was typed since stays. @param {string} said */
  function takeOut(said) {
    keep(words.value.startsWith(said) ? words.value.slice(said.length).trimStart() : words.value);
  }

  function measure() {
    const length = /** @type {HTMLElement} */ (document.getElementById("length"));
    const left = LONGEST - words.value.length;
    length.textContent = left < 500 ? (left < 0 ? `${-left} characters too many.` : `${left} characters left.`) : "";
  }

  /** Say something, after the greeting that stands on the page. @param {string} text */
  async function speak(text) {
    if (document.querySelector("#nothing .message") && !((await move("begin")) && state().turns !== "0")) return;
    await move("say", text);
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const text = words.value;
    if (text.trim() && busy) say("An answer is being written. Your words stay here. Send them when the answer is complete.");
    else if (text.trim()) speak(text);
  });
  words.addEventListener("keydown", (event) => {
    const pens = document.querySelectorAll("[data-edit=said]:not([hidden])");
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      form.requestSubmit();
    } else if (event.key === "ArrowUp" && !words.value && !busy && pens.length) {
      event.preventDefault();
      edit(/** @type {HTMLElement} */ (pens[pens.length - 1]));
    }
  });
  words.addEventListener("input", () => keep(words.value));
  document.addEventListener("click", (event) => {
    const target = /** @type {HTMLElement} */ (event.target);
    if (target.closest("[data-stop]")) ask(`${path}/stop`, { method: "POST" }).catch((problem) => complain(problem.message));
    const button = /** @type {HTMLElement | null} */ (target.closest("[data-swipe], [data-undo], [data-retry], [data-move], [data-edit], [data-restore], [data-draft]"));
    if (!button || busy || (!button.dataset.edit && waits())) return;
    if (button.dataset.swipe) swipe(Number(button.dataset.swipe));
    else if (button.dataset.move) move(button.dataset.move);
    else if (button.dataset.edit) edit(button);
    else if (button.hasAttribute("data-draft")) draft();
    else if (button.dataset.restore) change(`/turns/${button.dataset.restore}`, {}, "PUT");
    else if (button.hasAttribute("data-undo")) change("/undo", {});
    else {
      const broken = /** @type {HTMLElement} */ (button.closest(".broken"));
      move(broken.dataset.kind ?? "say", broken.dataset.said ?? "");
    }
  });
  document.addEventListener("keydown", (event) => {
    const by = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
    const at = /** @type {HTMLElement} */ (event.target);
    const writes = at.matches("input, select, textarea") && !(at === words && !words.value);
    if (!by || writes || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    swipe(by);
  });
  others.addEventListener("message", ({ data }) => {
    if (data.project === project && data.chat === chat) look();
  });
  document.addEventListener("visibilitychange", async () => {
    if (document.visibilityState !== "visible" || busy) return;
    const there = await ask(path).catch(() => null); // what is wrong is said with the next move
    if (there && there.version !== version()) look();
  });
  // Who is there is set beside the turns; the answer shows all of them.
  document.addEventListener("htmx:beforeRequest", (event) => {
    const { target, requestConfig, xhr } = /** @type {CustomEvent} */ (event).detail;
    if (target === talk && requestConfig.verb === "post") set = new Promise((done) => xhr.addEventListener("loadend", () => done()));
  });
  document.addEventListener("htmx:afterSwap", () => {
    if (live && !live.isConnected) document.getElementById("log")?.append(live);
  });

  model.value = localStorage.getItem(`fabula-model:${project}`) ?? "";
  model.addEventListener("change", () => localStorage.setItem(`fabula-model:${project}`, model.value.trim()));
  keep(localStorage.getItem(key) ?? "");
  toEnd();
  attend();
  if (location.hash === "#begin") {
    history.replaceState(null, "", location.pathname);
    if (state().turns === "0") move("begin");
  }
}

/**
 * The server's own sentence.
 * @param {Response} response
 */
async function problemOf(response) {
  try {
    const { error } = await response.json();
    return Object.assign(new Error(error.message), { code: error.code });
  } catch {
    return Object.assign(new Error(`The server answered ${response.status}.`), { code: "refused" });
  }
}

/**
 * Server-sent events of a body, as they come.
 * @param {ReadableStream<Uint8Array>} body
 */
async function* eventsOf(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += value;
    let end = text.indexOf("\n\n");
    for (; end >= 0; end = text.indexOf("\n\n")) {
      const block = text.slice(0, end);
      text = text.slice(end + 2);
      const name = /^event: (.*)$/m.exec(block)?.[1];
      const data = /^data: (.*)$/m.exec(block)?.[1];
      if (name && data) yield { name, data: JSON.parse(data) };
    }
  }
}
