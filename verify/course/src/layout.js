// Looks at the page as it is laid out in this window: does anything overlap or stick out, and is what a reader needs next in view?

/** Everything that has a place of its own on the page. */
const PARTS = "h1, h2, p, li, caption, legend, label, textarea, select, button, nav a, th, td, .scroll, #drawing svg";

function layout() {
  const errors = [];
  const size = `${innerWidth}x${innerHeight}`;
  const check = (holds, what) => { if (!holds && errors.length < 12) errors.push(`${size}: ${what}`); };
  for (const [state, reach] of states()) {
    reach();
    for (const place of [0, document.documentElement.scrollHeight]) {
      scrollTo(0, place);
      nothingSticksOut(state, check);
      nothingOverlaps(state, check);
    }
    picture(state, check);
  }
  scrollTo(0, 0);
  inView(check);
  numbersAreSeen(check);
  return { errors };
}

const named = (node) => `<${node.tagName.toLowerCase()}${node.id && ` id=${node.id}`}> ${node.textContent.trim().replace(/\s+/g, " ").slice(0, 30)}`;

/** The place of an element, as far as a list that scrolls shows it. */
function boxOf(node) {
  const { left, right, top, bottom, width, height } = node.getBoundingClientRect();
  const list = node.closest(".scroll")?.getBoundingClientRect();
  if (!list) return { left, right, top, bottom, width, height };
  const [from, to] = [Math.max(top, list.top), Math.min(bottom, list.bottom)];
  return { left, right, top: from, bottom: to, width, height: to - from };
}

function visible() {
  return [...document.querySelectorAll(PARTS)].map((node) => ({ node, box: boxOf(node) }))
    .filter(({ node, box }) => box.width > 0 && box.height > 0 && node.checkVisibility());
}

function nothingSticksOut(state, check) {
  check(document.documentElement.scrollWidth <= innerWidth, `${state}: ${document.documentElement.scrollWidth} pixels are wider than the window`);
  for (const { node, box } of visible()) {
    check(box.left >= -1 && box.right <= innerWidth + 1, `${state}: ${named(node)} is cut`);
    // A text may scroll in the field where it is typed.
    const cut = node.matches("textarea") ? 0 : node.scrollWidth - node.clientWidth;
    check(node.clientWidth === 0 || cut <= 1, `${state}: ${named(node)} is ${cut} pixels wider than its place`);
  }
}

function nothingOverlaps(state, check) {
  const all = visible();
  all.forEach((one, place) => all.slice(place + 1).forEach((other) => {
    const across = Math.min(one.box.right, other.box.right) - Math.max(one.box.left, other.box.left);
    const down = Math.min(one.box.bottom, other.box.bottom) - Math.max(one.box.top, other.box.top);
    const nested = one.node.contains(other.node) || other.node.contains(one.node);
    check(nested || across <= 1 || down <= 1,
      `${state}: ${named(one.node)} and ${named(other.node)} overlap by ${Math.round(across)}x${Math.round(down)} pixels`);
  }));
}

/** The texts of the picture are in their boxes, and all is inside of the picture. */
function picture(state, check) {
  const outer = byId("drawing").querySelector("svg").getBoundingClientRect();
  const inside = (inner, around, room) => inner.left >= around.left - room && inner.right <= around.right + room;
  for (const text of byId("drawing").querySelectorAll("text")) {
    check(inside(text.getBoundingClientRect(), outer, 1), `${state}: ${text.textContent} sticks out of the picture`);
    const box = text.parentNode.matches("g") && text.parentNode.querySelector("rect.event");
    check(!box || inside(text.getBoundingClientRect(), box.getBoundingClientRect(), 0), `${state}: ${text.textContent} sticks out of its box`);
  }
}

/** What a reader wants next is in view: the verdict after a tap, and on a wide screen all of the steps. */
function inView(check) {
  const sees = (id) => {
    const box = byId(id).getBoundingClientRect();
    return box.top >= 0 && box.bottom <= innerHeight;
  };
  for (const cell of data.cells) {
    cell.node.scrollIntoView({ block: "nearest" });
    cell.node.click();
    check(sees("verdict"), `the verdict is out of view after a tap on ${cell.completer}, ${cell.waiter}`);
  }
  if (innerWidth < 1024) return;
  for (const fragment of ["completion", ...data.examples.map(({ id }) => `example=${id}`)]) {
    history.replaceState(null, "", `#${fragment}`);
    recall();
    scrollTo(0, 0);
    for (const id of ["first", "back", "forward", "last", "place", "now"]) check(sees(id), `${fragment}: the steps are out of view: ${id}`);
  }
}

/** The frame around the text where the reader types does not cover the numbers of its lines. */
function numbersAreSeen(check) {
  location.replace("#program");
  recall();
  byId("text").focus();
  const { outlineStyle, outlineWidth, outlineOffset } = getComputedStyle(byId("text"));
  const frame = outlineStyle === "none" ? 0 : parseFloat(outlineWidth) + parseFloat(outlineOffset);
  const room = parseFloat(getComputedStyle(byId("gutter")).paddingRight);
  check(document.activeElement === byId("text") && frame < room, `the frame of the text covers ${frame - room} pixels of the numbers`);
}

/** The states of the page, by their names, and how a reader reaches them. */
function states() {
  const opened = (fragment) => () => {
    history.replaceState(null, "", `#${fragment}`);
    recall();
  };
  const typed = (text) => () => {
    opened("program")();
    type(text);
    run();
  };
  const long = "atomic a_location_with_a_long_name\nthread a_thread_with_a_long_name {\n  a_long_register = a_location_with_a_long_name.fetch_add(4000000000, AcqRel)\n}\nthread b { a_location_with_a_long_name.store(1, Release) }\nnever a_long_register == 4000000000\n";
  const side = (name, own, other, found) => `thread ${name} {\n  ${own}.store(1, Release)\n  ${found} = ${other}.load(Acquire)\n  if ${found} == 0 {\n    data = 1\n  }\n}\n`;
  const lock = `plain data\natomic a, b\n${side("left", "a", "b", "other")}${side("right", "b", "a", "seen")}never other == 0 && seen == 0\n`;
  return [
    ["a right cell", () => data.cells.find((cell) => cell.right).node.click()],
    ["a wrong cell", () => data.cells.find((cell) => !cell.right).node.click()],
    ...data.examples.map(({ id }) => [`the program ${id}`, opened(`example=${id}`)]),
    ["long names", typed(long)],
    ["a broken lock", typed(lock)],
    ["a mistake", typed("thread a_thread_with_a_long_name_that_has_no_end_and_nothing_else_in_it {\n")],
    ["a cell again", opened("completion")],
  ];
}
