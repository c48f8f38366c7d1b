// What the theme makes of code and tables can be named and reached by everybody: names for what has none, and a place in the
// order of the keyboard for a table that has to be scrolled.
document.querySelector("[data-md-component=search]")?.setAttribute("aria-label", "Search");
let copies = 0;
const reachable = () => {
  for (const nav of document.querySelectorAll(".md-code__nav:not([aria-label])")) {
    nav.setAttribute("aria-label", `Code ${++copies}`);
  }
  for (const wide of document.querySelectorAll(".md-typeset__scrollwrap")) {
    wide.toggleAttribute("tabindex", wide.scrollWidth > wide.clientWidth);
    if (wide.hasAttribute("tabindex")) wide.tabIndex = 0;
  }
};
new MutationObserver(reachable).observe(document.body, { childList: true, subtree: true });
addEventListener("resize", reachable);
reachable();
