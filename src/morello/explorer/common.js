"use strict";

// What all pages share: elements, numbers, areas, tabs and keys.

const $ = id => document.getElementById(id);

function element(name, attributes = {}, ...content) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== false) node.setAttribute(key, value);
  }
  node.append(...content);
  return node;
}

// ---- numbers as text

function cycles(value) {
  for (const [unit, size] of [["G", 1e9], ["M", 1e6], ["k", 1e3]])
    if (value >= 0.9995 * size) return Number((value / size).toPrecision(3)) + unit;
  return String(Number(value.toPrecision(3)));
}

function percent(share) {
  if (share < 0.0005) return "<0.1 %";
  return (100 * share).toFixed(share < 0.0995 ? 1 : 0) + " %";
}

function bar(share, text) {
  const filled = element("i");
  filled.style.width = `${Math.min(100, 100 * share)}%`;
  return element("div", {class: "bar"}, filled, element("span", {}, text));
}

function seconds(value) {
  for (const [unit, size] of [["s", 1], ["ms", 1e-3], ["us", 1e-6]])
    if (value >= 0.9995 * size) return `${Number((value / size).toPrecision(3))} ${unit}`;
  return `${Number((value / 1e-9).toPrecision(3))} ns`;
}

function bytes(value) {
  for (const [unit, size] of [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]])
    if (value >= 0.9995 * size) return `${Number((value / size).toPrecision(3))} ${unit}`;
  return `${value} B`;
}

const fact = (name, value) =>
  element("div", {}, element("dt", {}, name), element("dd", {}, value));

function table(headings, rows) {
  const head = headings.map(text => element("th", {scope: "col"}, text));
  return element(
    "table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows),
  );
}

// ---- areas: a squarified treemap (Bruls, Huizing and van Wijk, 2000)

// Each of the parts has `words`, a `style`, a `number` and a `size`, of which the `whole` is the sum.
function areas(parts, whole, label, choose) {
  const shown = parts.filter(part => part.size > 0.0005 * whole).sort((a, b) => b.size - a.size);
  const width = 720, height = 460;
  const total = shown.reduce((sum, part) => sum + part.size, 0);
  const sized = shown.map(part => ({...part, area: part.size * width * height / total}));
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("role", "group");
  svg.setAttribute("aria-label", label);
  squarify(sized, {x: 0, y: 0, width, height}, (part, box) =>
    svg.append(tile(part, percent(part.size / whole), box, choose)));
  return [element("h2", {}, label), svg];
}

function mark(panel, number) {
  for (const group of panel.querySelectorAll("g"))
    group.setAttribute("aria-pressed", Number(group.dataset.number) === number);
}

function squarify(parts, box, place) {
  let rest = {...box}, start = 0;
  while (start < parts.length) {
    const side = Math.min(rest.width, rest.height);
    let end = start, sum = 0, worst = Infinity;
    while (end < parts.length) {
      const area = sum + parts[end].area, thick = area / side;
      const ratio = Math.max(
        ...[parts[start], parts[end]].map(part => {
          const long = part.area / thick;
          return Math.max(long / thick, thick / long);
        }));
      if (ratio > worst) break;
      worst = ratio; sum = area; ++end;
    }
    const thick = sum / side, upright = rest.width >= rest.height;
    let along = upright ? rest.y : rest.x;
    for (const part of parts.slice(start, end)) {
      const long = part.area / thick;
      place(part, upright
        ? {x: rest.x, y: along, width: thick, height: long}
        : {x: along, y: rest.y, width: long, height: thick});
      along += long;
    }
    rest = upright
      ? {...rest, x: rest.x + thick, width: rest.width - thick}
      : {...rest, y: rest.y + thick, height: rest.height - thick};
    start = end;
  }
}

function tile({words, style, number}, part, box, choose) {
  const make = name => document.createElementNS("http://www.w3.org/2000/svg", name);
  const group = make("g"), rect = make("rect"), title = make("title");
  for (const [key, value] of Object.entries(box)) rect.setAttribute(key, value);
  title.textContent = `${words}: ${part}`;
  group.setAttribute("class", style);
  group.setAttribute("role", "button");
  group.setAttribute("tabindex", 0);
  group.dataset.number = number;
  group.append(title, rect);
  const most = Math.floor((box.width - 10) / 7.5);
  const short = words.length > most ? `${words.slice(0, most - 1)}…` : words;
  [short, part].forEach((text, line) => {
    if (most < Math.max(4, text.length) || box.height < 18 + 15 * line) return;
    const label = make("text");
    label.setAttribute("x", box.x + 6);
    label.setAttribute("y", box.y + 15 + 15 * line);
    label.textContent = text;
    group.append(label);
  });
  group.addEventListener("click", () => choose(number));
  group.addEventListener("keydown", event => {
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(number); }
  });
  return group;
}

// ---- tabs and keys

const tabsOf = list => [...list.children].filter(tab => !tab.hidden);

function open(panel) {
  const list = $(`tab-${panel}`).parentElement;
  for (const tab of list.children) {
    const shown = tab.id === `tab-${panel}`;
    tab.setAttribute("aria-selected", shown);
    tab.tabIndex = shown ? 0 : -1;
    $(tab.getAttribute("aria-controls")).hidden = !shown;
  }
  list.dispatchEvent(new Event("opened"));
}

for (const list of document.querySelectorAll("[role=tablist]")) {
  list.addEventListener("click", event => {
    const tab = event.target.closest("[role=tab]");
    if (tab) open(tab.getAttribute("aria-controls"));
  });
  list.addEventListener("keydown", event => {
    const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (!step) return;
    const all = tabsOf(list), place = all.indexOf(document.activeElement);
    const next = all[(place + step + all.length) % all.length];
    open(next.getAttribute("aria-controls"));
    next.focus();
  });
}

document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const list = [...document.querySelectorAll("[role=tablist]")].find(each => each.offsetParent);
  const tab = tabsOf(list)[Number(event.key) - 1];
  if (tab) open(tab.getAttribute("aria-controls"));
});

for (const button of document.querySelectorAll(".help"))
  button.addEventListener("click", () => {
    const keys = $(button.getAttribute("aria-controls"));
    keys.hidden = !keys.hidden;
    button.setAttribute("aria-expanded", !keys.hidden);
  });

// ---- the data

async function inflated(id) {
  const bytes = Uint8Array.from(atob($(id).textContent), letter => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).json();
}

async function start(show) {
  const data = await inflated("data");
  $("facts").replaceChildren(...data.facts.map(([name, value]) => fact(name, value)));
  show(data);
  document.body.dataset.ready = "";
}
