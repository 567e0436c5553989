"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
/** What is shown: a cell, the number of one of its executions, and how many of that one's events. */
const shown = { cell: data.cells[0], execution: 0, step: 0 };

/** An HTML element with attributes and children, which are elements or texts. */
function element(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

const brokenOf = (cell) => cell.findings.map((finding) => finding.broken);
const cellOf = (completer, waiter) =>
  data.cells.find((cell) => cell.completer === completer && cell.waiter === waiter);
const execution = () => shown.cell.executions[shown.execution];
const and = (words) => words.join(", ").replace(/, ([^,]*)$/, " and $1");

// The choice.

function drawMatrix() {
  const corner = element("td", { class: "corner" });
  const head = data.orderings.map((name) => element("th", { scope: "col" }, name));
  byId("matrix").append(element("caption", {}, "rows: the completer; columns: the waiter"));
  byId("matrix").append(element("thead", {}, element("tr", { role: "row" }, corner, ...head)));
  const rows = data.orderings.map((completer) => {
    const cells = data.orderings.map((waiter) => matrixCell(cellOf(completer, waiter)));
    return element("tr", { role: "row" }, element("th", { scope: "row" }, completer), ...cells);
  });
  byId("matrix").append(element("tbody", {}, ...rows));
  const right = data.cells.filter((cell) => cell.right).length;
  byId("count").textContent = `${right} of ${data.cells.length} are right.`;
}

function matrixCell(cell) {
  const broken = brokenOf(cell);
  const word = cell.right ? "right" : broken.length > 1 ? "both" : broken[0];
  const label = `completer ${cell.completer}, waiter ${cell.waiter}: ` +
    (cell.right ? "right" : `wrong, ${and(broken)} not published`);
  const node = element("td", { role: "gridcell", "aria-label": label, tabindex: -1 },
    cell.right ? "✓" : "✗", element("br"), word);
  node.classList.toggle("good", cell.right);
  node.addEventListener("click", () => choose(cell));
  node.addEventListener("keydown", (event) => moveInMatrix(event, cell));
  cell.node = node;
  return node;
}

function moveInMatrix(event, cell) {
  const last = data.orderings.length - 1;
  let row = data.orderings.indexOf(cell.completer);
  let column = data.orderings.indexOf(cell.waiter);
  switch (event.key) {
    case "ArrowUp": row = Math.max(0, row - 1); break;
    case "ArrowDown": row = Math.min(last, row + 1); break;
    case "ArrowLeft": column = Math.max(0, column - 1); break;
    case "ArrowRight": column = Math.min(last, column + 1); break;
    case "Home": column = 0; break;
    case "End": column = last; break;
    case "Enter": case " ": break;
    default: return;
  }
  event.preventDefault();
  const next = cellOf(data.orderings[row], data.orderings[column]);
  choose(next);
  next.node.focus();
}

/** Shows a cell, with what is wrong with it at once: its witness, to the end. */
function choose(cell) {
  const witness = cell.right ? 0 : cell.findings[0].witness;
  show(cell, witness, cell.executions[witness].timeline.length);
}

function show(cell, number, step) {
  Object.assign(shown, { cell, execution: number, step });
  byId("completer").value = cell.completer;
  byId("waiter").value = cell.waiter;
  for (const other of data.cells) {
    other.node.setAttribute("aria-selected", other === cell);
    other.node.tabIndex = other === cell ? 0 : -1;
  }
  drawVerdict();
  drawExecutions();
  drawMachines();
  drawStep();
}

function drawVerdict() {
  const { cell } = shown;
  const mark = element("span", { class: cell.right ? "mark good" : "mark bad" }, cell.right ? "✓ right" : "✗ wrong");
  byId("verdict").replaceChildren(`completer ${cell.completer}, waiter ${cell.waiter}: `, mark);
  const items = cell.findings.map((finding) => element("li", {}, `${finding.sentence}.`));
  if (cell.right) items.push(element("li", {}, "The second swap acquires what the first has released, whichever side comes first."));
  byId("sentences").replaceChildren(...items);
}

// The executions of a cell.

function titleOf(one) {
  const swaps = one.events.filter((event) => event.kind === "swap");
  const second = swaps.find((event) => event.read !== "PENDING");
  const first = swaps.find((event) => event !== second);
  const read = one.events.find((event) => event.kind === "read");
  const names = shown.cell.threads;
  return `the ${names[first.thread]} swaps first, the ${names[second.thread]} reads the ${read.location}: ${read.read}`;
}

function drawExecutions() {
  const items = shown.cell.executions.map((one, number) => {
    const input = element("input", { type: "radio", name: "execution", value: number });
    input.checked = number === shown.execution;
    input.addEventListener("change", () => {
      Object.assign(shown, { execution: number, step: one.timeline.length });
      drawStep();
    });
    const racy = one.races.length > 0;
    const mark = element("span", { class: racy ? "mark bad" : "mark good" }, racy ? " ✗ data race" : " ✓ no race");
    return element("label", {}, input, ` ${titleOf(one)}`, mark);
  });
  byId("executions").replaceChildren(element("legend", {}, `All ${items.length} executions`), ...items);
}

function go(step) {
  shown.step = Math.max(0, Math.min(execution().timeline.length, step));
  drawStep();
}

function drawStep() {
  const one = execution();
  const last = one.timeline.length;
  byId("first").disabled = byId("back").disabled = shown.step === 0;
  byId("last").disabled = byId("forward").disabled = shown.step === last;
  byId("place").textContent = `${shown.step} of ${last} events`;
  byId("now").textContent = narrate(one);
  byId("drawing").replaceChildren(drawing(one));
  remember();
}

const numberOf = (one, id) => one.timeline.indexOf(id) + 1;

/** In words: what the last event shown did, and what followed from it. */
function narrate(one) {
  if (shown.step === 0) return "Nothing has happened yet: the word is PENDING, result and waker are empty.";
  const event = one.events[one.timeline[shown.step - 1]];
  const parts = [`${shown.step}: the ${shown.cell.threads[event.thread]}: ${event.label}.`];
  const source = one.rf.find(([, to]) => to === event.id);
  if (source) {
    const number = numberOf(one, source[0]);
    parts.push(number ? `It reads from ${number}${event.stale && event.kind === "read" ? ", which is not the last write" : ""}.` :
      `It reads the first value${event.stale && event.kind === "read" ? ", though another was written" : ""}.`);
  }
  if (event.address !== null) parts.push(`Its address came from ${numberOf(one, event.address)}, so these machines keep it after that.`);
  else if (event.control.length) parts.push(ofBranch(one, event));
  for (const [from] of one.sw.filter(([, to]) => to === event.id)) {
    parts.push(`It synchronizes with ${numberOf(one, from)}: what came before ${numberOf(one, from)} is seen from here on.`);
  }
  one.races.forEach((race, place) => {
    if (isShown(one, race.write) && isShown(one, race.other)) {
      parts.push(`Data race on the ${race.location}: nothing orders ${numberOf(one, race.write)} and ${numberOf(one, race.other)}. ` +
        `${capital(one.sentences[place])}.`);
    }
  });
  if (shown.step === one.timeline.length) parts.push(one.on.length ? `This can happen on ${and(one.on).replaceAll("-", "\u2011")}.` : "This happens on none of the four machines.");
  return parts.join(" ");
}

/** What a branch before an event means for it: nothing, so that an acquire has to keep it in place. */
function ofBranch(one, event) {
  const numbers = (ids) => and(ids.map((id) => numberOf(one, id)));
  const acquires = event.control.filter((id) => one.sw.some(([, to]) => to === id));
  const runs = `It runs after a branch on what ${numbers(event.control)} got.`;
  return acquires.length ? `${runs} The acquire half of ${numbers(acquires)} keeps it there.` :
    `${runs} A branch does not keep a read in place.`;
}

const capital = (text) => text[0].toUpperCase() + text.slice(1);
const isShown = (one, id) => one.timeline.indexOf(id) < shown.step;

// The picture: a lane for each thread, time downwards.

function drawing(one) {
  const narrow = byId("drawing").clientWidth < 560;
  const size = narrow ? { width: 360, box: 132, row: 94 } : { width: 720, box: 210, row: 94 };
  const lanes = [size.box / 2 + 6, size.width - size.box / 2 - 6];
  const box = (id) => ({ x: lanes[one.events[id].thread], y: 58 + (numberOf(one, id) - 1) * size.row });
  const height = 58 + one.timeline.length * size.row;
  const picture = svg("svg", { viewBox: `0 0 ${size.width} ${height}`, role: "img", "aria-label": describe(one) });
  lanes.forEach((x, thread) => picture.append(
    svg("text", { class: "name", x, y: 18 }, shown.cell.threads[thread]),
    svg("line", { class: "lane", x1: x, x2: x, y1: 30, y2: height - 8 })));
  const edge = (kind, from, to, shift, label) => picture.append(arrow(kind, box(from), box(to), size, shift, label));
  const both = ([from, to]) => isShown(one, from) && isShown(one, to) && from >= 3 && one.events[from].thread !== one.events[to].thread;
  for (const race of one.races) if (both([race.write, race.other])) edge("race", race.write, race.other, 0, "race");
  for (const pair of one.rf.filter(both)) edge("rf", ...pair, -10, "rf");
  for (const pair of one.sw.filter(both)) edge("sw", ...pair, 14, "sw");
  const missing = one.races.flatMap((race) => race.missing).filter(({ from, to }) => both([from, to]));
  for (const { from, to, lacks } of missing) edge("missing", from, to, 16, narrow ? "✗ missing" : `✗ missing: no ${lacks.join(", no ")}`);
  const racy = one.races.map((race) => [race.write, race.other]).filter(both).flat();
  for (const id of one.timeline) picture.append(eventBox(one, id, box(id), size, racy));
  return picture;
}

function eventBox(one, id, { x, y }, size, racy) {
  const event = one.events[id];
  const left = x - size.box / 2;
  const value = event.kind === "swap" ? `${event.read} → ${event.written}` : event.read ?? event.written;
  const source = one.rf.find(([, to]) => to === id);
  const from = source && (numberOf(one, source[0]) ? `← from ${numberOf(one, source[0])}` : "← the first value");
  const needs = event.address !== null ? `address from ${numberOf(one, event.address)}` :
    event.control.length ? `branch on ${and(event.control.map((other) => numberOf(one, other)))}` : null;
  const lines = [`${numberOf(one, id)} ${event.kind} ${event.location}`, value, event.ordering, from, needs].filter(Boolean);
  const top = y - 2;
  const group = svg("g", {}, svg("rect", { class: "event", x: left, y: top, width: size.box, height: 12 + lines.length * 15, rx: 6 }));
  lines.forEach((line, place) => group.append(svg("text",
    { x: left + 9, y: top + 18 + place * 15, class: line === from || line === needs ? "soft" : "" }, line)));
  if (!isShown(one, id)) group.classList.add("later");
  if (racy.includes(id)) group.classList.add("racy");
  if (numberOf(one, id) === shown.step) group.classList.add("current");
  return group;
}

/** An edge from the side of one box to the facing side of another, with its name beside it. */
function arrow(kind, from, to, size, shift, label) {
  const sign = to.x > from.x ? 1 : -1;
  const start = { x: from.x + sign * size.box / 2, y: from.y + 28 + shift };
  const end = { x: to.x - sign * size.box / 2, y: to.y + 28 + shift };
  const tone = { sw: " good", missing: " bad", race: " bad" }[kind] || "";
  const name = (x, y, anchor) => svg("text", { class: `tag${tone}`, x, y, "text-anchor": anchor }, label);
  const group = svg("g", { class: `edge ${kind}-edge` });
  if (kind === "race") {
    // Down first and then across, below the edges between the exchanges.
    const across = (part) => start.x + (end.x - start.x) * part;
    const bend = `C${across(0.14)} ${start.y} ${across(0.06)} ${end.y} ${across(0.5)} ${end.y}`;
    group.append(svg("path", { class: kind, d: `M${start.x} ${start.y}${bend}L${end.x} ${end.y}` }), name(across(0.55), end.y - 7, "middle"));
    return group;
  }
  const length = Math.hypot(end.x - start.x, end.y - start.y);
  const [dx, dy] = [(end.x - start.x) / length, (end.y - start.y) / length];
  const neck = { x: end.x - dx * 11, y: end.y - dy * 11 };
  const head = `M${end.x} ${end.y}L${neck.x - dy * 6} ${neck.y + dx * 6}L${neck.x + dy * 6} ${neck.y - dx * 6}Z`;
  // Names stand on the free side of their edge: that of reads-from above it, the others below.
  const [part, side, below] = kind === "rf" ? [0.5, sign, -5] : [0.6, -sign, 15];
  group.append(
    svg("path", { class: kind, d: `M${start.x} ${start.y}L${neck.x} ${neck.y}` }),
    svg("path", { class: `${kind} head`, d: head }),
    name(start.x + (end.x - start.x) * part + side * 6, start.y + (end.y - start.y) * part + below, side > 0 ? "start" : "end"));
  return group;
}

function describe(one) {
  const steps = one.timeline.slice(0, shown.step).map((id, place) => `${place + 1}, ${shown.cell.threads[one.events[id].thread]}: ${one.events[id].label}`);
  return `Execution: ${titleOf(one)}. ${steps.join("; ")}. ${one.sentences.join(". ")}`;
}

// The machines.

function drawMachines() {
  const { cell } = shown;
  const says = (broken, right) => broken.length ?
    element("span", { class: "bad" }, `✗ ${and(broken)} not published`) : element("span", { class: "good" }, `✓ ${right}`);
  const row = (name, exchanges, verdict) => element("tr", {}, element("th", { scope: "row" }, name),
    ...exchanges.map((text) => element("td", {}, element("code", {}, text))), element("td", {}, verdict));
  const heads = ["", "the completer's exchange", "the waiter's exchange", "verdict"];
  const language = row("the language (RC11)", [cell.completer, cell.waiter], says(brokenOf(cell), "right"));
  const machines = cell.machines.map(({ name, exchanges, broken }) => row(name, exchanges, says(broken, "runs right")));
  byId("machines").replaceChildren(
    element("thead", {}, element("tr", {}, ...heads.map((head) => element("th", { scope: "col" }, head)))),
    element("tbody", {}, language, ...machines));
  byId("hidden").textContent = hidden(cell);
}

function hidden(cell) {
  const lines = brokenOf(cell).map((broken) => {
    const hiding = cell.machines.filter((machine) => !machine.broken.includes(broken)).map((machine) => machine.name);
    return hiding.length ? `The missing edge for the ${broken} does not show on ${and(hiding)}.` : "";
  }).filter(Boolean);
  if (lines.length) lines.push("The hardware hides the mistake, but it is still one: the compiler may make use of it.");
  return lines.join(" ");
}

// The address of what is shown, to come back to.

function remember() {
  const { cell } = shown;
  const hash = `#${cell.completer},${cell.waiter},${shown.execution},${shown.step}`;
  if (!testing) history.replaceState(null, "", hash);
}

function recall() {
  const [completer, waiter, number, step] = location.hash.slice(1).split(",");
  const cell = cellOf(completer, waiter) || cellOf("acq_rel", "release");
  const one = cell.executions[number];
  if (one && step <= one.timeline.length) show(cell, Number(number), Number(step));
  else choose(cell);
}

function fillChoices() {
  for (const side of ["completer", "waiter"]) {
    const select = byId(side);
    select.append(...data.orderings.map((name) => element("option", { value: name }, name)));
    select.addEventListener("change", () => choose(cellOf(byId("completer").value, byId("waiter").value)));
  }
}

function listen() {
  const steps = { first: () => 0, back: () => shown.step - 1, forward: () => shown.step + 1, last: () => Infinity };
  for (const [id, step] of Object.entries(steps)) byId(id).addEventListener("click", () => go(step()));
  byId("figure").addEventListener("keydown", (event) => {
    const id = { Home: "first", ArrowLeft: "back", ArrowRight: "forward", End: "last" }[event.key];
    if (!id) return;
    event.preventDefault();
    go(steps[id]());
  });
  window.addEventListener("resize", drawStep);
  window.addEventListener("hashchange", recall);
}

// The test that `cargo xtask lab page --test` runs in a browser: it uses the page as a reader would, and writes down what it saw.

const testing = location.hash === "#selftest";

function selftest() {
  const errors = [];
  const check = (holds, what) => { if (!holds) errors.push(what); };
  const press = (node, key) => node.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  const cells = data.cells.map((cell) => testCell(cell, check, press));
  data.cells[0].node.click();
  press(byId("matrix").querySelector("[tabindex='0']"), "ArrowDown");
  press(document.activeElement, "ArrowRight");
  check(shown.cell === data.cells[6] && document.activeElement === shown.cell.node, "the arrow keys move through the matrix");
  press(document.activeElement, "End");
  check(shown.cell === data.cells[9], "End goes to the end of the row");
  check(document.documentElement.scrollWidth <= window.innerWidth, "nothing is wider than the window");
  document.body.append(element("pre", { id: "selftest" }, JSON.stringify({ errors, cells })));
}

function testCell(cell, check, press) {
  const name = `${cell.completer}, ${cell.waiter}`;
  cell.node.click();
  const verdict = byId("verdict").textContent;
  const right = verdict.includes("right");
  check(verdict.startsWith(`completer ${cell.completer}, waiter ${cell.waiter}: `), `${name}: the heading names the cell`);
  check(right === (byId("drawing").querySelectorAll(".missing-edge").length === 0), `${name}: one click shows the missing edge`);
  const sentences = [...byId("sentences").children].map((item) => item.textContent);
  for (const input of byId("executions").querySelectorAll("input")) testSteps(name, input, check, press);
  for (const side of ["completer", "waiter"]) {
    byId(side).value = cell[side];
    byId(side).dispatchEvent(new Event("change"));
  }
  check(shown.cell === cell, `${name}: the lists choose the cell`);
  const broken = ["result", "waker"].filter((what) => sentences.some((text) => text.startsWith(`the ${what} is not published`)));
  const shows = [...byId("machines").querySelectorAll("tbody tr")].map((row) => row.lastChild.textContent);
  const machines = cell.machines.map((machine) => machine.broken);
  [brokenOf(cell), ...machines].forEach((list, row) => check(shows[row].startsWith("✓") === (list.length === 0) &&
    list.every((what) => shows[row].includes(what)), `${name}: row ${row} of the machines`));
  return { completer: cell.completer, waiter: cell.waiter, right, broken, in_matrix: cell.node.getAttribute("aria-label"), sentences, shows };
}

/** There and back through one execution, with the buttons and with the keys. */
function testSteps(name, input, check, press) {
  input.click();
  const drawn = () => byId("drawing").querySelectorAll("g:not(.edge):not(.later)").length;
  const last = execution().timeline.length;
  check(drawn() === last && last === 5, `${name}: all events are drawn`);
  press(byId("figure"), "Home");
  for (let step = 0; step < last; step++) {
    check(drawn() === step, `${name}: ${step} events are drawn`);
    byId("forward").click();
  }
  check(byId("forward").disabled && drawn() === last, `${name}: forward ends at the end`);
  const racy = execution().races.length;
  check(byId("drawing").querySelectorAll(".missing-edge").length === racy, `${name}: a missing edge for each race`);
  check(byId("now").textContent.includes("would have made") === racy > 0, `${name}: the step says which half was missing`);
  check(racy > 0 || !byId("now").textContent.includes("does not keep"), `${name}: no warning where there is no race`);
  for (let step = last; step > 0; step--) press(byId("figure"), "ArrowLeft");
  check(byId("back").disabled && drawn() === 0, `${name}: back ends at the start`);
}

fillChoices();
drawMatrix();
listen();
recall();
if (testing) selftest();
