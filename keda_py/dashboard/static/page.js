"use strict";
// The page of `keda-py dashboard`. Everything that comes from the cluster is set as text, never as markup.
const token = location.hash.slice(1);
const at = (id) => document.getElementById(id);
const DAY = 86400000, SHOWN = 300, LANE = 20;
const OVER = ["Ended", "Outranked", "Invalid"];
let state = null, open = new Set(), days = [];

function make(tag, attributes = {}, ...children) {
  const svg = ["svg", "rect", "line", "title", "text"].includes(tag);
  const node = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "onclick") node.addEventListener("click", value);
    else if (value !== undefined && value !== "") node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== ""));
  return node;
}

// One zone, that of the calendars; the reader's stands in brackets where its clock shows another time.
const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
const WORDS = { weekday: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
const inZone = (date, timeZone, options) => new Intl.DateTimeFormat("en-GB", { ...options, timeZone }).format(date).replace(",", "");
const abbreviation = (date, timeZone) => new Intl.DateTimeFormat("en-GB", { timeZone, timeZoneName: "short" }).formatToParts(date)
  .find((part) => part.type === "timeZoneName").value;
function clock(text) {
  const date = new Date(text), [there, here] = [state.zone, own].map((zone) => inZone(date, zone, WORDS));
  if (there === here) return there;
  const day = there.slice(0, 3) === here.slice(0, 3) ? here.slice(4) : here;
  return `${there} (${day} ${abbreviation(date, own)})`;
}
// "2026-11-20T13:30" on the clock of the calendars: there and back.
const written = (date) => inZone(date, state.zone, { year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", hourCycle: "h23" })
  .replace(/(\d+)\/(\d+)\/(\d+) (.*)/, "$3-$2-$1T$4");
function instant(text) {
  const meant = Date.parse(`${text}Z`);
  let found = meant;
  for (let turn = 0; turn < 2; turn++) found += meant - Date.parse(`${written(new Date(found))}Z`);
  return new Date(found);
}
const key = (one) => `${one.kind || "Environment"}/${one.namespace}/${one.name}`;

const spoken = (milliseconds) => {
  const minutes = Math.max(Math.round(milliseconds / 60000), 0), hours = Math.floor(minutes / 60);
  if (minutes < 120) return `${minutes} min`;
  return hours < 48 ? `${hours} h${minutes % 60 ? ` ${minutes % 60} min` : ""}` : `${Math.round(hours / 24)} days`;
};

// One day back and three ahead, as wide as the list is now.
function scale(now) {
  const width = Math.max(at("objects").clientWidth - 30, 200), begin = now - DAY;
  return { width, x: (time) => Math.min(Math.max((time - begin) / (4 * DAY) * width, 0), width) };
}

function midnights(now) {
  const found = [], quarter = DAY / 96;
  for (let time = Math.ceil((now - DAY) / quarter) * quarter; time < now + 3 * DAY; time += quarter)
    if (written(new Date(time)).endsWith("T00:00")) found.push(new Date(time));
  return found;
}

function axis(now) {
  const { width, x } = scale(now), drawing = make("svg", { width, height: 16, viewBox: `0 0 ${width} 16` });
  for (const day of days) {
    drawing.append(make("line", { x1: x(day), x2: x(day), y1: 4, y2: 16, class: "midnight" }));
    const room = Math.abs(x(day) + 14 - x(now)) > 30 && x(day) < width - 30;
    if (room) drawing.append(make("text", { x: x(day) + 4, y: 12 }, inZone(day, state.zone, { weekday: "short", day: "numeric" })));
  }
  drawing.append(make("text", { x: x(now), y: 12, "text-anchor": "middle", class: "at" }, "now"));
  return make("li", { class: "axis", "aria-hidden": "true" }, drawing);
}

const ends = (span) => [Date.parse(span.from), Date.parse(span.to)];

function timeline(one, now) {
  const { width, x } = scale(now), was = one.past.up.map(ends), unknown = one.past.unknown && ends(one.past.unknown);
  const drawing = make("svg", { width, height: LANE, viewBox: `0 0 ${width} ${LANE}`, role: "img" });
  drawing.append(make("title", {}, described(one, was, unknown)), make("rect", { x: 0, y: 0, width, height: LANE, rx: 3, class: "lane" }));
  const most = Math.max(1, ...one.planned.map((span) => span.replicas));
  const bar = ([from, to], share, kind, fill) => {
    const height = 6 + (LANE - 6) * share;
    drawing.append(make("rect", { x: x(from), y: LANE - height, width: Math.max(x(to) - x(from), 1), height, class: kind, fill }));
  };
  if (unknown) bar(unknown, 1, "unknown", "url(#hatch)");
  for (const span of was) bar(span, 0.5, "was");
  for (const span of one.planned) bar(ends(span), span.replicas / most, "will");
  for (const day of days) drawing.append(make("line", { x1: x(day), x2: x(day), y1: 0, y2: LANE, class: "midnight" }));
  drawing.append(make("line", { x1: x(now), x2: x(now), y1: 0, y2: LANE, class: "now" }));
  return drawing;
}

function described(one, was, unknown) {
  const hours = (spans) => spoken(spans.reduce((sum, [from, to]) => sum + to - from, 0));
  const missing = unknown ? `, ${hours([unknown])} not known` : "";
  return `the last day awake for ${hours(was)}${missing}; the next three days by its schedules for ${one.foreseen ? hours(one.planned.map(ends)) : "an unknown time"}`;
}

function buttons(one) {
  if (!state.overridable || one.kind === "ScaledJob") return make("span");
  const button = (word, to) => make("button", {
    type: "button", "aria-label": `${word} ${one.namespace}/${one.name}`, onclick: () => ask(one, to, word),
  }, word);
  return make("span", { class: "actions" }, button("Keep awake", "Awake"), " ", button("Sleep", "Asleep"));
}

const table = (rows) => make("table", {}, make("tbody", {}, ...rows.map(
  (cells) => make("tr", {}, ...cells.map((text) => make("td", {}, String(text ?? "")))))));
const moved = (before, after) => before === after || before === undefined ? after : `${before} → ${after}`;
const part = (title, ...children) => make("div", {}, make("h3", {}, title), ...children);

function details(one) {
  const past = (one.changes || []).slice().reverse().map((change) => {
    const said = (change.triggers || []).map((trigger) => `${trigger.metric} ${trigger.error || trigger.value}`);
    const why = [change.reason, ...said, change.error].filter(Boolean).join("; ");
    return [clock(change.time), moved(change.replicas?.before, change.replicas?.after), why];
  });
  const wakes = (count) => count ? "wakes" : "sleeps";
  const ahead = one.upcoming.map((move) =>
    [clock(move.at), one.kind ? moved(move.before, move.after) : wakes(move.after), move.because]);
  const notes = [...one.windows.map((text) => `window: ${text}`), ...one.defaults, ...one.findings,
    ...one.assumes.map((type) => `${type}: taken to have no work; what it asks for comes on top`)];
  const members = one.members || [];
  const rows = members.map((each) => [each.member, each.wave, [each.state, each.replicas].filter(Boolean).join(" "), each.why]);
  const waves = rows.some((cells) => cells[1]) ? rows : rows.map(([member, , ...rest]) => [member, ...rest]);
  const more = one.moreMembers ? make("p", { class: "dim" }, `and ${one.moreMembers} more; keda-py env lists all`) : null;
  return make("div", { class: "details" },
    one.kind ? null : part("Members", waves.length ? table(waves) : make("p", { class: "dim" }, "it has no members"), more),
    one.kind ? part("The last day", past.length ? table(past) : make("p", { class: "dim" }, "no change on record")) : null,
    part("By its schedules", ...notes.map((text) => make("p", { class: "dim" }, text)),
      ahead.length ? table(ahead) : make("p", { class: "dim" }, one.foreseen ? "no change in three days" : "not known")));
}

function row(one, word, why, when, now) {
  const shown = open.has(key(one));
  const toggle = () => { shown ? open.delete(key(one)) : open.add(key(one)); draw(); };
  const name = make("button", { type: "button", class: "name", "aria-expanded": String(shown), "data-key": key(one), onclick: toggle },
    make("small", {}, `${one.namespace}/`), one.name);
  return make("li", {}, make("div", { class: "row" }, name,
    make("span", { class: `state ${word.toLowerCase()}` }, word), make("span", { class: "why" }, why, make("small", {}, when)), buttons(one)),
  timeline(one, now), shown ? details(one) : null);
}

function object(one, now) {
  const known = one.nextChange || one.upcoming[0]?.at;
  const times = [one.since && `since ${clock(one.since)}`,
    known && `next change in ${spoken(Date.parse(known) - now)}, ${clock(known)}`];
  return row(one, one.state, one.why || "not looked at yet", times.filter(Boolean).join("; "), now);
}

function environment(one, now) {
  const to = { Asleep: "sleeps", Awake: "wakes" }[one.next.to] || one.next.to || "next change";
  const times = [one.ready && `${one.ready} ready`, one.up && `${one.up} up`, one.override && `override: ${one.override}`, one.requests,
    one.next.at && `${to} in ${spoken(Date.parse(one.next.at) - now)}, ${clock(one.next.at)}`];
  const shown = row(one, one.phase || "unknown", one.because || "not looked at yet", times.filter(Boolean).join("; "), now);
  shown.querySelector(".row").after(...one.wrong.map((text) => make("p", { class: "wrong" }, text)));
  return shown;
}

function override(one) {
  const ends = one.ends ? `until ${clock(one.ends)}` : "";
  return make("li", {}, make("div", { class: "row" }, make("span", { class: "name" }, make("small", {}, `${one.namespace}/`), one.target || one.name),
    make("span", { class: `state ${one.state.toLowerCase()}` }, one.state || "unknown"),
    make("span", { class: "why" }, one.reason, make("small", {}, [one.by && `by ${one.by}`, ends].filter(Boolean).join(", ")))));
}

const SUMS = ["awake", "asleep", "waking", "fallingAsleep", "contested", "failed", "pending", "own"];
const SPACED = { fallingAsleep: "falling asleep", own: "with their own" };
function policy(one) {
  const id = `ClusterEnvironment/${one.name}`, shown = open.has(id);
  const toggle = () => { shown ? open.delete(id) : open.add(id); draw(); };
  const known = one.counts.covered !== null;
  const sums = SUMS.filter((word) => one.counts[word]).map((word) => `${one.counts[word]} ${SPACED[word] || word}`);
  const rows = one.namespaces.map((each) => [each.namespace, each.phase || "not looked at yet", each.why]);
  const more = one.moreNamespaces ? make("p", { class: "dim" }, `and ${one.moreNamespaces} more`) : null;
  return make("li", {}, make("div", { class: "row" },
    make("button", { type: "button", class: "name", "aria-expanded": String(shown), "data-key": id, onclick: toggle }, one.name),
    make("span", { class: "why" }, known ? `${one.counts.covered} namespaces: ${sums.join(", ") || "none"}` : "not looked at yet")),
  ...one.wrong.map((text) => make("p", { class: "wrong" }, text)),
  shown ? make("div", { class: "details" }, part("Namespaces", rows.length ? table(rows) : make("p", { class: "dim" }, "none"), more)) : null);
}

function fill(id, rows) {
  at(id).replaceChildren(...rows);
  if (at(`s-${id}`)) at(`s-${id}`).hidden = !rows.length;
}

function draw() {
  const words = at("filter").value.toLowerCase().split(/\s+/).filter(Boolean), now = Date.parse(state.now);
  days = midnights(now);
  const fits = (one) => words.every((word) => JSON.stringify([key(one), one.state, one.phase, one.why]).toLowerCase().includes(word));
  const objects = state.objects.filter(fits), environments = state.environments.filter(fits);
  const focused = document.activeElement && document.activeElement.dataset.key;
  fill("overrides", state.overrides.filter((one) => fits(one) && !OVER.includes(one.phase)).map(override));
  const named = (one) => words.every((word) => JSON.stringify([one.name, one.namespaces]).toLowerCase().includes(word));
  fill("policies", state.policies.filter(named).map(policy));
  fill("environments", environments.length ? [axis(now), ...environments.map((one) => environment(one, now))] : []);
  fill("objects", objects.length ? [axis(now), ...objects.slice(0, SHOWN).map((one) => object(one, now))]
    : [make("li", { class: "dim" }, words.length ? "nothing fits the filter" : "no ScaledObject and no ScaledJob here")]);
  const count = (word) => objects.filter((one) => one.state === word).length;
  const told = ["awake", "asleep", "paused", "broken"].map((word) => [count(word), word]).filter(([number]) => number);
  const more = objects.length > SHOWN ? `, the first ${SHOWN} shown` : "";
  at("summary").textContent =
    `${objects.length} objects: ${told.map(([number, word]) => `${number} ${word}`).join(", ")}${more}; as of ${clock(state.now)}, clock of ${state.zone}`;
  const unread = Object.entries(state.unread).map(([plural, why]) => `${plural}: ${why}`);
  const wrong = [["not shown", unread], ["not foreseen", state.unforeseen]].filter(([, all]) => all.length);
  trouble(wrong.map(([what, all]) => `${what}: ${all.join("; ")}`).join("; "));
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
  const quarter = DAY / 96, soon = new Date(Math.ceil((Date.parse(state.now) + DAY / 8) / quarter) * quarter);
  at("until").value = written(soon);
  at("until-zone").textContent = `Until, on the clock of ${state.zone}`;
  explainUntil();
  at("ask").showModal();
  at("reason").focus();
}

// What the chosen time is for the reader, and in how long.
function explainUntil() {
  const date = instant(at("until").value), late = date - Date.parse(state.now);
  at("until-here").textContent = Number.isNaN(late) ? "" : late > 0 ? `${clock(date)}, in ${spoken(late)}` : "is over";
}
at("until").addEventListener("input", explainUntil);

at("ask").querySelector("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    const body = { ...asked, reason: at("reason").value, until: instant(at("until").value).toISOString() };
    await call("/api/override", { method: "POST", body: JSON.stringify(body) });
    at("ask").close();
  } catch (error) {
    at("refused").textContent = error.message;
    at("refused").hidden = false;
  }
});
at("cancel").addEventListener("click", () => at("ask").close());
at("filter").addEventListener("input", () => state && draw());
let drawing = 0;
addEventListener("resize", () => { cancelAnimationFrame(drawing); drawing = requestAnimationFrame(() => state && draw()); });
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !(event.target instanceof HTMLInputElement)) { event.preventDefault(); at("filter").focus(); }
});
follow();
