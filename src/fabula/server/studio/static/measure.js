// The Measure page: fields that belong to what is measured, and the report when it has come.

import { onEvent } from "./events.js";

const kind = /** @type {HTMLSelectElement | null} */ (document.getElementById("kind"));

function showFields() {
  for (const [field, of] of [["evaluator", "evaluate"], ["against", "judge"]]) {
    const place = document.getElementById(field)?.closest(".field");
    place?.toggleAttribute("hidden", kind?.value !== of);
  }
}

kind?.addEventListener("change", showFields);
showFields();
onEvent((event) => {
  const begun = document.querySelector("#begun [data-run]");
  if (event.type !== "run_ended" || !(begun instanceof HTMLElement) || event.run !== begun.dataset.run) return;
  if (event.state === "finished") location.reload();
  else begun.textContent = event.message || "It was stopped. What was finished is kept.";
});
