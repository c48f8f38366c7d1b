// The search takes each word of a question as one to be found, and finds all words that begin with it. Here it gets only the words
// that say what is asked, without their endings, so that "deleting" finds "delete". Of a short word, it finds the word itself.
const asking = new Set((
  "a about actually after again ai all already also always am an and another any anything app are as at be because been before " +
  "being between but by can cannot cant configure could did do does doesnt doing done dont each else etc even ever every fabula few for from " +
  "get gets getting give go going good got had happens has have having he hello help her here him his how i id if im in instead " +
  "into is isnt it its itself just keep keeps kind know less let like looking lot made make makes making many may me mean means might " +
  "more most much my need needs no nor not now of off ok okay on once one ones only or other our out over part please possible " +
  "program put really right run s same set setup she should so software some somehow someone something still such sure t take than that " +
  "thats the their them then there these they thing things think this those three through to together too tool try trying two up us " +
  "use used uses using usually very want wants was way we well were what whats when where which while who whose why will with " +
  "without wont work working works would yet you your"
).split(" "));
const typed = new Map(); // the words of questions by what is looked for
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
    typed.set(root(word), word);
    return word.length < 4 && place < kept.length - 1 ? `${word}^1` : root(word);
  }).join(" ");
};

// A section that has more of a question's words is the closer answer, and a rare word says more than one that is in every section.
// The theme doubles whole pages and counts the share of the words; this counts instead how rare they are together.
const rank = (groups) => {
  const hits = groups.flat().filter(({ score }) => score);
  const rarity = Object.fromEntries(Object.keys(hits[0]?.terms ?? {}).map((term) => {
    const sections = hits.filter(({ terms }) => terms[term]).length;
    return [term, sections && Math.log(1 + 1000 / sections)];
  }));
  const sum = (terms) => terms.reduce((all, term) => all + rarity[term], 0);
  for (const hit of hits) {
    const terms = Object.keys(hit.terms);
    const found = terms.filter((term) => hit.terms[term]);
    const doubled = 1 + (!hit.parent + found.length / terms.length) ** 2;
    hit.score *= (hit.parent ? 1 : 0.9) * (sum(found) / sum(terms) || 1) ** 1.5 / doubled;
    // Those that are missing are shown, so they are the words as they were typed.
    hit.terms = Object.fromEntries(terms.map((term) => [hit.terms[term] ? term : typed.get(term) ?? term, hit.terms[term]]));
  }
  for (const group of groups) group.sort((a, b) => b.score - a.score);
  groups.sort((a, b) => b[0].score - a[0].score);
};

// The page makes the worker after this script, so this listener is the first one; the theme's own gets the same object.
window.Worker = class extends window.Worker {
  constructor(...given) {
    super(...given);
    this.addEventListener("message", ({ data }) => data?.type === 3 && rank(data.data.items));
  }
  postMessage(message, ...others) {
    const asked = message?.type === 2 && typeof message.data === "string";
    super.postMessage(asked ? { ...message, data: essence(message.data) } : message, ...others);
  }
};
