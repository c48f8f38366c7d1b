// Makes the tables of a report sortable and filterable, and shows its runs in pieces. Without it everything is there too.
"use strict";

const find = (selector, root = document) => [...root.querySelectorAll(selector)];
const make = (name, attributes = {}, text = "") => {
  const node = Object.assign(document.createElement(name), attributes);
  node.textContent = text;
  return node;
};
const valueOf = (text) => {
  const found = text.replaceAll(",", "").match(/^-?[\d.]+(e-?\d+)?/);
  return found ? Number(found[0]) : null;
};
const inOrder = (a, b) => {
  const [one, other] = [valueOf(a), valueOf(b)];
  if (one !== null && other !== null) return one - other;
  if (one === null && other === null) return a.localeCompare(b);
  return one === null ? -1 : 1;
};

function choice(label, values, changed) {
  const select = make("select");
  select.append(make("option", { value: "" }, "all"), ...values.map((value) => make("option", { value }, value)));
  select.addEventListener("change", changed);
  const named = make("label", {}, `${label} `);
  named.append(select);
  return [named, select];
}

function sought(label, changed) {
  const input = make("input", { type: "search" });
  input.addEventListener("input", changed);
  const named = make("label", {}, `${label} `);
  named.append(input);
  return [named, input];
}

// Gives each head of a table a button that calls `sort(column, descending)`.
function sortable(table, sort) {
  const heads = find("thead th", table);
  heads.forEach((head, column) => {
    const button = make("button", { type: "button" }, head.textContent);
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const descending = head.getAttribute("aria-sort") !== "descending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      sort(column, descending);
    });
  });
}

function leaderboard(region) {
  const body = region.querySelector("tbody");
  const rows = find("tr", body);
  const text = (row, column) => row.cells[column].textContent.trim();
  const heads = find("thead th", region).map((head) => head.textContent);
  const shown = make("p", { className: "faint" });
  shown.setAttribute("aria-live", "polite");
  const filters = [];
  const changed = () => {
    for (const row of rows) {
      row.hidden = !filters.every(([column, field]) =>
        field.tagName === "SELECT"
          ? field.value === "" || text(row, column) === field.value
          : text(row, column).toLowerCase().includes(field.value.toLowerCase()));
    }
    shown.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} contenders`;
  };
  const bar = make("p", { className: "filters" });
  for (const name of ["contender", "system", "preset", "model"]) {
    const column = heads.indexOf(name);
    const values = [...new Set(rows.map((row) => text(row, column)))].sort();
    const [label, field] = name === "contender" ? sought(name, changed) : choice(name, values, changed);
    if (name === "contender" || values.length > 1) {
      bar.append(label);
      filters.push([column, field]);
    }
  }
  region.before(bar, shown);
  sortable(region, (column, descending) => {
    rows.sort((a, b) => inOrder(text(a, column), text(b, column)) * (descending ? -1 : 1));
    body.append(...rows);
  });
  changed();
}

// The runs: rows of numbers in the page, a piece of which is shown; what they wrote is in files beside it.
function runs(place) {
  const data = JSON.parse(document.getElementById("runs-data").textContent);
  const most = 100;
  let upTo = most;
  const cells = (run) => [
    `${data.briefs[run[1]]}/${data.contenders[run[0]]}-${run[2]}`, data.states[run[3]],
    ...run.slice(4, 8).map((number) => number.toLocaleString("en")),
    run[8] === null ? "price unknown" : run[8].toFixed(4),
  ];
  let order = data.runs;
  const body = make("tbody");
  const table = make("table");
  const head = make("tr");
  head.append(...data.head.map((name) => Object.assign(make("th", {}, name), { scope: "col" })));
  const top = make("thead");
  top.append(head);
  table.append(top, body);
  const wide = make("div", { className: "wide", tabIndex: 0 });
  wide.append(table);
  const count = make("p", { className: "faint" });
  count.setAttribute("aria-live", "polite");
  const more = make("button", { type: "button" }, `Show ${most} more`);
  const bar = make("p", { className: "filters" });
  const show = () => {
    const left = order.filter((run) =>
      (who.value === "" || data.contenders[run[0]] === who.value) &&
      (state.value === "" || data.states[run[3]] === state.value) &&
      data.briefs[run[1]].toLowerCase().includes(brief.value.toLowerCase()));
    body.replaceChildren(...left.slice(0, upTo).map((run) => {
      const row = make("tr");
      const [name, ...rest] = cells(run);
      const link = make("a", { href: `${data.folder}/runs-${String(run[9]).padStart(3, "0")}.html#run-${name.replaceAll("/", "--")}` }, name);
      const first = make("td");
      first.append(link);
      row.append(first, ...rest.map((text, column) => make("td", { className: column ? "figure" : "" }, text)));
      return row;
    }));
    count.textContent = `${Math.min(upTo, left.length)} of ${left.length} runs`;
    more.hidden = left.length <= upTo;
  };
  const changed = () => { upTo = most; show(); };
  const [whoLabel, who] = choice("contender", data.contenders, changed);
  const [briefLabel, brief] = sought("brief", changed);
  const [stateLabel, state] = choice("ended", data.states, changed);
  bar.append(whoLabel, briefLabel, stateLabel);
  more.addEventListener("click", () => { upTo += most; show(); });
  place.replaceChildren(bar, count, wide, more);
  sortable(table, (column, descending) => {
    const value = (run) => (column ? (column === 1 ? run[3] : run[column + 2] ?? -1) : 0);
    order = column
      ? [...data.runs].sort((a, b) => (value(a) - value(b)) * (descending ? -1 : 1))
      : descending ? [...data.runs].reverse() : data.runs;
    changed();
  });
  show();
}

find(".leaderboard").forEach(leaderboard);
const place = document.getElementById("runs-here");
if (place) runs(place);
