"use strict";
// Tables that sort by their headings and, where they are long, filter by a text; without it they are plain tables.
const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

function sortTable(table, heading, place) {
  const up = heading.getAttribute("aria-sort") !== "ascending";
  for (const other of heading.parentNode.children) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", up ? "ascending" : "descending");
  const body = table.tBodies[0];
  const keyed = Array.from(body.rows, (row) => {
    const text = row.cells[place].textContent.trim();
    return { row, text, value: text === "" ? NaN : Number(text.replace(/[\s,%]/g, "")) };
  });
  const numeric = keyed.every((each) => each.text === "" || !Number.isNaN(each.value));
  keyed.sort((a, b) => {
    if (a.text === "" || b.text === "") return (a.text === "") - (b.text === "");  // empty cells stay last
    const order = numeric ? a.value - b.value : collator.compare(a.text, b.text);
    return up ? order : -order;
  });
  body.append(...keyed.map((each) => each.row));
}

function addSorting(table) {
  Array.from(table.tHead.rows[0].cells).forEach((heading, place) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    button.addEventListener("click", () => sortTable(table, heading, place));
    heading.append(button);
  });
}

function addFilter(table) {
  const rows = Array.from(table.tBodies[0].rows);
  if (rows.length < 12) return;
  const line = document.createElement("p"), label = document.createElement("label");
  const input = document.createElement("input"), count = document.createElement("span");
  line.className = "filter";
  count.className = "quiet";
  count.setAttribute("role", "status");
  input.type = "search";
  label.append("Filter: ", input);
  line.append(label, count);
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      shown += !row.hidden;
    }
    count.textContent = words.length ? `${shown} of ${rows.length} rows` : "";
  });
  (table.closest(".wide") || table).before(line);
}

for (const table of document.querySelectorAll("table[data-sorts]")) {
  addSorting(table);
  addFilter(table);
}
// What is folded on the screen is printed.
addEventListener("beforeprint", () => { for (const each of document.querySelectorAll("details")) each.open = true; });
