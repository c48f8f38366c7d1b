// The shelf: where projects stand, as soon as that changes.

import { onEvent } from "./events.js";

const TYPES = new Set(["run_queued", "run_begun", "run_ended", "project_changed", "artefact_changed"]);
const SOON = 400; // milliseconds in which several changes are one
let timer = 0;

onEvent((event) => {
  if (!TYPES.has(event.type)) return;
  timer ||= setTimeout(() => {
    timer = 0;
    globalThis.htmx?.trigger("#cards", "changed");
  }, SOON);
});
