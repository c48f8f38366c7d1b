// Runs that read the story: how they stand is fetched after each call, and what they have found is shown when they end.
import { onEvent, whenEnded } from "./events.js";
import { say } from "./studio.js";

const ENDED = "A run has ended. Reload this page to see its results.";

/**
 * What a run has found stands on this page when it has ended: shown at once to who began it here, offered to others. It
 * may have ended before the answer has come that says it has begun. What somebody types is not lost for it.
 * @param {string} place where somebody may type
 */
export function showReadings(place) {
  const show = () => {
    const fields = /** @type {NodeListOf<HTMLInputElement | HTMLTextAreaElement>} */ (document.querySelectorAll(`${place} input, ${place} textarea`));
    if ([...fields].some((field) => field.value !== field.defaultValue)) say(ENDED);
    else location.reload();
  };
  document.addEventListener("htmx:afterSwap", () => {
    const begun = /** @type {HTMLElement | null} */ (document.querySelector("[data-begun]"));
    if (begun) whenEnded(begun.dataset.run ?? "", show);
  });
  onEvent((event) => {
    if (event.project !== document.body.dataset.project) return;
    if (event.type === "call_finished") document.body.dispatchEvent(new CustomEvent("fabula:call"));
    if (event.type === "run_ended" && !document.querySelector("[data-begun]")) say(ENDED);
  });
}
