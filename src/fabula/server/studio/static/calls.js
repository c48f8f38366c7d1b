// The page of one call: copying, and the keys that lead to the calls beside it.

import { complain, say } from "./studio.js";

document.addEventListener("click", async (event) => {
  const button = /** @type {HTMLElement} */ (event.target).closest("[data-copy]");
  const text = button?.closest(".message")?.querySelector("pre")?.textContent;
  if (text === undefined || text === null) return;
  try {
    await navigator.clipboard.writeText(text);
    say("Copied.");
  } catch {
    complain("The browser does not let this page copy. Select the text and copy it yourself.");
  }
});

document.addEventListener("keydown", (event) => {
  const rel = event.key === "ArrowLeft" ? "prev" : event.key === "ArrowRight" ? "next" : "";
  const at = /** @type {HTMLElement} */ (event.target);
  if (!rel || event.altKey || event.ctrlKey || event.metaKey || at.matches("input, select, textarea")) return;
  /** @type {HTMLAnchorElement | null} */ (document.querySelector(`a[rel="${rel}"]`))?.click();
});
