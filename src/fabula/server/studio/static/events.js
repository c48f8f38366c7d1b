// What happens in all projects, as it happens: `onEvent(listener)`. One connection serves all tabs of the browser.
//
// Each event has a number, one more than the event before it. One tab, the leader, holds the connection (a Web Lock says
// which: when it is closed, the next one takes over) and passes what it hears on through a BroadcastChannel. Every tab
// knows the number of the last event that it has heard; where the next one is missing, it fetches what lies between.
// So nothing is lost when a tab is opened late, is closed, or sleeps, nor when the server is killed and started again.

/** @typedef {{n: number, type: string, project: string, run: string, at?: number, [field: string]: any}} Happening */

const LOCK = "fabula-events";
const MOST_AT_ONCE = 250; // events that are given out before the page has its turn
const LONGEST_WAIT = 15_000; // milliseconds between two tries to reach the server
const PAUSE = 16; // milliseconds between two times at which the leader gives out what it has gathered

/** @type {Set<(event: Happening) => void>} */
const listeners = new Set();
/** @type {Set<(connected: boolean, signedOut: boolean) => void>} */
const watchers = new Set();
/** @type {string[]} events as they came; they are parsed as they are given out */
const waiting = [];
const channel = "BroadcastChannel" in globalThis ? new BroadcastChannel(LOCK) : null;
const turn = new MessageChannel();

let last = Number(document.body.dataset.after ?? -1); // the last event that this tab has heard; -1: none yet
let giving = false;
let leads = false;
/** @type {string[]} */
const gathered = [];
let flushing = false;
let flushed = 0; // when that was done last
let tries = 0;
/** Whether this tab's own connection stands, and what was heard last of the one that serves all; nothing at first. */
let open = false;
/** @type {{connected?: boolean, signedOut?: boolean}} */
let known = {};
/** How each run that this tab has heard of has ended. @type {Map<string, Happening>} */
const ends = new Map();
/** @type {Map<string, (event: Happening) => void>} */
const awaited = new Map();

/**
 * Hear every event from now on: since the page was made.
 * @param {(event: Happening) => void} listener
 * @returns {() => void} ends that
 */
export function onEvent(listener) {
  listeners.add(listener);
  begin();
  return () => listeners.delete(listener);
}

/**
 * Hear whether the server is reached: what is known now (a refusal may come before the page's own script has), and each
 * change of it; and whether it knows this browser still.
 * @param {(connected: boolean, signedOut: boolean) => void} watcher
 */
export function onConnection(watcher) {
  watchers.add(watcher);
  if (known.connected !== undefined) watcher(known.connected, known.signedOut ?? false);
}

/**
 * Hear of the end of a run, also where that comes before the answer to who began it.
 * @param {string} run
 * @param {(event: Happening) => void} then
 */
export function whenEnded(run, then) {
  const end = ends.get(run);
  if (end) then(end);
  else awaited.set(run, then);
  begin();
}

let begun = false;

function begin() {
  if (begun) return;
  begun = true;
  if (channel) channel.onmessage = (message) => hearOthers(message.data);
  if (!navigator.locks) {
    connect(); // not on this machine and without TLS: each tab by itself
    return;
  }
  navigator.locks.request(LOCK, () => {
    leads = true;
    connect();
    return new Promise(() => {}); // until the tab is closed
  });
  channel?.postMessage({ hello: true });
}

/** @param {any} said by another tab */
function hearOthers(said) {
  if (said.events) take(said.events);
  if (said.connected !== undefined) tell(said.connected, said.signedOut);
  if (said.hello && leads) channel?.postMessage({ at: last, ...known });
  if (said.at > last) take([JSON.stringify({ n: said.at, type: "" })]); // what lies before it is fetched
}

function connect() {
  const source = new EventSource(`/api/v1/events${last >= 0 ? `?after=${last}` : ""}`);
  source.onopen = () => {
    tries = 0;
    open = true;
    connected(true);
  };
  source.onmessage = (message) => gather(message.data);
  source.onerror = () => {
    open = false;
    connected(false);
    if (source.readyState !== EventSource.CLOSED) return; // the browser tries again by itself
    source.close();
    tries += 1;
    setTimeout(connect, Math.min(500 * 2 ** tries, LONGEST_WAIT));
    fetch(`/api/v1/events?follow=false&after=${Math.max(last, 0)}`).then(
      (response) => open || connected(false, response.status === 401), // it may be reached again by now
      () => {},
    );
  };
}

/**
 * @param {string} data
 * @returns {Happening}
 */
function read(data) {
  try {
    return JSON.parse(data);
  } catch {
    return { n: last + 1, type: "unreadable", project: "", run: "" };
  }
}

/**
 * @param {boolean} is
 * @param {boolean} [signedOut]
 */
function connected(is, signedOut = false) {
  tell(is, signedOut);
  channel?.postMessage(known);
}

/**
 * @param {boolean} is
 * @param {boolean} signedOut
 */
function tell(is, signedOut) {
  known = { connected: is, signedOut };
  for (const watcher of watchers) watcher(is, signedOut);
}

/**
 * Keep an event for the next turn: a browser hands over thousands in one go, so that there is no time for more.
 * @param {string} data
 */
function gather(data) {
  gathered.push(data);
  if (flushing) return;
  flushing = true;
  const wait = PAUSE - (performance.now() - flushed);
  if (wait <= 0 || document.hidden) turn.port2.postMessage("flush"); // a hidden tab's clock is slow
  else setTimeout(flush, wait);
}

function flush() {
  const events = gathered.splice(0, MOST_AT_ONCE);
  flushed = performance.now();
  flushing = gathered.length > 0;
  if (flushing) turn.port2.postMessage("flush");
  if (!events.length) return;
  channel?.postMessage({ events });
  take(events);
}

/** @param {string[]} events */
function take(events) {
  for (const event of events) waiting.push(event);
  if (!giving) {
    giving = true;
    give();
  }
}

turn.port1.onmessage = (message) => (message.data === "flush" ? flush() : give());

/** Give out what waits, in order, some at a time. */
function give() {
  const end = Math.min(waiting.length, MOST_AT_ONCE);
  for (let i = 0; i < end; i += 1) {
    const event = read(waiting[i]);
    if (last >= 0 && event.n > last + 1 && event.type !== "events_gone") {
      waiting.splice(0, i);
      fetchGap(event.n);
      return;
    }
    if (event.n <= last && event.type !== "numbers_anew") continue;
    last = event.n;
    if (event.type === "run_ended") noteEnd(event);
    if (event.type) for (const listener of listeners) tellOne(listener, event);
  }
  waiting.splice(0, end);
  giving = waiting.length > 0;
  if (giving) turn.port2.postMessage("give");
}

/** @param {Happening} event */
function noteEnd(event) {
  ends.set(event.run, event);
  const then = awaited.get(event.run);
  awaited.delete(event.run);
  if (then) tellOne(then, event);
}

/**
 * What one listener makes of an event keeps no other event from anybody.
 * @param {(event: Happening) => void} listener
 * @param {Happening} event
 */
function tellOne(listener, event) {
  try {
    listener(event);
  } catch (error) {
    console.error(error);
  }
}

/**
 * Put what lies between the last event and another one before all that waits.
 * @param {number} until
 */
async function fetchGap(until) {
  try {
    const response = await fetch(`/api/v1/events?follow=false&after=${last}`);
    if (!response.ok) throw new Error(String(response.status));
    const found = [];
    for (const part of (await response.text()).split("\n\n")) {
      const at = part.indexOf("data: ");
      if (at >= 0) found.push(part.slice(at + 6));
    }
    if (found.length) waiting.unshift(...found); // the server gives so many at a time; the rest is the next gap
    else last = until - 1; // there is nothing that could be had
    giving = true;
    give();
  } catch {
    setTimeout(() => fetchGap(until), 1000);
  }
}
