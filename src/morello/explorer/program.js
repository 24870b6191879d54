// A program, or two of them side by side. Each has `levels` of memory, `steps` in pre-order, the
// `choices` that they refer to by number, and lines of `c` and of `machine` code, each with the
// number of its step.
let programs, program, chosen = 0;
const children = [], folded = new Set();

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
  mark($("cycles"), chosen);
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
  $("step").replaceChildren(
    element("h2", {class: `code ${step.style}`}, step.words),
    element("p", {class: "code"}, step.spec),
    element(
      "dl", {}, fact("cycles of one run", cycles(step.cycles)), fact("of its own", cycles(step.own)),
      fact("runs", step.runs.toLocaleString("en")), fact("of the program", percent(share(step))),
    ),
    element("h3", {}, "Memory in use while it runs"),
    ...program.levels.map((level, number) => {
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
  return [
    element("h3", {}, choice.others.length ? "Taken, and the others" : "Taken; there was no other"),
    table(["rewrite", "cycles", ""], [element(
      "tr", {class: "taken"}, element("td", {class: "code"}, choice.words),
      element("td", {class: "number"}, cycles(choice.cycles)), element("td", {}, "taken"),
    ), ...body]),
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

// ---- cycles as areas

function showCycles() {
  const parts = program.steps.map((step, number) =>
    ({words: step.words, style: step.style, number, size: step.runs * step.own}));
  const label = "Cycles of each step of its own, in all its runs";
  $("cycles").replaceChildren(...areas(parts, program.cost, label, select));
}

// ---- two programs side by side

function showBoth() {
  const [left, right] = programs.map(each => each.steps);
  const same = (a, b) => a.words === b.words && a.depth === b.depth;
  const longest = Array.from({length: left.length + 1}, () => new Uint16Array(right.length + 1));
  for (let i = left.length - 1; i >= 0; --i)
    for (let j = right.length - 1; j >= 0; --j)
      longest[i][j] = same(left[i], right[j])
        ? longest[i + 1][j + 1] + 1 : Math.max(longest[i + 1][j], longest[i][j + 1]);
  const line = (which, number, differs) => {
    if (number === undefined) return element("div");
    const step = programs[which].steps[number];
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

$("tabs").addEventListener("opened", markCode);

// ---- the whole

function explore(which) {
  program = programs[which];
  folded.clear();
  chosen = 0;
  showCode();
  showCycles();
  showTree();
  for (const [number, radio] of [...$("which").querySelectorAll("input")].entries())
    radio.checked = number === which;
}

function showWhich() {
  if (programs.length < 2) return;
  $("which").setAttribute("role", "radiogroup");
  $("which").setAttribute("aria-label", "Program");
  const [first, second] = programs;
  const above = second.cost / first.cost - 1;
  const names = ["this program", `the other, ${above < 0 ? "" : "+"}${(100 * above).toFixed(1)} %`];
  $("which").hidden = $("tab-both").hidden = false;
  $("which").replaceChildren(...names.map((name, number) => element("label", {}, element("input", {
    type: "radio", name: "which", onchange: () => explore(number),
  }), ` ${name} `)));
  showBoth();
}

function showPrograms(data) {
  programs = data.programs;
  showWhich();
  explore(0);
  open("step");
}
