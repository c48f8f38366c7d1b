// Sets the look before the page is painted: as it was chosen, else as the system has it.
(() => {
  const chosen = localStorage.getItem("fabula-theme");
  if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
})();
