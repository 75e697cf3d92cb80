"use strict";
// Shows which entries an entry was made from: by pointer, by touch, or with the arrow keys.
(() => {
  const body = document.body;
  const ids = (body.dataset.ids || "").split(" ").map(Number);
  const targets = (body.dataset.targets || "").split(" ").map(Number);
  const note = document.getElementById("follow");
  const tables = [...document.querySelectorAll("table[data-name]")];
  // "Q" -> [{places: [2, 3], cell}, ...]
  const cells = new Map();
  let lit = [], pinned = null;

  const placesOf = (cell) => {
    const found = /^(\w+)\[([\d,]+)\]$/.exec(cell.dataset.from);
    return found ? { name: found[1], places: found[2].split(",").map(Number) } : null;
  };
  for (const cell of document.querySelectorAll("td[data-from]")) {
    const at = placesOf(cell);
    if (!at) continue;
    if (!cells.has(at.name)) cells.set(at.name, []);
    cells.get(at.name).push({ places: at.places, cell });
  }

  // One place of a source, such as ":", "0:8", "i", "8+j", "j/8", "j%8", "@i" (the id of token i),
  // "~i" (every token whose id is i), "*i" (the target of token i); true if it means `place`.
  const means = (part, i, j, place) => {
    if (part === ":") return true;
    const range = /^(\d+):(\d+)$/.exec(part);
    if (range) return place >= +range[1] && place < +range[2];
    if (/^\d+$/.test(part)) return place === +part;
    const found = /^([@~*]|\d+\+)?([ij])(?:([/%])(\d+))?$/.exec(part);
    if (!found) return false;
    const [, before, letter, sign, number] = found;
    let wanted = letter === "i" ? i : j;
    if (sign === "/") wanted = Math.floor(wanted / +number);
    if (sign === "%") wanted %= +number;
    if (before === "@") return place === ids[wanted];
    if (before === "*") return place === targets[wanted];
    if (before === "~") return ids[place] === wanted;
    return place === wanted + (before ? parseInt(before, 10) : 0);
  };

  const clear = () => {
    for (const cell of lit) cell.classList.remove("here", "source");
    lit = [];
    note.textContent = "";
  };

  const show = (cell) => {
    clear();
    const table = cell.closest("table[data-name]");
    const at = placesOf(cell);
    if (!table || !at) return;
    cell.classList.add("here");
    lit.push(cell);
    const made = table.dataset.made ? table.dataset.made.split(" ") : [];
    const [i, j] = at.places.length > 1 ? at.places.slice(-2) : [at.places[0], at.places[0]];
    const words = [];
    for (const source of made) {
      const [, name, list] = /^(\w+)\[(.+)\]$/.exec(source);
      const parts = list.split(",");
      let count = 0;
      for (const { places, cell: other } of cells.get(name) || []) {
        if (places.length === parts.length && parts.every((p, k) => means(p, i, j, places[k]))) {
          other.classList.add("source");
          lit.push(other);
          count += 1;
        }
      }
      words.push(parts.includes(":") || count !== 1 ? name : `${name} ${lit.at(-1).textContent}`);
    }
    const row = cell.parentElement.querySelector("th");
    const column = table.tHead.rows[0].cells[cell.cellIndex];
    const label = [row && row.textContent, column && column.textContent].filter(Boolean).join(", ");
    note.textContent = `${table.dataset.name} [${label}] = ${cell.textContent}` +
      (words.length ? `, made from ${words.join(", ")}` : ", given");
  };

  // Served by Jupyter as a file, a page may lead on only with the token of its own address, and a
  // notebook opens in JupyterLab.
  const base = new URL(document.baseURI);
  if (base.pathname.includes("/files/")) {
    for (const link of document.querySelectorAll("a[href]:not([href^='#'])")) {
      const to = new URL(link.getAttribute("href"), base);
      if (to.pathname.endsWith(".ipynb")) {
        to.pathname = to.pathname.replace("/files/", "/lab/tree/");
        link.target = "_blank";
      } else {
        to.search = base.search;
      }
      link.href = to;
    }
  }

  const rest = () => (pinned ? show(pinned) : clear());

  for (const table of tables) {
    const first = table.querySelector("td[data-from]");
    if (!first) continue;
    table.setAttribute("role", "grid");
    first.tabIndex = 0;
    // The one cell of the table that the Tab key reaches.
    let entry = first;
    const go = (cell) => {
      if (!cell || !cell.dataset.from) return;
      entry.removeAttribute("tabindex");
      entry = cell;
      cell.tabIndex = 0;
      cell.focus();
    };
    table.addEventListener("mouseover", (event) => {
      const cell = event.target.closest("td[data-from]");
      if (cell) show(cell);
    });
    table.addEventListener("mouseleave", rest);
    table.addEventListener("focusin", (event) => {
      if (event.target.matches("td[data-from]")) show(event.target);
    });
    table.addEventListener("focusout", rest);
    table.addEventListener("click", (event) => {
      const cell = event.target.closest("td[data-from]");
      if (!cell) return;
      pinned = pinned === cell ? null : cell;
      go(cell);
      rest();
    });
    table.addEventListener("keydown", (event) => {
      const cell = event.target.closest("td[data-from]");
      if (!cell) return;
      const row = cell.parentElement;
      const lines = [...table.tBodies[0].rows];
      const place = lines.indexOf(row);
      const at = (line, column) => lines[line] && lines[line].cells[column];
      const to = {
        ArrowLeft: () => at(place, cell.cellIndex - 1),
        ArrowRight: () => at(place, cell.cellIndex + 1),
        ArrowUp: () => at(place - 1, cell.cellIndex),
        ArrowDown: () => at(place + 1, cell.cellIndex),
        Home: () => at(place, 1),
        End: () => at(place, row.cells.length - 1),
        Escape: () => { pinned = null; cell.blur(); clear(); return null; },
      }[event.key];
      if (!to) return;
      event.preventDefault();
      go(to());
    });
  }
})();
