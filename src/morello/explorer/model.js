// A program of many kernels: the `order` of these and of what is `left` to the `framework`, the
// `kernels`, and the `cuts` between them. The program of each is inflated when it is opened.
let model, current = 0;

const timed = () => model.kernels.every(kernel => kernel.measured !== null);
const taken = kernel => kernel.measured ?? kernel.seconds;
const whole = () => model.kernels.reduce((sum, kernel) => sum + taken(kernel), 0);

// ---- the kernels in order

function showKernels() {
  const all = whole();
  $("kernels").replaceChildren(...model.order.map(([kind, number]) =>
    kind === "left" ? leftRow(...model.left[number]) : kernelRow(number, all)));
}

function leftRow(what, why) {
  const words = element("div", {class: "words hole"}, `${model.framework}: ${what}`);
  return element("li", {class: "plain", role: "presentation", title: why}, words);
}

function kernelRow(number, all) {
  const kernel = model.kernels[number], part = taken(kernel) / all;
  const words = element("div", {class: `words ${kernel.style}`}, `${number + 1}  ${kernel.words}`);
  const line = element(
    "div", {class: "row", title: kernel.words}, words,
    element("span", {class: "number"}, seconds(taken(kernel))), bar(part, percent(part)),
  );
  line.addEventListener("click", () => choose(number, true));
  return element("li", {id: `kernel-${number}`, role: "option", tabindex: -1}, line);
}

function choose(number, focus = false) {
  const before = $(`kernel-${current}`), item = $(`kernel-${number}`);
  before.tabIndex = -1;
  before.setAttribute("aria-selected", false);
  current = number;
  item.tabIndex = 0;
  item.setAttribute("aria-selected", true);
  if (focus) item.focus();
  showKernel();
  mark($("areas"), number);
}

$("kernels").addEventListener("keydown", event => {
  const last = model.kernels.length - 1;
  const moves = {
    ArrowDown: () => choose(Math.min(current + 1, last), true),
    ArrowUp: () => choose(Math.max(current - 1, 0), true),
    Home: () => choose(0, true),
    End: () => choose(last, true),
    Enter: openProgram,
  };
  if (moves[event.key]) { event.preventDefault(); moves[event.key](); }
});

// ---- what is known of a kernel

function showKernel() {
  const kernel = model.kernels[current], bound = kernel.bound;
  const facts = [fact("predicted", seconds(kernel.seconds))];
  if (kernel.measured !== null) facts.push(fact("measured", seconds(kernel.measured)));
  if (bound) {
    const reached = percent(bound.seconds / taken(kernel));
    facts.push(fact("bound", `${seconds(bound.seconds)} by ${bound.by}, ${reached} of it`));
  }
  facts.push(
    fact("of the program", percent(taken(kernel) / whole())), fact("call", kernel.call + 1),
    fact("threads", kernel.threads), fact("cost", `${cycles(kernel.cycles)} cycles`),
  );
  if (kernel.gap !== null) {
    const gap = kernel.gap ? `within ${percent(kernel.gap)}` : "yes";
    facts.push(fact("proven cheapest", gap));
  }
  $("kernel").replaceChildren(
    element("h2", {class: `code ${kernel.style}`}, kernel.words), element("dl", {}, ...facts),
    element("p", {}, element("button", {id: "open", onclick: openProgram}, "Its loop nest and C")),
    ...kernel.command ? [
      element("p", {}, "What each of its steps might have been: ", element("code", {}, kernel.command)),
    ] : [],
    ...kernel.operators.length ? [
      element("h3", {}, "Operators of the graph that it computes"),
      element("p", {class: "code"}, kernel.operators.join(" · ")),
    ] : [],
    element("h3", {}, "What it reads and writes"),
    table(["array", "layout", "bytes", "from, to"], kernel.arrays.map(arrayRow)),
    ...kernel.weighed.length ? [
      element("h3", {}, "What was compiled in its place"),
      table(["as one", "cycles", ""], kernel.weighed.map(fusionRow)),
    ] : [],
  );
}

function arrayRow(array) {
  const ends = element("td", {}, array.output ? "to " : "from ", ...links(array.kernels));
  if (array.who) ends.append(array.kernels.length ? ", " : "", array.who);
  return element(
    "tr", {}, element("td", {class: "code"}, `${array.name}: ${array.type}`),
    element("td", {class: "code"}, array.layout), element("td", {class: "number"}, bytes(array.bytes)),
    ends,
  );
}

function fusionRow(fusion) {
  const cost = fusion.cycles === null ? "" : (fusion.exact ? "" : "≥ ") + cycles(fusion.cycles);
  return element(
    "tr", {class: fusion.taken && "taken"},
    element("td", {}, fusion.words), element("td", {class: "number"}, cost),
    element("td", {}, fusion.reason),
  );
}

const links = numbers => numbers.flatMap((number, place) => [
  place ? ", " : "",
  element("button", {class: "link", onclick: () => { open("kernel"); choose(number); }}, number + 1),
]);

// ---- areas, cuts, and what is left

function showAreas() {
  const parts = model.kernels.map((kernel, number) =>
    ({words: `${number + 1}  ${kernel.words}`, style: kernel.style, number, size: taken(kernel)}));
  const label = `${timed() ? "Measured" : "Predicted"} time of each kernel`;
  $("areas").replaceChildren(...areas(parts, whole(), label, choose));
}

function showCuts() {
  const total = model.cuts.reduce((sum, cut) => sum + cut.bytes, 0);
  const rows = model.cuts.map(cut => {
    const ends = element("td", {}, ...links(cut.writers), " → ", ...links(cut.readers));
    if (cut.outside) ends.append(cut.readers.length ? ", " : "", cut.outside);
    return element(
      "tr", {}, ends, element("td", {class: "code"}, cut.type),
      element("td", {class: "number"}, bytes(cut.bytes)), element("td", {}, cut.fusion.reason),
    );
  });
  $("cuts").replaceChildren(
    element("h2", {}, `Results that kernels store: ${bytes(total)} in all`),
    table(["kernels", "result", "bytes", "both in one"], rows),
    ...model.cuts.some(cut => !cut.fusion.exact && cut.fusion.cycles !== null) ? [element(
      "p", {}, "Costs of kernels that were not tried are estimates of what they might save at most. ",
      "With fuse_seconds, or --fuse-seconds, those that promise most are compiled.",
    )] : [],
  );
}

function showLeft() {
  const counts = new Map();
  for (const [what, why] of model.left) {
    const key = `${what}\n${why}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const rows = [...counts].map(([key, count]) => element(
    "tr", {}, ...[count, ...key.split("\n")].map(text => element("td", {}, text)),
  ));
  const title = rows.length ? `Left to ${model.framework}` : `Nothing is left to ${model.framework}`;
  $("left").replaceChildren(
    element("h2", {}, title), ...rows.length ? [table(["times", "what", "why"], rows)] : [],
  );
}

// ---- the program of a kernel

async function openProgram() {
  const kernel = model.kernels[current];
  const opened = await inflated(`program-${kernel.program}`);
  $("which").hidden = false;
  $("which").replaceChildren(
    element("button", {id: "back", onclick: closeProgram}, "Back to all kernels"),
    ` Kernel ${current + 1}`,
  );
  $("model").hidden = true;
  $("view").hidden = false;
  showPrograms({programs: [opened]});
  select(0, true);
}

function closeProgram() {
  $("view").hidden = true;
  $("model").hidden = false;
  $(`kernel-${current}`).focus();
}

$("tree").addEventListener("keydown", event => {
  if (event.key === "Escape") closeProgram();
});

function showModel(data) {
  model = data;
  $("view").hidden = true;
  showKernels();
  showAreas();
  showCuts();
  showLeft();
  if (model.kernels.length) choose(0);
  open(model.kernels.length ? "kernel" : "left");
}
