"use strict";
// The page of `keda-py dashboard`. Everything that comes from the cluster is set as text, never as markup.
const token = location.hash.slice(1);
const at = (id) => document.getElementById(id);
const DAY = 86400000, SHOWN = 300;
let state = null, open = new Set();

function make(tag, attributes = {}, ...children) {
  const svg = ["svg", "rect", "line", "title"].includes(tag);
  const node = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "onclick") node.addEventListener("click", value);
    else if (value !== undefined && value !== "") node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== ""));
  return node;
}

const clock = (text) => new Date(text).toLocaleString([], { weekday: "short", hour: "2-digit", minute: "2-digit", hour12: false });
const key = (one) => `${one.kind || "Environment"}/${one.namespace}/${one.name}`;

function timeline(one, now) {
  const begin = now - DAY, whole = 4 * DAY;
  const x = (time) => Math.min(Math.max((time - begin) / whole * 400, 0), 400);
  const drawing = make("svg", { viewBox: "0 0 400 14", preserveAspectRatio: "none", role: "img" });
  const label = `awake in the last day: ${spans(one, now).length} times; windows planned: ${one.planned.length}`;
  drawing.append(make("title", {}, label));
  const bar = (from, to, kind) => drawing.append(
    make("rect", { x: x(from), y: 2, width: Math.max(x(to) - x(from), 0.7), height: 10, class: kind }));
  for (const [from, to] of spans(one, now)) bar(from, to, "was");
  for (const span of one.planned) bar(Date.parse(span.from), Date.parse(span.to), "will");
  drawing.append(make("line", { x1: x(now), x2: x(now), y1: 0, y2: 14, class: "now" }));
  return drawing;
}

function spans(one, now) {
  const found = [];
  let since = null;
  for (const change of one.changes) {
    const { before, after: count } = change.replicas || {}, time = Date.parse(change.time);
    if (change === one.changes[0] && before > 0) since = now - DAY;
    if (count > 0 && since === null) since = time;
    if (count === 0 && since !== null) { found.push([since, time]); since = null; }
  }
  if (since !== null) found.push([since, now]);
  return found;
}

function buttons(one) {
  if ("overrides" in state.unread || one.kind === "ScaledJob") return make("span");
  const button = (word, to) => make("button", {
    type: "button", "aria-label": `${word} ${one.namespace}/${one.name}`, onclick: () => ask(one, to, word),
  }, word);
  return make("span", { class: "actions" }, button("Keep awake", "Awake"), " ", button("Sleep", "Asleep"));
}

function changes(one) {
  const rows = one.changes.slice().reverse().map((change) => {
    const counts = change.replicas || {}, said = (change.triggers || []).map(
      (trigger) => `${trigger.metric} ${trigger.error || trigger.value}`);
    const moved = counts.before === counts.after ? counts.after : `${counts.before} → ${counts.after}`;
    return make("tr", {}, ...[clock(change.time), change.reason, moved ?? "", said.join("; "), change.error || ""]
      .map((text) => make("td", {}, String(text))));
  });
  return make("table", {}, make("tbody", {}, ...rows));
}

function object(one, now) {
  const shown = open.has(key(one));
  const toggle = () => { shown ? open.delete(key(one)) : open.add(key(one)); draw(); };
  const next = one.nextChange ? `; next change ${clock(one.nextChange)}` : "";
  const since = one.since ? ` since ${clock(one.since)}` : "";
  return make("li", {}, make("div", { class: "row" },
    make("button", { type: "button", class: "name", "aria-expanded": String(shown), "data-key": key(one), onclick: toggle },
      `${one.namespace}/${one.name}`),
    make("span", { class: one.state }, one.state),
    make("span", { class: "why" }, `${one.why || "not looked at yet"}${since}${next}`), buttons(one)),
  timeline(one, now), shown ? changes(one) : null);
}

function environment(one) {
  const next = one.next.at ? `; ${one.next.to || "next"} ${clock(one.next.at)}` : "";
  const override = one.override ? `; override: ${one.override}` : "";
  return make("li", {}, make("div", { class: "row" }, make("span", { class: "name" }, `${one.namespace}/${one.name}`),
    make("span", { class: (one.phase || "").toLowerCase() }, one.phase || "unknown"),
    make("span", { class: "why" }, `${one.because} ${one.ready}${next}${override}`), buttons(one)));
}

function draw() {
  const words = at("filter").value.toLowerCase().split(/\s+/).filter(Boolean), now = Date.parse(state.now);
  const fits = (one) => words.every((word) => JSON.stringify([key(one), one.state, one.phase, one.why]).toLowerCase().includes(word));
  const objects = state.objects.filter(fits), focused = document.activeElement && document.activeElement.dataset.key;
  at("environments").replaceChildren(...state.environments.filter(fits).map(environment));
  at("objects").replaceChildren(...objects.slice(0, SHOWN).map((one) => object(one, now)));
  const count = (word) => objects.filter((one) => one.state === word).length;
  const more = objects.length > SHOWN ? `, the first ${SHOWN} shown` : "";
  at("summary").textContent =
    `${objects.length} objects: ${count("awake")} awake, ${count("asleep")} asleep, ${count("broken")} broken${more}; as of ${clock(state.now)}`;
  const unread = Object.entries(state.unread).map(([plural, why]) => `${plural}: ${why}`);
  trouble(unread.length ? `not shown: ${unread.join("; ")}` : "");
  if (focused) for (const node of document.querySelectorAll("[data-key]")) if (node.dataset.key === focused) node.focus();
}

function trouble(text) { at("trouble").textContent = text; at("trouble").hidden = !text; }

async function call(path, options = {}) {
  const answer = await fetch(path, { ...options, headers: { "X-Keda-Py-Token": token } });
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.error || `answer ${answer.status}`);
  return body;
}

async function follow() {
  for (;;) {
    try {
      state = await call(`/api/state?after=${state ? state.version : 0}`);
      draw();
    } catch (error) {
      trouble(`${error.message}; trying again`);
      await new Promise((done) => setTimeout(done, 3000));
    }
  }
}

let asked = null;
function ask(one, to, word) {
  asked = { namespace: one.namespace, kind: one.kind || "Environment", name: one.name, state: to };
  at("ask-title").textContent = `${word}: ${one.namespace}/${one.name}`;
  at("refused").hidden = true;
  at("reason").value = "";
  at("ask").showModal();
  at("reason").focus();
}

at("ask").querySelector("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    const body = { ...asked, reason: at("reason").value, hours: Number(at("hours").value) };
    await call("/api/override", { method: "POST", body: JSON.stringify(body) });
    at("ask").close();
  } catch (error) {
    at("refused").textContent = error.message;
    at("refused").hidden = false;
  }
});
at("cancel").addEventListener("click", () => at("ask").close());
at("filter").addEventListener("input", () => state && draw());
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !(event.target instanceof HTMLInputElement)) { event.preventDefault(); at("filter").focus(); }
});
follow();
