"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
/** What is shown: a cell or the report on a program, the number of one of its executions, and how many of that one's events. */
const shown = { subject: data.cells[0], execution: 0, step: 0 };

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

/** The texts and elements of a sentence with `code` in it. */
const withCode = (text) => text.split("`").map((part, place) => place % 2 ? element("code", {}, part) : part);
const brokenOf = (cell) => cell.findings.map((finding) => finding.broken);
const cellOf = (completer, waiter) =>
  data.cells.find((cell) => cell.completer === completer && cell.waiter === waiter);
const execution = () => shown.subject.executions[shown.execution];
const isProgram = () => "outcomes" in shown.subject;
const and = (words) => words.join(", ").replace(/, ([^,]*)$/, " and $1");
const counted = (number, word) => `${number} ${word}${number === 1 ? "" : "s"}`;
const capital = (text) => text[0].toUpperCase() + text.slice(1);

// The choice of a cell.

function drawMatrix() {
  const corner = element("td", { class: "corner" });
  const head = data.orderings.map((name) => element("th", { scope: "col" }, name));
  const right = data.cells.filter((cell) => cell.right).length;
  byId("matrix").append(element("caption", {}, `Rows: the completer. Columns: the waiter. ✗: what is not published. ${right} of ${data.cells.length} are right.`));
  byId("matrix").append(element("thead", {}, element("tr", { role: "row" }, corner, ...head)));
  const rows = data.orderings.map((completer) => {
    const cells = data.orderings.map((waiter) => matrixCell(cellOf(completer, waiter)));
    return element("tr", { role: "row" }, element("th", { scope: "row" }, completer), ...cells);
  });
  byId("matrix").append(element("tbody", {}, ...rows));
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
  show(cell, cell.right ? 0 : cell.findings[0].witness);
  if (byId("verdict").getBoundingClientRect().bottom > innerHeight) byId("verdict").scrollIntoView({ block: "nearest" });
}

/** Shows an execution, to the end or to a step. */
function show(subject, number, step = subject.executions[number].timeline.length) {
  const isNew = subject !== shown.subject || !byId("verdict").textContent;
  Object.assign(shown, { subject, execution: number, step });
  for (const id of ["program-part", "language-part"]) byId(id).hidden = !isProgram();
  for (const id of ["completion-part", "machines-part"]) byId(id).hidden = isProgram();
  const [here, other] = isProgram() ? ["to-program", "to-completion"] : ["to-completion", "to-program"];
  byId(here).setAttribute("aria-current", "page");
  byId(other).removeAttribute("aria-current");
  for (const cell of data.cells) {
    cell.node.setAttribute("aria-selected", cell === subject);
    cell.node.tabIndex = cell === (isProgram() ? data.cells[0] : subject) ? 0 : -1;
  }
  // A button among the sentences keeps the keyboard's place.
  if (isNew) drawVerdict();
  if (isProgram()) drawOutcomes();
  else {
    drawExecutions();
    drawMachines();
  }
  drawStep();
}

function drawVerdict() {
  const { subject } = shown;
  const mark = (text) => element("span", { class: subject.right ? "mark good" : "mark bad" }, text);
  const word = subject.right ? "✓ right" : "✗ wrong";
  byId("verdict").replaceChildren(...isProgram() ? verdictOfProgram(mark, word) :
    [mark(word), `: completer ${subject.completer}, waiter ${subject.waiter}`]);
  const items = subject.findings.map((finding) => element("li", {}, ...withCode(`${capital(finding.sentence)}. `), ...showing(finding)));
  if (subject.right && !isProgram()) items.push(element("li", {}, "The second swap acquires what the first has released, whichever side comes first."));
  if (subject.complete === false) items.push(element("li", {}, "Load buffering was left out: this program has too many graphs with it."));
  byId("sentences").replaceChildren(...items);
  const links = lessons().map(({ file, lesson }) => element("a", { href: `lessons/${file}` }, lesson));
  byId("lessons").replaceChildren(...links.flatMap((link) => [link, element("br")]));
}

function verdictOfProgram(mark, word) {
  const { right, count } = shown.subject;
  if (!right) return [mark(word), `, ${counted(count, "execution")}`];
  const asked = /^\s*never\b/m.test(byId("text").value);
  return [mark(asked ? word : "✓ no data race"), ` in ${counted(count, "execution")}`];
}

/** A button for the execution that shows a finding, if there are several. */
function showing(finding) {
  if (shown.subject.findings.length < 2) return [];
  const button = element("button", { type: "button" }, "show");
  button.addEventListener("click", () => show(shown.subject, finding.witness ?? finding.execution));
  return [button];
}

/** The lessons about what is shown. */
function lessons() {
  const about = (file) => data.examples.find((example) => example.file === file);
  if (isProgram()) return data.examples.filter((example) => example.id === byId("example").value);
  const { completer, waiter } = shown.subject;
  const files = ["05-the-halves.md", ...[completer, waiter].includes("seq_cst") ? ["06-why-not-seq-cst.md"] : []];
  return files.map(about);
}

// The executions of a cell, and the outcomes of a program.

function titleOf(one) {
  const swaps = one.events.filter((event) => event.kind === "swap");
  const second = swaps.find((event) => event.read !== "PENDING");
  const first = swaps.find((event) => event !== second);
  const read = one.events.find((event) => event.kind === "read");
  const names = shown.subject.threads;
  return `the ${names[first.thread]} swaps first, the ${names[second.thread]} reads the ${read.location}: ${read.read}`;
}

function choice(value, isChosen, label, pick) {
  const input = element("input", { type: "radio", name: "execution", value });
  if (label) input.setAttribute("aria-label", label);
  input.checked = isChosen;
  input.addEventListener("change", pick);
  return input;
}

function drawExecutions() {
  const items = shown.subject.executions.map((one, number) => {
    const input = choice(number, number === shown.execution, "", () => show(shown.subject, number));
    const racy = one.races.length > 0;
    const mark = element("span", { class: racy ? "mark bad" : "mark good" }, racy ? " ✗ data race" : " ✓ no race");
    return element("label", {}, input, ` ${titleOf(one)}`, mark);
  });
  fillExecutions(`All ${items.length} executions`, items);
}

/** Keeps the keyboard's place in the list. */
function fillExecutions(title, items) {
  const had = byId("executions").contains(document.activeElement);
  byId("executions").replaceChildren(element("legend", {}, title), ...items);
  if (had) byId("executions").querySelector(":checked")?.focus();
}

const outcomeOf = (subject, number) => subject.outcomes.findIndex((outcome) => outcome.executions.includes(number));

function drawOutcomes() {
  const { subject } = shown;
  const chosen = outcomeOf(subject, shown.execution);
  const rows = subject.outcomes.map((outcome, place) => {
    const values = outcome.values.map((value) => value ?? "–");
    const marks = marksOf(outcome);
    const label = [...values.map((value, column) => `${subject.columns[column]} = ${value}`),
      counted(outcome.count, "execution"), ...marks.map(([, text]) => text)].join(", ");
    const pick = () => show(subject, outcome.executions[0]);
    const input = choice(outcome.executions[0], place === chosen, label, pick);
    const cells = [input, ...values].map((inside) => element("td", {}, inside));
    const texts = marks.flatMap(([tone, text]) => [element("span", { class: tone }, text), " "]);
    if (outcome.count > 1) texts.push(element("span", { class: "note" }, counted(outcome.count, "execution")));
    const row = element("tr", {}, ...cells, element("td", { class: "marks" }, ...texts));
    row.addEventListener("click", (event) => { if (event.target !== input) pick(); });
    return row;
  });
  const heads = ["", ...subject.columns, ""].map((head) => element("th", { title: head }, cut(head, 10)));
  const table = element("table", {}, element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...rows));
  const more = subject.more ? [element("p", { class: "note" }, `and ${subject.more} more`)] : [];
  const list = element("div", { class: "scroll" }, table);
  fillExecutions(`All ${counted(rows.length + subject.more, "result")}`, [list, ...more]);
  list.scrollTop = rows[chosen].offsetTop - list.clientHeight / 2;
}

function marksOf(outcome) {
  const marks = [];
  if (outcome.racy) marks.push(["mark bad", "✗ race"]);
  if (outcome.bad) marks.push(["mark bad", "✗ never"]);
  if (outcome.weak) marks.push(["weak", outcome.buffered ? "load buffering" : "weak"]);
  return marks;
}

/** The list of the executions with the same values. */
function drawWhich() {
  const numbers = isProgram() ? shown.subject.outcomes[outcomeOf(shown.subject, shown.execution)].executions : [];
  byId("which-part").hidden = numbers.length < 2;
  const options = numbers.map((number, place) => element("option", { value: number }, `${place + 1} of ${numbers.length}`));
  byId("which").replaceChildren(...options);
  byId("which").value = shown.execution;
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
  byId("place").textContent = `${shown.step} of ${counted(last, "event")}`;
  byId("now").textContent = narrate(one);
  byId("drawing").replaceChildren(drawing(one));
  drawWhich();
  drawGutter();
  remember();
}

const numberOf = (one, id) => one.timeline.indexOf(id) + 1;
const isShown = (one, id) => one.timeline.indexOf(id) < shown.step;
const isFirst = (one, id) => one.events[id].thread === null;
const kindOf = (event) => ({ fetchadd: "fetch_add", fetchsub: "fetch_sub", compareexchange: "compare_exchange", failedexchange: "compare_exchange" })[event.kind] ?? event.kind;
/** The line of an event in the text of the program. */
const lineOf = (event) => shown.subject.lines[event.thread][event.step];
const whoOf = (event) => isProgram() ? `${shown.subject.threads[event.thread]}, line ${lineOf(event)}` : `the ${shown.subject.threads[event.thread]}`;

/** In words: what the last event shown did, and what followed from it. */
function narrate(one) {
  if (shown.step === 0) {
    const first = one.events.filter((event) => event.thread === null);
    return `Nothing has happened yet: ${first.map((event) => `${event.location} is ${event.written}`).join(", ")}.`;
  }
  const event = one.events[one.timeline[shown.step - 1]];
  const parts = [`${shown.step}: ${whoOf(event)}: ${event.label}.`];
  const source = one.rf.find(([, to]) => to === event.id);
  if (source) {
    const number = numberOf(one, source[0]);
    const stale = event.stale && !/swap|add|compare/.test(event.kind);
    parts.push(number ? `It reads from ${number}${stale ? ", which is not the last write" : ""}.` :
      `It reads the first value${stale ? ", though another is written" : ""}.`);
  }
  if (event.address !== null) parts.push(`Its address came from ${numberOf(one, event.address)}, so every machine but Alpha keeps it after that.`);
  else if (event.control.length) parts.push(ofBranch(one, event));
  for (const [from] of one.sw.filter(([, to]) => to === event.id)) {
    parts.push(`It synchronizes with ${numberOf(one, from)}: what came before ${numberOf(one, from)} is seen from here on.`);
  }
  for (const race of one.races) {
    if (isShown(one, race.write) && isShown(one, race.other)) {
      parts.push(`Data race on ${race.location}: nothing orders ${numberOf(one, race.write)} and ${numberOf(one, race.other)}.`);
    }
  }
  if (shown.step === one.timeline.length) parts.push(...ofEnd(one));
  return parts.join(" ");
}

function ofEnd(one) {
  const weak = isProgram() && !one.interleaving ? ["No order of the operations explains all of it."] : [];
  return [...weak, one.on.length ? `This can happen on ${and(one.on).replaceAll("-", "\u2011")}.` : "None of the five machines shows it, but a compiler may."];
}

/** What a branch before an event means for it: nothing, so that an acquire has to keep it in place. */
function ofBranch(one, event) {
  const numbers = (ids) => and(ids.map((id) => numberOf(one, id)));
  const acquire = (other) => ["acquire", "acq_rel", "seq_cst"].includes(other.ordering);
  const fence = one.events.slice(0, event.id).findLast((other) => other.thread === event.thread && other.kind === "fence" && acquire(other));
  const acquires = event.control.filter((id) => acquire(one.events[id])).concat(fence ? [fence.id] : []);
  const runs = `It runs after a branch on what ${numbers(event.control)} got.`;
  if (acquires.length) return `${runs} The acquire half of ${numbers(acquires)} keeps it there.`;
  return event.written === null ? `${runs} A branch does not keep a read in place.` : runs;
}

// The picture: a lane for each thread, time downwards.

function drawing(one) {
  const { threads } = shown.subject;
  const width = Math.max(280, byId("drawing").clientWidth);
  const gap = threads.length > 2 ? Math.max(20, width / threads.length / 2.6) : width < 420 ? 64 : 130;
  const box = Math.min(230, (width - 4 - gap * (threads.length - 1)) / threads.length);
  const size = { width, box, narrow: box < 130 };
  const step = threads.length > 1 ? (width - box - 4) / (threads.length - 1) : 0;
  const lanes = threads.map((_, thread) => box / 2 + 2 + thread * step);
  const texts = one.timeline.map((id) => linesOf(one, id, (box - 14) / (size.narrow ? 6.1 : 7.6)));
  const tops = [30];
  for (const lines of texts) tops.push(tops[tops.length - 1] + lines.length * 15 + 22);
  const height = tops[tops.length - 1];
  const place = (id) => ({ x: lanes[one.events[id].thread], y: tops[numberOf(one, id) - 1] });
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": describe(one), class: size.narrow ? "narrow" : "" });
  lanes.forEach((x, thread) => picture.append(
    svg("text", { class: "name", x, y: 16 }, cut(threads[thread], Math.floor(box / 8.4))),
    svg("line", { class: "lane", x1: x, x2: x, y1: 24, y2: height - 4 })));
  const edge = (kind, from, to, shift, label) => picture.append(arrow(kind, place(from), place(to), size, shift, label));
  const across = ([from, to]) => !isFirst(one, from) && one.events[from].thread !== one.events[to].thread;
  const both = (pair) => across(pair) && pair.every((id) => isShown(one, id));
  for (const race of one.races) if (both([race.write, race.other])) edge("race", race.write, race.other, 0, "race");
  for (const [kind, pairs] of isWeak(one) ? [["mo", one.mo], ["fr", nextWrites(one)]] : []) {
    for (const pair of pairs.filter(both)) edge(kind, ...pair, kind === "fr" ? 4 : 10, kind);
  }
  for (const pair of one.rf.filter(both)) edge("rf", ...pair, -10, "");
  for (const pair of one.sw.filter(both)) edge("sw", ...pair, 10, "sw");
  const missing = one.races.flatMap((race) => race.missing).filter(({ from, to }) => both([from, to]));
  for (const { from, to, lacks } of missing) edge("missing", from, to, 12, gap < 130 ? "✗" : `✗ no ${lacks.join(", no ")}`);
  const racy = one.races.map((race) => [race.write, race.other]).filter(both).flat();
  one.timeline.forEach((id, number) => picture.append(eventBox(one, id, texts[number], place(id), size, racy)));
  for (const item of document.querySelectorAll(".legend li")) item.hidden = !picture.querySelector(`.${item.dataset.kind}-edge`);
  return picture;
}

/** Whether only further edges tell why this is possible: a race tells enough. */
const isWeak = (one) => isProgram() && !one.interleaving && one.races.length === 0;

/** From each read to the write that follows the one that it has read. */
function nextWrites(one) {
  const next = (id) => one.mo.filter(([from]) => from === id).map(([, to]) => to);
  return one.rf.flatMap(([write, read]) => next(write).filter((to) => to !== read).map((to) => [read, to]));
}

const cut = (text, length) => text.length > length ? `${text.slice(0, Math.max(1, length - 1))}…` : text;

/** The lines of an event's box, each with whether it is a note. */
function linesOf(one, id, length) {
  const event = one.events[id];
  const value = event.read !== null && event.written !== null ? `${event.read} → ${event.written}` : event.read ?? event.written;
  const source = one.rf.find(([, to]) => to === id);
  const from = source && (numberOf(one, source[0]) ? `← from ${numberOf(one, source[0])}` : "← first");
  const needs = event.address !== null ? `address from ${numberOf(one, event.address)}` :
    event.control.length ? `branch on ${and(event.control.map((other) => numberOf(one, other)))}` : null;
  const given = (words) => words.filter((word) => word !== null && word !== undefined && word !== "");
  const wrap = (words, soft, separator) => given(words).join(separator).split(" ").filter(Boolean).reduce((lines, word) => {
    const last = lines[lines.length - 1];
    // Notes are written smaller.
    const room = Math.floor(soft ? length * 1.08 : length);
    if (last && last.text.length + 1 + word.length <= room) last.text += ` ${word}`;
    else lines.push({ text: cut(word, room), soft });
    return lines;
  }, []);
  const note = (text) => text?.replaceAll(" ", "\u00a0");
  return [...wrap([numberOf(one, id), kindOf(event), event.location], false, " "), ...wrap([value, event.ordering], false, ", "),
    ...wrap([isProgram() ? note(`line ${lineOf(event)}`) : null, note(from), note(needs)], true, ", ")];
}

function eventBox(one, id, lines, { x, y }, size, racy) {
  const group = svg("g", {}, svg("rect", { class: "event", x: x - size.box / 2, y, width: size.box, height: lines.length * 15 + 9, rx: 6 }));
  lines.forEach(({ text, soft }, place) => group.append(svg("text",
    { x: x - size.box / 2 + 7, y: y + 16 + place * 15, class: soft ? "soft" : "" }, text)));
  if (!isShown(one, id)) group.classList.add("later");
  if (racy.includes(id)) group.classList.add("racy");
  if (numberOf(one, id) === shown.step) group.classList.add("current");
  return group;
}

/** An edge from the side of one box to the facing side of another, with its name beside it. */
function arrow(kind, from, to, size, shift, label) {
  const sign = to.x > from.x ? 1 : -1;
  const start = { x: from.x + sign * size.box / 2, y: from.y + 24 + shift };
  const end = { x: to.x - sign * size.box / 2, y: to.y + 24 + shift };
  const tone = { sw: " good", missing: " bad", race: " bad", fr: " weak", mo: " weak" }[kind] || "";
  const name = (x, y, anchor) => svg("text", { class: `tag${tone}`, x, y, "text-anchor": anchor }, label);
  const group = svg("g", { class: `edge ${kind}-edge` });
  if (kind === "race") {
    // Down first and then across, below the edges between the exchanges.
    const across = (part) => start.x + (end.x - start.x) * part;
    const bend = `C${across(0.14)} ${start.y} ${across(0.06)} ${end.y} ${across(0.5)} ${end.y}`;
    group.append(svg("path", { class: kind, d: `M${start.x} ${start.y}${bend}L${end.x} ${end.y}` }), name(across(0.55), end.y - 6, "middle"));
    return group;
  }
  const length = Math.hypot(end.x - start.x, end.y - start.y);
  const [dx, dy] = [(end.x - start.x) / length, (end.y - start.y) / length];
  const neck = { x: end.x - dx * 11, y: end.y - dy * 11 };
  const head = `M${end.x} ${end.y}L${neck.x - dy * 6} ${neck.y + dx * 6}L${neck.x + dy * 6} ${neck.y - dx * 6}Z`;
  const part = kind === "missing" ? 0.55 : 0.3;
  group.append(
    svg("path", { class: kind, d: `M${start.x} ${start.y}L${neck.x} ${neck.y}` }),
    svg("path", { class: `${kind} head`, d: head }),
    name(start.x + (end.x - start.x) * part, start.y + (end.y - start.y) * part + 15, "middle"));
  return group;
}

function describe(one) {
  const steps = one.timeline.slice(0, shown.step).map((id, place) => `${place + 1}, ${whoOf(one.events[id])}: ${one.events[id].label}`);
  const title = isProgram() ? "" : `${titleOf(one)}. `;
  return `Execution: ${title}${steps.join("; ")}. ${one.sentences.join(". ")}`;
}

// The machines.

function drawMachines() {
  const cell = shown.subject;
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

// The reader's own program.

let checker;

/** The report of the crate's `report` on a program. Each call has a memory of its own. */
function explore(text) {
  checker ??= new WebAssembly.Module(Uint8Array.from(atob(byId("checker").textContent), (letter) => letter.charCodeAt(0)));
  const { exports } = new WebAssembly.Instance(checker);
  const bytes = new TextEncoder().encode(text);
  // The memory can grow in each call, and then it has another buffer.
  const bytesAt = (start, length) => new Uint8Array(exports.memory.buffer, start, length);
  bytesAt(exports.input(bytes.length), bytes.length).set(bytes);
  const length = exports.explore();
  return JSON.parse(new TextDecoder().decode(bytesAt(exports.output(), length)));
}

function exploreTyped() {
  const text = byId("text").value;
  try {
    return explore(text);
  } catch (error) {
    return { mistake: { line: 1, message: `the checker has stopped (${error}): make the program smaller` } };
  }
}

let mistaken = null;
/** Whether what is shown comes from the text, if not from all that is typed by now. */
let explored = false;

/** Says that the result is one of an earlier text, or of no text at all. */
function markResult(name) {
  for (const id of ["result", "picture"]) byId(id).className = name;
}

/** Explores what has been typed, and shows what is wrong with it, or else this execution and step of it. */
function run(number, step) {
  const report = exploreTyped();
  mistaken = report.mistake;
  byId("mistake").replaceChildren(...mistaken ? withCode(`Line ${mistaken.line}: ${mistaken.message}.`) : []);
  byId("text").setAttribute("aria-invalid", Boolean(mistaken));
  byId("example").value = data.examples.find((example) => example.text === byId("text").value)?.id ?? "";
  markResult(mistaken ? (explored ? "old" : "none") : "");
  if (mistaken) {
    drawGutter();
    remember();
    return;
  }
  explored = true;
  const witness = report.findings.length ? report.findings[0].execution : firstWeak(report);
  const known = report.executions[number] && step <= report.executions[number].timeline.length;
  if (known) show(report, number, step);
  else show(report, witness);
}

/** An execution that only weak memory explains, if there is one. */
const firstWeak = (report) => (report.outcomes.find((outcome) => outcome.weak) ?? report.outcomes[0]).executions[0];

/** Puts a program in the place of the one that is typed, and the cursor to its first ordering. */
function type(text) {
  byId("text").value = text;
  const cursor = text.search(ORDERING);
  byId("text").setSelectionRange(cursor, cursor);
}

const linesTyped = () => byId("text").value.split("\n");
/** The number of the line with the cursor, from 0. */
const cursorLine = () => byId("text").value.slice(0, byId("text").selectionEnd).split("\n").length - 1;

function drawGutter() {
  const one = isProgram() && execution();
  const at = one && shown.step > 0 ? lineOf(one.events[one.timeline[shown.step - 1]]) : 0;
  const kind = (line) => mistaken ? (line === mistaken.line ? "wrong" : "") : line === at ? "at" : "";
  const numbers = linesTyped().map((_, place) => element("span", { class: kind(place + 1) }, `${place + 1}\n`));
  byId("gutter").replaceChildren(...numbers);
  byId("text").rows = numbers.length;
  drawOrderings();
}

const ORDERING = /\b(relaxed|acquire|release|acq_?rel|seq_?cst)\b/i;
const ORDERINGS = ["Relaxed", "Acquire", "Release", "AcqRel", "SeqCst"];

function drawOrderings() {
  const line = cursorLine();
  const found = (linesTyped()[line] ?? "").match(ORDERING)?.[0].toLowerCase().replace("_", "");
  byId("orderings").firstChild.textContent = `line ${line + 1}:`;
  for (const button of byId("orderings").querySelectorAll("button")) {
    button.disabled = !found;
    button.setAttribute("aria-pressed", button.textContent.toLowerCase() === found);
  }
}

/** Puts lines where those of the text from `at` on, `remove` of them, have been. The cursor goes to the end of the first. */
function splice(at, remove, ...lines) {
  const text = byId("text");
  const all = linesTyped();
  all.splice(at, remove, ...lines);
  text.value = all.join("\n");
  const end = all.slice(0, at + 1).join("\n").length;
  text.setSelectionRange(end, end);
  // On a phone the keyboard would come up.
  if (matchMedia("(pointer: fine)").matches) text.focus();
  run();
}

function order(ordering) {
  const line = cursorLine();
  splice(line, 1, linesTyped()[line].replace(ORDERING, ordering));
}

/** What the buttons add: lines for the names of an atomic location, a plain one, a new register, and the last one. */
const OPERATIONS = {
  load: (atomic, plain, fresh) => [`${fresh} = ${atomic}.load(Acquire)`],
  store: (atomic) => [`${atomic}.store(1, Release)`],
  swap: (atomic, plain, fresh) => [`${fresh} = ${atomic}.swap(1, AcqRel)`],
  fetch_add: (atomic, plain, fresh) => [`${fresh} = ${atomic}.fetch_add(1, AcqRel)`],
  fetch_sub: (atomic, plain, fresh) => [`${fresh} = ${atomic}.fetch_sub(1, AcqRel)`],
  compare_exchange: (atomic, plain, fresh) => [`${fresh} = ${atomic}.compare_exchange(0, 1, AcqRel, Acquire)`],
  fence: () => ["fence(SeqCst)"],
  read: (atomic, plain, fresh) => [`${fresh} = ${plain}`],
  write: (atomic, plain) => [`${plain} = 1`],
  if: (atomic, plain, fresh, last) => [`if ${last} == 1 {`, "}"],
};

function declared(word) {
  const lines = linesTyped().map((line) => line.match(new RegExp(`^\\s*${word}\\s+([^/;]*)`))?.[1] ?? "");
  return lines.join(",").split(",").map((name) => name.split("=")[0].trim()).filter(Boolean);
}

/** Adds an operation after the line of the cursor, or to the last thread if that is in none. */
function insert(kind) {
  const cursor = cursorLine();
  for (const [word, name, kinds] of [["atomic", "x", "load store swap fetch_add fetch_sub compare_exchange"], ["plain", "data", "read write"]]) {
    if (kinds.split(" ").includes(kind) && !declared(word).length) {
      splice(0, 0, `${word} ${name}`);
      byId("text").setSelectionRange(...Array(2).fill(linesTyped().slice(0, cursor + 2).join("\n").length));
      return insert(kind);
    }
  }
  const all = linesTyped();
  const isEnd = (line) => line.trim() === "}";
  const depth = (line) => all.slice(0, line).join("").replace(/[^{}]/g, "").split("").reduce((sum, sign) => sum + (sign === "{" ? 1 : -1), 0);
  let at = cursorLine();
  if (!isEnd(all[at])) at += 1;
  if (depth(at) === 0) at = all.findLastIndex(isEnd);
  if (at < 0) return addThread(kind);
  const above = all.slice(0, at).join("\n");
  const registers = [...above.matchAll(/\b(\w+)\s*=(?!=)/g)].map((found) => found[1]).filter((name) => ![...declared("atomic"), ...declared("plain")].includes(name));
  let number = 1;
  while (new RegExp(`\\br${number}\\b`).test(all.join("\n"))) number += 1;
  const near = (names) => names.find((name) => new RegExp(`\\b${name}\\b`).test(all[cursorLine()])) ?? names[0];
  const lines = OPERATIONS[kind](near(declared("atomic")), near(declared("plain")), `r${number}`, registers.at(-1) ?? "r1");
  splice(at, 0, ...lines.map((line) => "  ".repeat(depth(at)) + line));
}

/** Adds a thread, and then an operation to it. */
function addThread(kind) {
  const all = linesTyped();
  const never = all.findIndex((line) => /^\s*never\b/.test(line));
  const at = never < 0 ? all.findLastIndex((line) => line.trim()) + 1 : never;
  const taken = all.filter((line) => /^\s*thread\b/.test(line)).length;
  splice(at, 0, `thread ${"abcd"[taken] ?? "e"} {`, "}");
  if (kind) insert(kind);
}

async function share() {
  const say = (text) => { byId("shared").textContent = text; };
  try {
    await navigator.clipboard.writeText(location.href);
    say("Copied.");
  } catch {
    say("The link is in the address bar.");
  }
}

// The address of what is shown, to come back to.

const encode = (text) => btoa(String.fromCharCode(...new TextEncoder().encode(text))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const decode = (text) => new TextDecoder().decode(Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0)));

function remember() {
  const { subject, execution: number, step } = shown;
  const what = isProgram() ? `program=${encode(byId("text").value)}` : `${subject.completer},${subject.waiter}`;
  history.replaceState(null, "", `#${what}${mistaken ? "" : `,${number},${step}`}`);
}

function recall() {
  const [what, ...rest] = location.hash.slice(1).split(",");
  const [kind, value] = what.split(/=(.*)/);
  if (kind === "program" || kind === "example") {
    const example = data.examples.find(({ id }) => kind === "example" && id === decodeURIComponent(value)) ?? data.examples[0];
    type(kind === "program" && value ? typedIn(value) : example.text);
    // The list of executions and the picture need a program, which the text may not be.
    show(explore(example.text), 0);
    explored = false;
    run(...rest.map(Number));
    return;
  }
  mistaken = null;
  markResult("");
  const [waiter, number, step] = rest;
  const cell = cellOf(what, waiter) || cellOf("acq_rel", "release");
  const one = cell.executions[number];
  if (one && step <= one.timeline.length) show(cell, Number(number), Number(step));
  else choose(cell);
}

function typedIn(value) {
  try {
    return decode(value);
  } catch {
    return `// The link is damaged: this program was cut off or changed.\n${data.examples[0].text}`;
  }
}

function listen() {
  const steps = { first: () => 0, back: () => shown.step - 1, forward: () => shown.step + 1, last: () => Infinity };
  for (const [id, step] of Object.entries(steps)) byId(id).addEventListener("click", () => go(step()));
  byId("drawing").addEventListener("keydown", (event) => {
    const id = { Home: "first", ArrowLeft: "back", ArrowRight: "forward", End: "last" }[event.key];
    if (!id) return;
    event.preventDefault();
    go(steps[id]());
  });
  byId("which").addEventListener("change", () => show(shown.subject, Number(byId("which").value)));
  window.addEventListener("resize", drawStep);
  window.addEventListener("hashchange", recall);
}

function listenToTyping() {
  const options = data.examples.map(({ id, title }) => element("option", { value: id }, title));
  byId("example").append(...options, element("option", { value: "" }, "your own"));
  byId("example").addEventListener("change", () => {
    const example = data.examples.find(({ id }) => id === byId("example").value);
    if (!example) return;
    type(example.text);
    run();
  });
  let waiting;
  byId("text").addEventListener("input", () => {
    drawGutter();
    byId("shared").textContent = "";
    clearTimeout(waiting);
    waiting = setTimeout(() => run(), 200);
  });
  document.addEventListener("selectionchange", drawOrderings);
  byId("share").addEventListener("click", share);
  const button = (text, click) => {
    const node = element("button", { type: "button" }, text);
    node.addEventListener("click", () => click(text));
    return node;
  };
  byId("insert").append(element("span", {}, "add:"), ...Object.keys(OPERATIONS).map((kind) => button(kind, insert)), button("thread", () => addThread()));
  byId("orderings").append(element("span"), ...ORDERINGS.map((ordering) => button(ordering, order)));
}

drawMatrix();
listen();
listenToTyping();
recall();
