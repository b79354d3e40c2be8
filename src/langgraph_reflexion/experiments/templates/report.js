"use strict";
// Texts of a run enter the page as text, never as markup.
const CLIP = 1500; // characters; longer texts are shown whole on request
const id = (name) => document.getElementById(name);
const rows = [...document.querySelectorAll("#list tbody tr")];
const columns = JSON.parse(id("columns").textContent);
const dialog = id("task");
const at = { task: 0, run: 0, trial: 0 };
let data = null;

function make(tag, className = "", text = "") {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.textContent = text;
  return element;
}

function words(className, text) {
  const block = make("div", `text ${className}`, text);
  if (text.length > CLIP) {
    block.textContent = text.slice(0, CLIP) + "… ";
    const more = make("button", "", `show all ${text.length.toLocaleString("en")} characters`);
    more.type = "button";
    more.onclick = () => { block.textContent = text; };
    block.append(more);
  }
  return block;
}

// The table: filter and sort.

const shown = () => rows.filter((row) => !row.hidden);

function filter() {
  const wanted = id("words").value.toLowerCase().split(/\s+/).filter(Boolean);
  const tag = id("tag").value;
  for (const row of rows) {
    const name = row.cells[0].textContent.toLowerCase();
    row.hidden = !(wanted.every((word) => name.includes(word)) && (!tag || row.dataset.tags.split("\n").includes(tag)));
  }
  id("count").textContent = `${shown().length} of ${rows.length} tasks`;
}

function sort(button) {
  const head = button.closest("th");
  const descending = head.getAttribute("aria-sort") === "ascending";
  for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", descending ? "descending" : "ascending");
  const key = (row) => Number(row.cells[button.dataset.sort].dataset.key);
  rows.sort((one, other) => (key(one) - key(other)) * (descending ? -1 : 1) || one.dataset.task - other.dataset.task);
  rows[0]?.parentNode.append(...rows);
}

// The dialog: a task, one of its runs, its trials side by side.

function verdict(trial) {
  const said = trial.verdict === null ? "no verdict" : trial.verdict ? "accepted" : "not accepted";
  const truth = trial.truth === null ? "not known" : trial.truth ? "solved" : "not solved";
  return [`verdict: ${said}`, `truth: ${truth}`];
}

function step([number, thought, action, observation], differs, before) {
  const item = make("li", differs ? "differs" : "");
  item.append(make("span", "number", differs ? `${number} · first difference from trial ${before}` : String(number)));
  if (thought) item.append(words("thought", thought));
  if (action !== null) item.append(words("action", action));
  item.append(words("observation", observation));
  return item;
}

function folded(title, ...content) {
  const details = make("details");
  details.append(make("summary", "", title), ...content);
  return details;
}

function column(trial, trials) {
  const article = make("article");
  article.tabIndex = 0;
  article.setAttribute("aria-label", `Trial ${trial.trial}`);
  const header = make("header");
  const kind = trial.truth ? "solved" : trial.fault ? "fault" : trial.truth === null ? "none" : "failed";
  const misjudged = trial.verdict !== null && trial.truth !== null && trial.verdict !== trial.truth;
  const [said, truth] = verdict(trial);
  header.append(make("h3", "", `Trial ${trial.trial}`), make("div", misjudged ? "misjudged" : kind, `${said} · ${truth}`));
  const facts = [trial.reason, `${trial.actions} action${trial.actions === 1 ? "" : "s"}`, `${trial.tokens.toLocaleString("en")} tokens`];
  header.append(make("div", "facts", facts.filter(Boolean).join(" · ")));
  article.append(header);

  if (trial.last_attempt !== null) article.append(make("p", "what", `In the prompt: every step of trial ${trial.last_attempt}`));
  if (trial.remembered.length) {
    const lessons = trials.filter((each) => trial.remembered.includes(each.trial));
    article.append(folded(
      `In the prompt: reflections on trial ${trial.remembered.join(", ")}`,
      ...lessons.map((each) => words("lesson", `${each.trial}: ${each.reflection}`)),
    ));
  }
  if (!trial.recorded) article.append(make("p", "what", "Its steps were not recorded."));
  if (trial.observation) {
    const first = words("observation", trial.observation);
    const known = trials[trials.indexOf(trial) - 1]?.observation === trial.observation;
    article.append(known ? folded("First observation, as before", first) : first);
  }
  const shared = trial.steps.slice(0, trial.shared_steps ?? 0);
  if (shared.length) {
    const list = make("ol");
    list.append(...shared.map((each) => step(each, false)));
    const title = shared.length > 1 ? `Steps 1 to ${shared.length} are` : "Step 1 is";
    article.append(folded(`${title} as in trial ${trial.trial - 1}`, list));
  }
  const list = make("ol");
  const rest = trial.steps.slice(shared.length);
  list.append(...rest.map((each, place) => step(each, place === 0 && trial.shared_steps !== null, trial.trial - 1)));
  article.append(list);

  for (const [name, text] of [["Feedback", trial.feedback], ["Fault", trial.fault], ["Note", trial.notes.join("\n")]]) {
    if (text) article.append(make("div", "what", name), words("", text));
  }
  if (trial.reflection) article.append(make("div", "what", "The reflection that followed"), words("lesson", trial.reflection));
  return article;
}

function draw() {
  const trials = data.runs[at.run];
  id("trials").replaceChildren(...trials.map((trial) => column(trial, trials)));
  if (!trials.length) id("trials").append(make("p", "what", "No trial of this task is finished."));
  id("on-prompts").hidden = !trials.some((trial) => trial.remembered.length || trial.last_attempt !== null);
  [...id("runs").children].forEach((button, run) => {
    button.setAttribute("aria-pressed", String(run === at.run));
    button.disabled = !data.runs[run].length;
  });
  step_to(0);
}

function step_to(trial) {
  const articles = id("trials").querySelectorAll("article");
  at.trial = Math.max(0, Math.min(trial, articles.length - 1));
  const article = articles[at.trial];
  if (!article) return;
  article.focus({ preventScroll: true });
  article.scrollIntoView({ block: "nearest", inline: "start" });
}

function open(task) {
  at.task = task;
  data = JSON.parse(id(`task-${task}`).textContent);
  id("name").textContent = data.name;
  const tried = data.runs.findIndex((trials) => trials.length);
  if (!data.runs[at.run].length && tried >= 0) at.run = tried;
  if (!dialog.open) dialog.showModal();
  history.replaceState(null, "", `#task=${encodeURIComponent(data.name)}`);
  draw();
}

function neighbour(by) {
  const all = shown();
  const next = all[all.findIndex((row) => Number(row.dataset.task) === at.task) + by];
  if (next) open(Number(next.dataset.task));
}

function run(number) {
  at.run = number;
  draw();
}

function otherRun() {
  const others = columns.map((_, number) => (at.run + 1 + number) % columns.length);
  run(others.find((number) => data.runs[number].length) ?? at.run);
}

if (columns.length > 1) {
  columns.forEach((label, number) => {
    const button = make("button", "", label);
    button.type = "button";
    button.onclick = () => run(number);
    id("runs").append(button);
  });
}
id("words").oninput = id("tag").oninput = filter;
id("filter").onsubmit = (event) => event.preventDefault();
id("list").onclick = (event) => {
  const row = event.target.closest("tbody tr");
  const button = event.target.closest("[data-sort]");
  if (button) sort(button);
  else if (row) open(Number(row.dataset.task));
};
id("before").onclick = () => neighbour(-1);
id("after").onclick = () => neighbour(1);
id("close").onclick = () => dialog.close();
id("trials").addEventListener("focusin", (event) => {
  const all = [...id("trials").querySelectorAll("article")];
  at.trial = Math.max(0, all.indexOf(event.target.closest("article")));
});
dialog.onclose = () => {
  history.replaceState(null, "", "#tasks");
  rows.find((row) => Number(row.dataset.task) === at.task)?.querySelector(".open").focus();
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const act = dialog.open ? dialogKey(event.key) : tableKey(event);
  if (act) { event.preventDefault(); act(); }
});

function dialogKey(key) {
  return {
    ArrowLeft: () => step_to(at.trial - 1),
    ArrowRight: () => step_to(at.trial + 1),
    Home: () => step_to(0),
    End: () => step_to(Infinity),
    n: () => neighbour(1),
    p: () => neighbour(-1),
    r: otherRun,
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

const asked = new URLSearchParams(location.hash.slice(1)).get("task");
const found = rows.find((row) => asked && row.querySelector(".open").textContent === asked);
if (found) open(Number(found.dataset.task));
