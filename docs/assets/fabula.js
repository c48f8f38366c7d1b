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

// The search takes each word of a question as one to be found, and finds all words that begin with it. Here it gets only the words
// that say what is asked, without their endings, so that "deleting" finds "delete". Of a short word, it finds the word itself. Words that
// are on every page count least.
const asking = new Set((
  "a about actually after again ai all already also always am an and another any anything app are as at be because been before " +
  "being between but by can cannot cant could did do does doesnt doing done dont each else etc even ever every fabula few for from " +
  "get gets getting give go going good got had happens has have having he hello help her here him his how i id if im in instead " +
  "into is isnt it its itself just keep keeps kind know let like looking lot made make makes making many may me mean means might " +
  "more most much my need needs no nor not now of off ok okay on once one ones only or other our out over part please possible " +
  "program put really right run s same set she should so software some somehow someone something still such sure t take than that " +
  "thats the their them then there these they thing things think this those three through to together too tool try trying two up us " +
  "use used uses using usually very want wants was way we well were what whats when where which while who whose why will with " +
  "without wont work working works would yet you your"
).split(" "));
const everywhere = new Set(
  "book books model models novel novels project projects stories story text texts write writes writing".split(" "),
);
const root = (word) => {
  if (!/^\p{L}{5,}$/u.test(word)) return word;
  const cut = word.replace(/(?<=..[^s])s$/, "").replace(/(?<=....)(?:ing|(?<!e)ed)$/, "").replace(/([bdgmnprt])\1$/, "$1");
  return cut.length > 4 ? cut.replace(/(?<!i)e$|(?<=....)(?:ie|y)$/, "") : cut;
};
const essence = (query) => {
  const plain = query.toLowerCase().replace(/['\u2019]|(?<=(?:^|\s)\p{L})-/gu, "").replace(/[^\p{L}\p{N}\s_.-]/gu, " ");
  const words = plain.split(/[\s-]+|[.](?!\d)/).filter(Boolean);
  const kept = words.filter((word) => !asking.has(word));
  if (words.length < 2 && !/^\p{L}+$/u.test(query) || !kept.length) return query;
  return kept.map((word, place) => {
    const found = word.length < 4 && place < kept.length - 1 ? `${word}^1` : root(word);
    return everywhere.has(word) ? found : `${found} ${found}`; // a word that is given twice counts twice
  }).join(" ");
};
const post = Worker.prototype.postMessage;
Worker.prototype.postMessage = function (message, ...others) {
  const asked = message?.type === 2 && typeof message.data === "string";
  return post.call(this, asked ? { ...message, data: essence(message.data) } : message, ...others);
};
