"use strict";

// Uses the page as a reader would, and writes down what it saw. The verdicts that it returns are compared with those of other checkers.

function use() {
  const errors = [];
  const check = (holds, what) => { if (!holds) errors.push(what); };
  const press = (node, key) => node.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  const cells = data.cells.map((cell) => useCell(cell, check, press));
  data.cells[0].node.click();
  press(byId("matrix").querySelector("[tabindex='0']"), "ArrowDown");
  press(document.activeElement, "ArrowRight");
  check(shown.subject === data.cells[6] && document.activeElement === shown.subject.node, "the arrow keys move through the matrix");
  press(document.activeElement, "End");
  check(shown.subject === data.cells[9], "End goes to the end of the row");
  usePrograms(check);
  return { errors, cells };
}

const textOf = (id) => byId(id).textContent;

function useCell(cell, check, press) {
  const name = `completer ${cell.completer}, waiter ${cell.waiter}`;
  cell.node.click();
  const right = textOf("verdict").startsWith("✓ right: ");
  check(textOf("verdict").endsWith(`: ${name}`), `${name}: the heading names the cell`);
  check(right === (byId("drawing").querySelectorAll(".missing-edge").length === 0), `${name}: one click shows the missing edge`);
  const sentences = [...byId("sentences").children].map((item) => item.textContent);
  const executions = byId("executions").querySelectorAll("input").length;
  for (let number = 0; number < executions; number++) useSteps(name, number, check, press);
  const broken = ["result", "waker"].filter((what) => sentences.some((text) => text.startsWith(`The ${what} is not published`)));
  const shows = [...byId("machines").querySelectorAll("tbody tr")].map((row) => row.lastChild.textContent);
  const machines = cell.machines.map((machine) => machine.broken);
  [brokenOf(cell), ...machines].forEach((list, row) => check(shows[row].startsWith("✓") === (list.length === 0) &&
    list.every((what) => shows[row].includes(what)), `${name}: row ${row} of the machines`));
  return { completer: cell.completer, waiter: cell.waiter, right, broken };
}

/** There and back through one execution, with the buttons and with the keys. */
function useSteps(name, number, check, press) {
  byId("executions").querySelectorAll("input")[number].click();
  const drawn = () => byId("drawing").querySelectorAll("rect").length - byId("drawing").querySelectorAll(".later").length;
  const last = execution().timeline.length;
  check(drawn() === last && last === 5, `${name}: all events are drawn`);
  press(byId("drawing"), "Home");
  for (let step = 0; step < last; step++) {
    check(drawn() === step, `${name}: ${step} events are drawn`);
    byId("forward").click();
  }
  check(byId("forward").disabled && drawn() === last, `${name}: forward ends at the end`);
  const racy = execution().races.length;
  check(byId("drawing").querySelectorAll(".missing-edge").length === racy, `${name}: a missing edge for each race`);
  check(textOf("now").includes("Data race on") === racy > 0, `${name}: the step says that there is a race`);
  check(racy > 0 || !textOf("now").includes("does not keep"), `${name}: no warning where there is no race`);
  for (let step = last; step > 0; step--) press(byId("drawing"), "ArrowLeft");
  check(byId("back").disabled && drawn() === 0, `${name}: back ends at the start`);
}

function open(fragment) {
  history.replaceState(null, "", `#${fragment}`);
  recall();
}

function usePrograms(check) {
  for (const { id, text } of data.examples) {
    open(`example=${id}`);
    check(byId("text").value === text && byId("completion-part").hidden && !byId("program-part").hidden, `${id}: the address opens the example`);
    check(/^[✓✗]/.test(textOf("verdict")) && textOf("mistake") === "", `${id}: it has a verdict`);
    check(byId("lessons").querySelector("a").href.includes("/lessons/"), `${id}: it has a link to its lesson`);
    const rows = byId("executions").querySelectorAll("tbody tr").length;
    check(rows === shown.subject.outcomes.length && rows > 1, `${id}: its results are listed`);
    for (let row = 0; row < rows; row++) {
      byId("executions").querySelectorAll("input")[row].click();
      const chosen = byId("executions").querySelectorAll("input")[row];
      check(chosen.checked && chosen.getAttribute("aria-label").includes("execution"), `${id}: result ${row} is chosen`);
      check(byId("drawing").querySelectorAll("rect").length === execution().timeline.length, `${id}: result ${row} is drawn`);
    }
  }
  open("example=message");
  check(textOf("verdict").startsWith("✗ wrong"), "the message without a release is wrong");
  check(textOf("sentences").includes("the release half of line 7"), "the sentence names the line that lacks a half");
  button("orderings", "Release").click();
  check(byId("text").value.includes("flag.store(1, Release)"), "a button changes the ordering in the line of the cursor");
  check(textOf("verdict") === "✓ no data race in 2 executions", `the message with a release has no race, but: ${textOf("verdict")}`);
  mistakes(check);
  buttons(check);
  links(check);
}

const button = (group, text) => [...byId(group).querySelectorAll("button")].find((node) => node.textContent === text);

function mistakes(check) {
  type("atomic x\nthread a {\n  x.store(1)\n}\n");
  run();
  check(textOf("mistake") === "Line 3: , is missing before ): write x.store(1, Release).", `a mistake names its line and what to write: ${textOf("mistake")}`);
  check(byId("gutter").children[2].className === "wrong" && byId("result").className === "old", "the line is marked, and the result is not of this text");
  const address = location.hash.slice(1);
  open("completion");
  check(byId("result").className === "", "a mistake in a program is none of the completion's");
  open(address);
  check(byId("result").className === "none" && textOf("mistake") !== "", "a link to a mistake shows no result of another program");
  type("atomic x\nthread a {\n  x.store(1, Release)\n}\n");
  run();
  check(textOf("mistake") === "" && byId("result").className === "", "the repaired text has a result");
}

/** A program of buttons alone. */
function buttons(check) {
  type("");
  run();
  check(textOf("mistake").startsWith("Line 1: there is no thread yet"), "an empty text is told how to begin");
  for (const kind of ["store", "load", "fence", "thread", "swap", "if", "read", "thread", "write", "compare_exchange"]) button("insert", kind).click();
  check(textOf("mistake") === "", `the buttons write a program, but: ${textOf("mistake")} ${byId("text").value}`);
  const kinds = execution().events.filter((event) => event.thread !== null).map((event) => event.kind);
  check(kinds.length >= 6 && shown.subject.threads.length === 3, `the program has all of it: ${kinds}`);
}

/** A link brings the program back, with the execution and the step. */
function links(check) {
  open("example=SB");
  type(byId("text").value.replace("// Each", "// Jede für sich: each"));
  run();
  byId("back").click();
  const [text, address, place] = [byId("text").value, location.hash, textOf("place")];
  open("completion");
  check(!byId("completion-part").hidden && byId("program-part").hidden, "the completion comes back");
  open(address.slice(1));
  check(byId("text").value === text && textOf("place") === place && location.hash === address, "a link brings back the program and the step");
  open("program=%%%");
  check(byId("text").value.startsWith("// The link is damaged"), "a damaged link says so");
}
