"use strict";
// Texts of a run enter the page as text, never as markup.
const CLIP = 1500; // characters; longer texts are shown whole on request
const id = (name) => document.getElementById(name);
const rows = [...document.querySelectorAll("#list tbody tr")];
// In a trial, numbers stand for its texts, which recur in many trials.
const { texts, runs, tasks } = JSON.parse(id("data").textContent);
const dialog = id("task");
const at = { task: 0, run: 0, beside: null, place: 0, step: null };

function make(tag, className = "", text = "") {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.textContent = text;
  return element;
}

function button(text, action) {
  const made = make("button", "", text);
  made.type = "button";
  made.onclick = action;
  return made;
}

function link(className, text, address) {
  const made = make("a", className, text);
  made.href = address;
  return made;
}

function words(className, text) {
  const block = make("div", `text ${className}`, text);
  if (text.length > CLIP) {
    block.textContent = text.slice(0, CLIP) + "… ";
    block.append(button(`show all ${text.length.toLocaleString("en")} characters`, () => { block.textContent = text; }));
  }
  return block;
}

// The address keeps what is searched for and shown, and the open task. A link to another part of the page keeps nothing.

const asked = () => new URLSearchParams(location.hash.slice(1));

function addressOf(parts) {
  const kept = Object.entries({ find: id("words").value, show: id("tag").value, ...parts }).filter(([, value]) => value);
  return kept.length ? `#${new URLSearchParams(kept)}` : "#tasks";
}

// The table: find, filter and sort.

const shown = () => rows.filter((row) => !row.hidden);
const wanted = () => [...id("words").value.toLowerCase().matchAll(/"([^"]+)"|[^\s"]+/g)].map((found) => found[1] ?? found[0]);
let index = null; // the texts in lower case, and for each task its own words and the numbers of its texts

function makeIndex() {
  const numbers = (trial) => [
    trial.observation, trial.feedback, trial.reflection, trial.fault, trial.notes,
    ...trial.steps.flatMap((step) => step.slice(1)),
  ];
  return {
    texts: texts.map((text) => text.toLowerCase()),
    tasks: tasks.map((task) => [`${task.name}\n${task.goal}`.toLowerCase(), new Set(task.runs.flat().flatMap(numbers))]),
  };
}

function tasksWith(word) {
  index ??= makeIndex();
  const hits = index.texts.flatMap((text, number) => (text.includes(word) ? [number] : []));
  return index.tasks.map(([own, numbers]) => own.includes(word) || hits.some((number) => numbers.has(number)));
}

function filter() {
  const found = wanted().map(tasksWith);
  const tag = id("tag").value;
  for (const row of rows) {
    const task = tasks[row.dataset.task];
    const tagged = !tag || task.ways.includes(tag) || task.reasons.includes(tag);
    row.hidden = !(tagged && found.every((each) => each[row.dataset.task]));
  }
  id("count").textContent = `${shown().length} of ${rows.length} tasks`;
  drawMap();
}

function restoreFilter() {
  id("words").value = asked().get("find") ?? "";
  const tag = asked().get("show");
  // Another page may have had other tags.
  id("tag").value = [...id("tag").options].some((option) => option.value === tag) ? tag : "";
  filter();
}

function sort(head) {
  const descending = head.getAttribute("aria-sort") === "ascending";
  for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", descending ? "descending" : "ascending");
  const key = (row) => Number(row.cells[head.cellIndex].dataset.key);
  rows.sort((one, other) => (key(one) - key(other)) * (descending ? -1 : 1) || one.dataset.task - other.dataset.task);
  rows[0]?.parentNode.append(...rows);
  drawMap();
}

// The map: a column for each task of the table, a row for each trial.

// Where nobody knows the truth, the verdict counts.
const solved = (trial) => trial.truth ?? trial.verdict;

function kind(trial) {
  if (trial.verdict !== null && trial.truth !== null && trial.verdict !== trial.truth) return "misjudged";
  if (solved(trial)) return "solved";
  if (texts[trial.fault]) return "fault";
  return solved(trial) === null ? "none" : "failed";
}

function verdict(trial) {
  const said = trial.verdict === null ? "no verdict" : trial.verdict ? "accepted" : "not accepted";
  const truth = trial.truth === null ? "not known" : trial.truth ? "solved" : "not solved";
  const unverified = trial.unverified ? " (unverified)" : "";
  return `verdict: ${said}${unverified} · truth: ${truth}`;
}

function drawMap() {
  const order = shown().map((row) => Number(row.dataset.task));
  const most = tasks.reduce((length, task) => Math.max(length, ...task.runs.map((trials) => trials.length)), 1);
  id("map").replaceChildren(...runs.flatMap((run, number) => [make("h3", "", run.label), panel(number, order, most)]));
}

function panel(run, order, most) {
  const paths = {};
  const cell = (kind, x, y, height) => { paths[kind] = `${paths[kind] ?? ""}M${x} ${y}h.88v${height - 0.12}h-.88z`; };
  order.forEach((task, x) => {
    const trials = tasks[task].runs[run];
    trials.forEach((trial, y) => cell(kind(trial), x, y, 1));
    const last = trials.at(-1);
    if (last && solved(last) && trials.length < most) cell("done", x, trials.length, most - trials.length);
  });
  const create = (tag) => document.createElementNS("http://www.w3.org/2000/svg", tag);
  const svg = create("svg");
  svg.setAttribute("viewBox", `0 0 ${order.length || 1} ${most}`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `Outcome of each trial under ${runs[run].label}; the list of tasks has the same outcomes`);
  svg.style.maxWidth = `${16 * order.length}px`;
  svg.style.height = `${Math.min(10 * most, 240)}px`;
  for (const [kind, shape] of Object.entries(paths)) {
    const path = create("path");
    path.setAttribute("class", kind);
    path.setAttribute("d", shape);
    svg.append(path);
  }
  const under = (event) => {
    const box = svg.getBoundingClientRect();
    const task = order[Math.floor((event.clientX - box.left) / box.width * order.length)];
    return [task, Math.floor((event.clientY - box.top) / box.height * most)];
  };
  svg.onpointermove = (event) => {
    const [task, place] = under(event);
    const trial = tasks[task]?.runs[run][place];
    const last = tasks[task]?.runs[run].at(-1);
    const ended = last && solved(last) ? `solved in trial ${last.trial}` : "not tried";
    const outcome = trial ? `trial ${trial.trial}: ${verdict(trial)}` : ended;
    const lines = tasks[task] && [tasks[task].name, tasks[task].goal.split("\n")[0], outcome, trial?.reason];
    tip(event, lines?.filter(Boolean).join("\n"));
  };
  svg.onpointerleave = (event) => tip(event, "");
  svg.onclick = (event) => {
    const [task, place] = under(event);
    if (tasks[task]?.runs[run].length) open(task, { run, trial: place + 1 });
  };
  return svg;
}

// Tooltips: of the map, and of the nearest point of a figure.

function tip(event, text) {
  const box = id("tip");
  box.hidden = !text;
  box.textContent = text ?? "";
  box.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - box.offsetWidth - 8))}px`;
  box.style.top = `${event.clientY > innerHeight - box.offsetHeight - 30 ? event.clientY - box.offsetHeight - 10 : event.clientY + 16}px`;
}

for (const figure of document.querySelectorAll("figure.drawn")) {
  const points = [...figure.querySelectorAll("use > title")].map((title) => {
    const point = { mark: title.parentNode, text: title.textContent };
    title.remove(); // the browser would show it, too
    return point;
  });
  figure.onpointermove = (event) => {
    let near = { distance: 40 }; // pixels
    for (const point of points) {
      const box = point.mark.getBoundingClientRect();
      const distance = Math.hypot(box.x + box.width / 2 - event.clientX, box.y + box.height / 2 - event.clientY);
      if (distance < near.distance) near = { distance, text: point.text };
    }
    tip(event, near.text);
  };
  figure.onpointerleave = (event) => tip(event, "");
}

// The dialog: a task, the trials of one of its runs or of two, side by side.

function sharedSteps(trial, other) {
  if (!other?.recorded || !trial.recorded) return null;
  if (other.observation !== trial.observation) return 0;
  const same = (one, two) => two && (one[2] ?? one[1]) === (two[2] ?? two[1]) && one[3] === two[3];
  const differs = trial.steps.findIndex((step, place) => !same(step, other.steps[place]));
  return differs < 0 ? trial.steps.length : differs;
}

function step([number, thought, action, observation], address, than) {
  const item = make("li", than ? "differs" : "");
  item.dataset.step = number;
  item.append(link("number", than ? `${number} · first difference from ${than}` : `${number}`, address(number)));
  if (texts[thought]) item.append(words("thought", texts[thought]));
  if (action !== null) item.append(words("action", texts[action]));
  item.append(words("observation", texts[observation]));
  return item;
}

function list(steps) {
  const made = make("ol");
  made.append(...steps);
  return made;
}

function folded(title, ...content) {
  const details = make("details");
  details.append(make("summary", "", title), ...content);
  return details;
}

// `other` is the trial that this one is compared with, and `than` its name.
function article(run, trials, trial, other, than) {
  const made = make("article");
  const address = (step = null) => permalink(run, trial.trial, step);
  const name = at.beside === null ? `Trial ${trial.trial}` : `${runs[run].name}: trial ${trial.trial}`;
  made.tabIndex = 0;
  made.setAttribute("aria-label", name);
  Object.assign(made.dataset, { run, trial: trial.trial });
  const header = make("header");
  const title = make("h3");
  title.append(link("", name, address()));
  const actions = trial.actions ? `${trial.actions} action${trial.actions === 1 ? "" : "s"}` : "";
  const facts = [trial.reason, actions, `${trial.tokens.toLocaleString("en")} tokens`];
  header.append(title, make("div", kind(trial), verdict(trial)), make("div", "facts", facts.filter(Boolean).join(" · ")));
  made.append(header);

  if (trial.last_attempt !== null) made.append(make("p", "what", `In the prompt: every step of trial ${trial.last_attempt}`));
  if (trial.remembered.length) {
    const lessons = trials.filter((each) => trial.remembered.includes(each.trial));
    made.append(folded(
      `In the prompt: reflections on trial${trial.remembered.length > 1 ? "s" : ""} ${new Intl.ListFormat("en-GB").format(trial.remembered.map(String))}`,
      ...lessons.map((each) => words("lesson", `${each.trial}: ${texts[each.reflection]}`)),
    ));
  }
  if (!trial.recorded) made.append(make("p", "what", "Its steps were not recorded."));
  if (texts[trial.observation]) {
    const first = words("observation", texts[trial.observation]);
    made.append(other?.observation === trial.observation ? folded(`First observation, as in ${than}`, first) : first);
  }
  const shared = sharedSteps(trial, other);
  if (shared) {
    const which = shared > 1 ? `Steps 1 to ${shared} are` : "Step 1 is";
    made.append(folded(`${which} as in ${than}`, list(trial.steps.slice(0, shared).map((each) => step(each, address)))));
  }
  const rest = trial.steps.slice(shared ?? 0);
  made.append(list(rest.map((each, place) => step(each, address, place === 0 && shared !== null ? than : ""))));

  for (const [what, text] of [["Feedback", trial.feedback], ["Fault", trial.fault], ["Note", trial.notes]]) {
    if (texts[text]) made.append(make("div", "what", what), words("", texts[text]));
  }
  if (texts[trial.reflection]) made.append(make("div", "what", "The reflection that followed"), words("lesson", texts[trial.reflection]));
  let before = [];
  for (const [title, same, ...more] of trial.prompts) {
    const messages = [...before.slice(0, same), ...more];
    before = messages;
    const prompt = folded(`Prompt for ${title}`);
    prompt.addEventListener("toggle", () => {
      for (const message of messages) {
        const [role] = texts[message].split("\n", 1);
        prompt.append(make("div", "what", role), words("lesson", texts[message].slice(role.length + 1)));
      }
    }, { once: true });
    made.append(prompt);
  }
  return made;
}

const articles = () => [...id("trials").querySelectorAll("article")];
const tried = (run) => tasks[at.task].runs[run].length > 0;

function draw() {
  const sides = at.beside === null ? [at.run] : [at.run, at.beside].sort((one, other) => one - other);
  const lists = sides.map((run) => tasks[at.task].runs[run]);
  const made = [];
  for (let place = 0; place < Math.max(...lists.map((trials) => trials.length)); place += 1) {
    sides.forEach((run, side) => {
      const trial = lists[side][place];
      if (!trial) return;
      if (sides.length === 1) made.push(article(run, lists[0], trial, lists[0][place - 1], `trial ${trial.trial - 1}`));
      else made.push(article(run, lists[side], trial, side ? lists[0][place] : undefined, runs[sides[0]].name));
    });
  }
  id("trials").replaceChildren(...made);
  id("trials").classList.toggle("pairs", sides.length > 1);
  if (!made.length) id("trials").append(make("p", "what", "No trial of this task is finished."));
  id("on-prompts").hidden = !lists.flat().some((trial) => trial.prompts.length || trial.remembered.length || trial.last_attempt !== null);
  [...id("runs").children].forEach((each, run) => {
    each.setAttribute("aria-pressed", String(run < runs.length ? sides.includes(run) : at.beside !== null));
    each.disabled = run < runs.length && !tried(run);
  });
  markFound();
}

// Marks the words that were searched for.
function markFound() {
  if (!CSS.highlights) return;
  const ranges = [];
  const walker = document.createTreeWalker(dialog, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const text = node.data.toLowerCase();
    for (const word of text.length === node.data.length ? wanted() : []) {
      for (let from = text.indexOf(word); from >= 0; from = text.indexOf(word, from + word.length)) {
        const range = new Range();
        range.setStart(node, from);
        range.setEnd(node, from + word.length);
        ranges.push(range);
      }
    }
  }
  CSS.highlights.set("found", new Highlight(...ranges));
}

function permalink(run, trial, step) {
  const other = at.beside === null ? null : runs[run === at.beside ? at.run : at.beside].name;
  return addressOf({ task: tasks[at.task].name, run: runs[run].name, beside: other, trial, step });
}

function note() {
  const article = articles()[at.place];
  const link = article ? permalink(Number(article.dataset.run), article.dataset.trial, at.step) : permalink(at.run, null, null);
  history.replaceState(null, "", link);
}

function goTo(place, step = null) {
  const all = articles();
  at.place = Math.max(0, Math.min(place, all.length - 1));
  at.step = step;
  all[at.place]?.focus({ preventScroll: true });
  // Of two trials side by side the first one is at the left, if there is room for both.
  all.find((each) => each.dataset.trial === all[at.place].dataset.trial)?.scrollIntoView({ block: "nearest", inline: "start" });
  all[at.place]?.scrollIntoView({ block: "nearest", inline: "nearest" });
  const item = step && all[at.place]?.querySelector(`[data-step="${Number(step)}"]`);
  if (item) {
    item.closest("details")?.setAttribute("open", "");
    item.classList.add("asked");
    item.scrollIntoView({ block: "center" });
  }
  note();
}

// Shows a task, at a trial and a step of one of its runs.
function show(task, { run = at.run, beside = at.beside, trial = null, step = null } = {}) {
  Object.assign(at, { task, run, beside });
  if (!tried(at.run)) at.run = Math.max(0, tasks[task].runs.findIndex((trials) => trials.length));
  if (at.beside === at.run) at.beside = null;
  id("name").textContent = tasks[task].name;
  id("goal").textContent = tasks[task].goal;
  if (!dialog.open) dialog.showModal();
  draw();
  const place = articles().findIndex((each) => Number(each.dataset.run) === at.run && each.dataset.trial === String(trial));
  goTo(place, step);
}

// The same as a new entry of the browser's history.
function open(task, wish) {
  history.pushState(null, "", location.hash);
  show(task, wish);
}

function follow() {
  const parts = asked();
  const task = tasks.findIndex((each) => each.name === parts.get("task"));
  // A link to a part of the page leaves the filter as it is.
  const toPart = location.hash && document.getElementById(location.hash.slice(1));
  if (!toPart) restoreFilter();
  if (task < 0) return dialog.close();
  const named = (key) => runs.findIndex((run) => run.name === parts.get(key));
  const [run, beside] = [named("run"), named("beside")];
  return show(task, {
    run: run < 0 ? at.run : run, beside: beside < 0 ? null : beside, trial: parts.get("trial"), step: parts.get("step"),
  });
}

function neighbour(by) {
  const all = shown();
  const next = all[all.findIndex((row) => Number(row.dataset.task) === at.task) + by];
  if (next) show(Number(next.dataset.task));
}

// The runs with trials that follow one, in turn.
const others = (run) => runs.map((_, number) => (run + 1 + number) % runs.length).filter((each) => each !== run && tried(each));
const other = () => show(at.task, { run: others(at.run)[0] ?? at.run, beside: null });

function beside() {
  const all = others(at.run);
  show(at.task, { beside: all[all.indexOf(at.beside) + 1] ?? null });
}

if (runs.length > 1) {
  id("runs").append(...runs.map((run, number) => button(run.label, () => show(at.task, { run: number, beside: null }))));
  id("runs").append(button("side by side", beside));
}
id("words").oninput = id("tag").oninput = () => {
  filter();
  history.replaceState(null, "", addressOf());
};
id("filter").onsubmit = (event) => event.preventDefault();
id("list").onclick = (event) => {
  const row = event.target.closest("tbody tr");
  const head = event.target.closest("button")?.closest("thead th");
  if (head) sort(head);
  else if (row) open(Number(row.dataset.task));
};
id("before").onclick = () => neighbour(-1);
id("after").onclick = () => neighbour(1);
id("close").onclick = () => dialog.close();
id("trials").addEventListener("focusin", (event) => {
  const place = articles().indexOf(event.target.closest("article"));
  if (place < 0 || place === at.place) return;
  Object.assign(at, { place, step: null });
  note();
});
dialog.onclose = () => {
  if (asked().has("task")) history.replaceState(null, "", addressOf());
  rows.find((row) => Number(row.dataset.task) === at.task)?.querySelector(".open").focus();
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const act = dialog.open ? dialogKey(event.key) : tableKey(event);
  if (act) { event.preventDefault(); act(); }
});

function dialogKey(key) {
  return {
    ArrowLeft: () => goTo(at.place - 1),
    ArrowRight: () => goTo(at.place + 1),
    Home: () => goTo(0),
    End: () => goTo(Infinity),
    n: () => neighbour(1),
    p: () => neighbour(-1),
    r: other,
    b: beside,
  }[key];
}

function tableKey(event) {
  const typing = event.target.matches("input, select");
  if (event.key === "/" && !typing) return () => id("words").focus();
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!by || event.target.matches("select")) return null;
  const all = shown();
  const now = all.indexOf(document.activeElement.closest("tbody tr"));
  // From elsewhere on the page these keys scroll it, as ever.
  if (now < 0 && !typing) return null;
  const next = now < 0 ? all[0] : all[now + by];
  return next ? () => next.querySelector(".open").focus() : () => {};
}

addEventListener("hashchange", follow);
drawMap();
follow();
if (asked().has("find") || asked().has("show")) id("tasks").scrollIntoView();
