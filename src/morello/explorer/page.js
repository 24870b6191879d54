"use strict";

// The data: `levels` of memory, and one or two `programs`, each with `steps` in pre-order, the
// `choices` that they refer to by number, and lines of `c` and of `machine` code, each with the
// number of its step.
let data, program, chosen = 0;
const children = [], folded = new Set();
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

const share = step => step.runs * step.cycles / program.cost;

// ---- the tree of steps

function showTree() {
  children.length = 0;
  program.steps.forEach((step, number) => {
    children.push([]);
    if (step.parent >= 0) children[step.parent].push(number);
  });
  $("tree").replaceChildren(...program.steps.map(row));
  select(0);
}

function row(step, number) {
  const fold = element("span", {class: "fold", "aria-hidden": "true"});
  const words = element("div", {class: `words ${step.style}`}, fold, step.words);
  words.style.paddingLeft = `${step.depth}rem`;
  const line = element(
    "div", {class: "row", title: step.spec}, words,
    element("span", {class: "number"}, cycles(step.cycles)), bar(share(step), percent(share(step))),
  );
  const item = element("li", {
    role: "treeitem", id: `step-${number}`, tabindex: -1, "aria-level": step.depth + 1,
  }, line);
  if (step.heading) {
    const above = program.steps[step.parent];
    const heading = element("div", {class: `heading ${above.style}`}, step.heading);
    heading.style.paddingLeft = `${above.depth + 1.45}rem`;
    item.prepend(heading);
  }
  line.addEventListener("click", event => {
    if (event.target === fold && children[number].length) toggle(number);
    select(number, true);
  });
  return item;
}

function toggle(number) {
  if (!folded.delete(number)) folded.add(number);
  fold();
}

function hidden(number) {
  for (let above = program.steps[number].parent; above >= 0; above = program.steps[above].parent)
    if (folded.has(above)) return true;
  return false;
}

function fold() {
  program.steps.forEach((_, number) => {
    const item = $(`step-${number}`), inner = children[number].length > 0;
    item.hidden = hidden(number);
    item.querySelector(".fold").textContent = inner ? (folded.has(number) ? "▸" : "▾") : "";
    if (inner) item.setAttribute("aria-expanded", !folded.has(number));
  });
}

function select(number, focus = false) {
  for (let above = program.steps[number].parent; above >= 0; above = program.steps[above].parent)
    folded.delete(above);
  const before = $(`step-${chosen}`);
  if (before) { before.tabIndex = -1; before.setAttribute("aria-selected", false); }
  chosen = number;
  fold();
  const item = $(`step-${number}`);
  item.tabIndex = 0;
  item.setAttribute("aria-selected", true);
  if (focus) item.focus();
  showStep();
  markCode();
  markCycles();
}

$("tree").addEventListener("keydown", event => {
  const shown = program.steps.map((_, number) => number).filter(number => !hidden(number));
  const place = shown.indexOf(chosen), inner = children[chosen].length > 0;
  const moves = {
    ArrowDown: () => select(shown[Math.min(place + 1, shown.length - 1)], true),
    ArrowUp: () => select(shown[Math.max(place - 1, 0)], true),
    Home: () => select(0, true),
    End: () => select(shown[shown.length - 1], true),
    ArrowLeft: () => {
      if (inner && !folded.has(chosen)) toggle(chosen);
      else if (program.steps[chosen].parent >= 0) select(program.steps[chosen].parent, true);
    },
    ArrowRight: () => {
      if (inner && folded.has(chosen)) toggle(chosen);
      else if (inner) select(children[chosen][0], true);
    },
    Enter: () => { open("step"); $("step").querySelector("button")?.focus(); },
  };
  if (moves[event.key]) { event.preventDefault(); moves[event.key](); }
});

// ---- what is known of a step

function showStep() {
  const step = program.steps[chosen];
  const fact = (name, value) =>
    element("div", {}, element("dt", {}, name), element("dd", {}, value));
  $("step").replaceChildren(
    element("h2", {class: `code ${step.style}`}, step.words),
    element("p", {class: "code"}, step.spec),
    element(
      "dl", {}, fact("cycles of one run", cycles(step.cycles)), fact("of its own", cycles(step.own)),
      fact("runs", step.runs.toLocaleString("en")), fact("of the program", percent(share(step))),
    ),
    element("h3", {}, "Memory in use while it runs"),
    ...data.levels.map((level, number) => {
      const used = step.peak[number] / level.capacity;
      const amount = `${step.peak[number].toLocaleString("en")} of ` +
        `${level.capacity.toLocaleString("en")} ${level.unit}`;
      return element(
        "div", {class: used > 0.95 ? "level full" : "level"},
        element("span", {}, level.name), bar(used, ""), element("span", {class: "number"}, amount),
      );
    }),
    ...step.choices.flatMap(number => others(program.choices[number])),
  );
}

function others(choice) {
  const shown = element("div", {class: "program", "aria-live": "polite"});
  const show = (button, other) => {
    const open = button.getAttribute("aria-expanded") === "true";
    for (const each of button.closest("table").querySelectorAll("button"))
      each.setAttribute("aria-expanded", false);
    button.setAttribute("aria-expanded", !open);
    const lines = other.program.map(line => "  ".repeat(line.depth) + line.words.padEnd(
      48 - 2 * line.depth) + cycles(line.cycles).padStart(8));
    const title = element("h3", {}, `With ${other.words}`);
    shown.replaceChildren(...open ? [] : [title, element("pre", {}, lines.join("\n"))]);
  };
  const body = choice.others.map(other => {
    const words = other.exact
      ? element("button", {
        "aria-expanded": false, onclick: event => show(event.currentTarget, other),
      }, other.words)
      : other.words;
    const least = other.cycles === null ? "" : (other.exact ? "" : "≥ ") + cycles(other.cycles);
    return element(
      "tr", {}, element("td", {class: "code"}, words), element("td", {class: "number"}, least),
      element("td", {}, other.reason),
    );
  });
  const head = ["rewrite", "cycles", ""].map(text => element("th", {scope: "col"}, text));
  return [
    element("h3", {}, choice.others.length ? "Taken, and the others" : "Taken; there was no other"),
    element("table", {}, element("thead", {}, element("tr", {}, ...head)), element(
      "tbody", {}, element(
        "tr", {class: "taken"}, element("td", {class: "code"}, choice.words),
        element("td", {class: "number"}, cycles(choice.cycles)), element("td", {}, "taken"),
      ), ...body,
    )),
    ...choice.more ? [element("p", {}, `${choice.more} more cost more or do not fit.`)] : [],
    shown,
  ];
}

$("step").addEventListener("keydown", event => {
  if (event.key === "Escape") select(chosen, true);
});

// ---- C and machine code

function showCode() {
  for (const panel of ["c", "machine"]) $(panel).replaceChildren(codeOf(program[panel]));
  $("tab-machine").hidden = !program.machine.length;
}

function codeOf(numbered) {
  const lines = numbered.map(([text, number]) => {
    const line = element("span", {class: "c", "data-step": number}, text);
    if (number >= 0) line.addEventListener("click", () => select(number));
    return line;
  });
  return element("pre", {}, ...lines);
}

function markCode() {
  const last = chosen + below(chosen);
  for (const panel of [$("c"), $("machine")]) {
    let first;
    for (const line of panel.querySelectorAll(".c")) {
      const number = Number(line.dataset.step), within = number >= chosen && number <= last;
      line.classList.toggle("own", number === chosen);
      line.classList.toggle("below", within && number !== chosen);
      if (within && !first) first = line;
    }
    if (!panel.hidden) first?.scrollIntoView({block: "nearest"});
  }
}

function below(number) {
  return children[number].reduce((count, child) => count + 1 + below(child), 0);
}

// ---- cycles as areas: a squarified treemap (Bruls, Huizing and van Wijk, 2000)

function showCycles() {
  const parts = program.steps
    .map((step, number) => ({step, number, area: step.runs * step.own}))
    .filter(part => part.area > 0.0005 * program.cost)
    .sort((a, b) => b.area - a.area);
  const width = 720, height = 460;
  const total = parts.reduce((sum, part) => sum + part.area, 0);
  for (const part of parts) part.area *= width * height / total;
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("role", "group");
  svg.setAttribute("aria-label", "Cycles of each step of its own");
  squarify(parts, {x: 0, y: 0, width, height}, (part, box) => svg.append(tile(part, box)));
  $("cycles").replaceChildren(
    element("h2", {}, "Cycles of each step of its own, in all its runs"), svg,
  );
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

function tile({step, number}, box) {
  const make = name => document.createElementNS("http://www.w3.org/2000/svg", name);
  const group = make("g"), rect = make("rect"), title = make("title");
  for (const [key, value] of Object.entries(box)) rect.setAttribute(key, value);
  const part = percent(step.runs * step.own / program.cost);
  title.textContent = `${step.words}: ${part}`;
  group.setAttribute("class", step.style);
  group.setAttribute("role", "button");
  group.setAttribute("tabindex", 0);
  group.dataset.step = number;
  group.append(title, rect);
  [step.words, part].forEach((text, line) => {
    if (box.width < 7.5 * text.length + 10 || box.height < 18 + 15 * line) return;
    const label = make("text");
    label.setAttribute("x", box.x + 6);
    label.setAttribute("y", box.y + 15 + 15 * line);
    label.textContent = text;
    group.append(label);
  });
  group.addEventListener("click", () => select(number));
  group.addEventListener("keydown", event => {
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); select(number); }
  });
  return group;
}

function markCycles() {
  for (const group of $("cycles").querySelectorAll("g"))
    group.setAttribute("aria-pressed", Number(group.dataset.step) === chosen);
}

// ---- two programs side by side

function showBoth() {
  const [left, right] = data.programs.map(each => each.steps);
  const same = (a, b) => a.words === b.words && a.depth === b.depth;
  const longest = Array.from({length: left.length + 1}, () => new Uint16Array(right.length + 1));
  for (let i = left.length - 1; i >= 0; --i)
    for (let j = right.length - 1; j >= 0; --j)
      longest[i][j] = same(left[i], right[j])
        ? longest[i + 1][j + 1] + 1 : Math.max(longest[i + 1][j], longest[i][j + 1]);
  const line = (which, number, differs) => {
    if (number === undefined) return element("div");
    const step = data.programs[which].steps[number];
    const words = element("span", {class: `words ${step.style}`}, step.words);
    words.style.paddingLeft = `${step.depth}rem`;
    return element("div", {
      class: differs ? "plain differs" : "plain", title: step.spec,
      onclick: () => { explore(which); select(number, true); },
    }, words, element("span", {class: "number"}, cycles(step.cycles)));
  };
  const cells = [];
  for (let i = 0, j = 0; i < left.length || j < right.length;) {
    if (i < left.length && j < right.length && same(left[i], right[j]))
      cells.push(line(0, i++, false), line(1, j++, false));
    else if (j >= right.length || (i < left.length && longest[i + 1][j] >= longest[i][j + 1]))
      cells.push(line(0, i++, true), line(1));
    else cells.push(line(0), line(1, j++, true));
  }
  $("both").replaceChildren(element("div", {class: "pair"}, ...cells));
}

// ---- tabs and keys

const tabs = () => [...$("tabs").children].filter(tab => !tab.hidden);

function open(panel) {
  for (const tab of tabs()) {
    const shown = tab.id === `tab-${panel}`;
    tab.setAttribute("aria-selected", shown);
    tab.tabIndex = shown ? 0 : -1;
    $(tab.getAttribute("aria-controls")).hidden = !shown;
  }
  markCode();
}

$("tabs").addEventListener("click", event => {
  const tab = event.target.closest("[role=tab]");
  if (tab) open(tab.getAttribute("aria-controls"));
});

$("tabs").addEventListener("keydown", event => {
  const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
  if (!step) return;
  const all = tabs(), place = all.indexOf(document.activeElement);
  const next = all[(place + step + all.length) % all.length];
  open(next.getAttribute("aria-controls"));
  next.focus();
});

document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const tab = tabs()[Number(event.key) - 1];
  if (tab) open(tab.getAttribute("aria-controls"));
});

$("help").addEventListener("click", event => {
  $("keys").hidden = !$("keys").hidden;
  event.currentTarget.setAttribute("aria-expanded", !$("keys").hidden);
});

// ---- the whole

function explore(which) {
  program = data.programs[which];
  folded.clear();
  chosen = 0;
  showCode();
  showCycles();
  showTree();
  for (const [number, radio] of [...$("which").querySelectorAll("input")].entries())
    radio.checked = number === which;
}

function showWhich() {
  if (data.programs.length < 2) return;
  const [first, second] = data.programs;
  const above = second.cost / first.cost - 1;
  const names = ["this program", `the other, ${above < 0 ? "" : "+"}${(100 * above).toFixed(1)} %`];
  $("which").hidden = $("tab-both").hidden = false;
  $("which").replaceChildren(...names.map((name, number) => element("label", {}, element("input", {
    type: "radio", name: "which", onchange: () => explore(number),
  }), ` ${name} `)));
  showBoth();
}

async function start() {
  const bytes = Uint8Array.from(atob($("data").textContent), letter => letter.charCodeAt(0));
  const inflated = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  data = await new Response(inflated).json();
  $("facts").replaceChildren(...data.facts.map(([name, value]) =>
    element("div", {}, element("dt", {}, name), element("dd", {}, value))));
  showWhich();
  explore(0);
  open("step");
  document.body.dataset.ready = "";
}

start();
