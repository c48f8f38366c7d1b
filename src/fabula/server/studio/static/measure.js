// The Measure page: fields that belong to what is measured, and the report when it has come.

import { whenEnded } from "./events.js";

const kind = /** @type {HTMLSelectElement | null} */ (document.getElementById("kind"));

function showFields() {
  for (const [field, of] of [["evaluator", "evaluate"], ["against", "judge"]]) {
    const place = document.getElementById(field)?.closest(".field");
    place?.toggleAttribute("hidden", kind?.value !== of);
  }
}

kind?.addEventListener("change", showFields);
showFields();
document.addEventListener("htmx:afterSwap", () => {
  const begun = document.querySelector("#begun [data-run]");
  if (!(begun instanceof HTMLElement)) return;
  whenEnded(begun.dataset.run ?? "", (event) => {
    if (event.state === "finished") location.reload();
    else begun.textContent = event.message || "It was stopped. What was finished is kept.";
  });
});
