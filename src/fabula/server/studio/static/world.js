// The World page: the graph, drawn by cytoscape, beside the table that holds all of it; and the findings.
import { showReadings } from "./reading.js";
import { complain, goTo, say } from "./studio.js";

const place = document.getElementById("graph");
/** @type {any} */
let drawn = null;
let asked = "";

const READABLE = 0.9; // at this size and larger ones labels are read with ease
const STEP = 1.3;
const MOVE = 80;

const colour = (/** @type {string} */ name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** How nodes and edges look, in the colours of the page as it is now. */
function look() {
  const ink = colour("--ink");
  return [
    { selector: "node", style: { label: "data(label)", color: ink, "font-size": 14, "min-zoomed-font-size": 7, "text-wrap": "wrap", "text-max-width": 130, "text-valign": "bottom", "text-margin-y": 3, "text-background-color": colour("--surface"), "text-background-opacity": 0.8, width: 18, height: 18, "background-color": colour("--c8") } },
    { selector: 'node[kind = "character"]', style: { "background-color": colour("--c1"), width: 28, height: 28, "font-size": 15, "font-weight": "bold" } },
    { selector: 'node[kind = "location"], node[kind = "place"]', style: { "background-color": colour("--c2"), shape: "round-rectangle" } },
    { selector: 'node[kind = "value"]', style: { "background-color": colour("--sunken"), "border-color": colour("--muted"), "border-width": 1, width: 12, height: 12, color: colour("--muted") } },
    { selector: "edge", style: { label: "data(label)", color: colour("--muted"), "font-size": 13, "min-zoomed-font-size": 9, "text-wrap": "ellipsis", "text-max-width": 110, "text-rotation": "autorotate", "text-background-color": colour("--surface"), "text-background-opacity": 0.85, "text-background-padding": 2, width: 1.4, "line-color": colour("--line"), "target-arrow-color": colour("--muted"), "target-arrow-shape": "triangle", "arrow-scale": 0.7, "curve-style": "bezier" } },
    { selector: "edge[?said], edge[?outdated]", style: { "line-style": "dashed" } },
    { selector: ".chosen", style: { "line-color": colour("--accent"), "background-color": colour("--accent"), "target-arrow-color": colour("--accent"), color: colour("--accent"), width: 3, "z-index": 9 } },
    { selector: "node.chosen", style: { width: 24, height: 24 } },
  ];
}

/** Draw the facts that the table is of. */
async function draw() {
  const from = /** @type {HTMLElement | null} */ (document.querySelector("[data-graph]"))?.dataset.graph ?? "";
  if (!place || !from || from === asked) return;
  asked = from;
  const response = await fetch(from).catch(() => null);
  const note = document.getElementById("graph-note");
  if (asked !== from) return; // other facts are wanted by now
  if (!response?.ok) {
    asked = ""; // so that the same can be asked for again
    if (note) note.textContent = "The graph could not be loaded. The table below contains all facts.";
    return;
  }
  const { nodes, edges, drawn: count, total } = await response.json();
  const { default: cytoscape } = await import("./vendor/cytoscape.esm.min.mjs");
  if (asked !== from) return;
  drawn?.destroy();
  const elements = [...nodes, ...edges].map((data) => ({ data }));
  drawn = cytoscape({ container: place, elements, style: look(), minZoom: 0.2, maxZoom: 3,
    layout: { name: "cose", animate: false, nodeDimensionsIncludeLabels: true, randomize: true, padding: 20, componentSpacing: 30, nodeRepulsion: () => 9000, idealEdgeLength: long } });
  whole();
  if (drawn.zoom() < READABLE) around(drawn.nodes().max((/** @type {any} */ node) => node.degree(false)).ele, READABLE);
  const tools = document.getElementById("graph-tools");
  if (tools) tools.hidden = false;
  drawn.on("tap", "[fact]", (/** @type {any} */ event) => choose(event.target.data("fact")));
  place.dataset.drawn = String(count);
  if (note) note.textContent = count < total
    ? `The graph shows ${count} of ${total.toLocaleString("en")} facts: those that link two names, and those about the names with the most facts. Choose a scene, a character or words to see others. The table below contains all facts.`
    : "Choose an edge or a value to read its sentence. The table below has the same facts.";
  if (note && matchMedia("(pointer: coarse)").matches) note.textContent += " Move the graph with two fingers.";
}

/** How long an edge is, so that its label has room. @param {any} edge */
const long = (edge) => Math.min(80 + 4 * edge.data("label").length, 150);

/** Show all of the graph. */
function whole() {
  drawn.fit(undefined, 20);
  if (drawn.zoom() > 1.2) around(drawn.elements(), 1.2);
  sized();
}

/** Show the graph at a size, with something in the middle. @param {any} what @param {number} zoom */
function around(what, zoom) {
  drawn.zoom(zoom);
  drawn.center(what);
  sized();
}

/** Show it larger or smaller, around what is in the middle. @param {number} by */
function zoom(by) {
  const middle = { x: drawn.width() / 2, y: drawn.height() / 2 };
  drawn.zoom({ level: drawn.zoom() * by, renderedPosition: middle });
  sized();
  say(`The graph is shown at ${Math.round(drawn.zoom() * 100)} %.`);
}

function sized() {
  if (place) place.dataset.zoom = drawn.zoom().toFixed(2);
}

/** @type {Record<string, [number, number]>} */
const MOVES = { ArrowLeft: [MOVE, 0], ArrowRight: [-MOVE, 0], ArrowUp: [0, MOVE], ArrowDown: [0, -MOVE] };

/** What the buttons beside the graph do; on them the arrow keys move it. */
function listen() {
  const tools = document.getElementById("graph-tools");
  tools?.addEventListener("click", (event) => {
    const what = /** @type {HTMLElement} */ (event.target).closest("button")?.dataset.graphDoes;
    if (!drawn || !what) return;
    if (what === "whole") whole();
    else zoom(what === "larger" ? STEP : 1 / STEP);
  });
  tools?.addEventListener("keydown", (event) => {
    const [x, y] = MOVES[event.key] ?? [0, 0];
    if (!drawn || !(x || y)) return;
    drawn.panBy({ x, y });
    event.preventDefault();
  });
}

// One finger scrolls the page, also where it begins on the graph; two fingers move the graph.
place?.addEventListener("pointerdown", (event) => drawn?.userPanningEnabled(event.pointerType !== "touch"), true);
place?.addEventListener("touchstart", (event) => drawn?.userPanningEnabled(event.touches.length > 1), { capture: true, passive: true });

/** Show a fact's sentence. @param {number | string} fact */
function choose(fact) {
  complain("");
  const at = location.pathname.replace(/\/$/, "");
  window.htmx.ajax("GET", `${at}/facts/${fact}`, { target: "#fact", swap: "innerHTML" });
}

/** Mark the fact that is shown, in the graph, in the table and in its scene. @param {HTMLElement} shown */
function mark(shown) {
  const fact = shown.dataset.shown ?? "";
  drawn?.elements(".chosen").removeClass("chosen");
  drawn?.elements(`[fact = ${Number(fact)}]`).addClass("chosen");
  document.querySelectorAll("tr.chosen").forEach((row) => row.classList.remove("chosen"));
  document.getElementById(`row-${fact}`)?.classList.add("chosen");
  shown.closest("section")?.scrollIntoView({ block: "nearest" }); // on a narrow screen it stands above the table
  const sentence = /** @type {HTMLElement | null} */ (shown.querySelector("[data-sentence]"));
  const box = sentence?.closest(".scene-text");
  if (sentence && box) box.scrollTop = sentence.offsetTop - box.getBoundingClientRect().height / 3 - /** @type {HTMLElement} */ (box).offsetTop;
  say(sentence ? `${shown.querySelector("h2")?.textContent}. The sentence: ${sentence.textContent}` : shown.querySelector(".note")?.textContent ?? "");
}

document.addEventListener("htmx:afterSwap", (event) => {
  const target = /** @type {CustomEvent} */ (event).detail?.target;
  if (target?.id === "facts") {
    say(target.querySelector("caption")?.textContent ?? "");
    draw();
  } else if (target?.id === "fact") {
    const shown = target.querySelector("[data-shown]");
    if (shown) mark(shown);
  } else if (target?.id === "findings") {
    say(target.querySelector("[data-said]")?.textContent ?? "");
  } else if (target?.id.startsWith("mend-")) {
    target.querySelector("textarea")?.focus();
  }
});

document.addEventListener("click", (event) => {
  const target = /** @type {HTMLElement} */ (event.target);
  if (target.closest("[data-shut]")) {
    const article = target.closest("article");
    target.closest("form")?.remove();
    goTo(article?.querySelector("[hx-get]"));
  }
  if (target.closest("[data-switch-theme]")) drawn?.style(look());
  const step = /** @type {HTMLElement | null} */ (target.closest("[data-scene]"));
  const scenes = /** @type {HTMLSelectElement | null} */ (document.getElementById("at"));
  if (step && scenes) {
    const last = scenes.options.length - 1;
    const now = scenes.selectedIndex || last + 1; // the end of the story comes after the last scene
    const next = now + Number(step.dataset.scene);
    scenes.selectedIndex = next > last ? 0 : Math.max(next, 1);
    scenes.dispatchEvent(new Event("change", { bubbles: true }));
  }
});

showReadings("#findings");
listen();
draw();
