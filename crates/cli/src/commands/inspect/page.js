"use strict";
const about = JSON.parse(document.getElementById("about-data").textContent);
const events = JSON.parse(document.getElementById("events-data").textContent);
const $ = (id) => document.getElementById(id);
const COLOURS = ["--cyan", "--violet", "--yellow", "--green", "--blue", "--red"];
const SVG = "http://www.w3.org/2000/svg";

// ---- texts from outside ------------------------------------------------------------------------
/** Characters that are not seen, or turn the direction of what follows: those of `duologue_protocol::visible`. The first
 * part are those that belong to a picture: a joiner between two emoji, and what says how a symbol looks. */
const HIDDEN = /((?<=\p{Extended_Pictographic}[\uFE0F\u{1F3FB}-\u{1F3FF}]?)\u200D(?=\p{Extended_Pictographic})|(?<=[\d#*\xA9\xAE\u2010-\u2027\u2030-\u205E\u2070-\u3163\u3165-\u3299\u{1F000}-\u{1FAFF}])[\uFE0E\uFE0F])|[\0-\x08\x0B-\x1F\x7F-\x9F\xAD\u034F\u061C\u115F\u1160\u17B4\u17B5\u180B-\u180F\u200B-\u200F\u2028-\u202E\u2060-\u206F\u3164\uFE00-\uFE0F\uFEFF\uFFA0\uFFF0-\uFFFB\u{13430}-\u{1345F}\u{1BCA0}-\u{1BCA3}\u{1D173}-\u{1D17A}\u{E0000}-\u{E0FFF}]/gu;
/** The text with such characters shown by their numbers. Every text of the page goes through here. */
const visible = (text) => String(text).replace(/\r\n/g, "\n").replace(HIDDEN, (hidden, belongs) => {
  const code = hidden.codePointAt(0);
  if (belongs) return hidden;
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  return code === 0x7f ? "\u2421" : `\\u{${code.toString(16)}}`;
});

// ---- small things -------------------------------------------------------------------------------
const span = (ms) => ms == null ? "" : ms < 100000 ? `${(ms / 1000).toFixed(1)}s`
  : `${Math.floor(ms / 60000)}m${String(Math.floor(ms / 1000) % 60).padStart(2, "0")}s`;
const dollars = (n) => n == null ? "" : n === 0 || n >= 0.01 ? `$${n.toFixed(2)}` : `$${n.toFixed(4)}`;
const count = (n) => n < 1000 ? `${n}` : n < 1e6 ? `${(n / 1000).toFixed(1)}k` : `${(n / 1e6).toFixed(1)}M`;
const tokensIn = (u) => u ? (u.input_tokens || 0) + (u.cache_read_input_tokens || 0) + (u.cache_creation_input_tokens || 0) : 0;
const tokensOut = (u) => u && u.output_tokens || 0;
const element = (tag, className, text) => {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text != null) node.textContent = visible(text);
  return node;
};
const shape = (tag, attributes, text) => {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text != null) node.textContent = visible(text);
  return node;
};
const pretty = (value) => typeof value === "string" ? value : JSON.stringify(value, null, 2);
const contentText = (content) => Array.isArray(content)
  ? content.map((block) => block && block.type === "text" ? block.text : `[${block && block.type}]`).join("\n")
  : content == null ? "" : pretty(content);
const lines = (text) => String(text).replace(/\n$/, "").split("\n");

// ---- times: those of a tape, or those that the lines of a capture carry; never made up ----------
const stamps = events.map((event) => event.at == null ? NaN : Date.parse(event.at));
const firstStamp = stamps.find((stamp) => !Number.isNaN(stamp));
events.forEach((event, index) => {
  if (event.t == null && !Number.isNaN(stamps[index])) event.t = Math.max(0, stamps[index] - firstStamp);
});
const hasTimes = events.some((event) => event.t != null);
/** When something happened, on the clock, if that is known. */
const clock = (event) => {
  const stamp = event.at != null ? Date.parse(event.at) : about.recorded_at != null && event.t != null ? about.recorded_at * 1000 + event.t : NaN;
  return Number.isNaN(stamp) || Math.abs(stamp) > 8e15 ? "" : new Date(stamp).toISOString().replace("T", " ").replace(/\.\d+Z$/, " UTC");
};

// ---- agents: who they are, where they stand -----------------------------------------------------
const agents = new Map();
const results = new Map();
for (const event of events) {
  if (event.event === "agent_started") {
    const parent = agents.get(event.agent);
    agents.set(event.tool_use_id, {
      number: agents.size + 1, name: event.name || "agent", description: event.description || "",
      depth: parent ? parent.depth + 1 : 1, start: event.t, end: null,
      colour: `var(${COLOURS[agents.size % COLOURS.length]})`, marks: [],
    });
  }
  if (event.event === "tool_result" && !event.is_error) results.set(event.tool_use_id, event.structured);
  const agent = agents.get(event.event === "agent_finished" ? event.tool_use_id : event.agent);
  if (agent && event.t != null) {
    agent.end = event.t;
    if (event.event === "tool_call") agent.marks.push(event.t);
  }
}
const labelOf = (agent) => agent ? `${agent.number} ${agent.name}` : "main agent";

// ---- edits ----------------------------------------------------------------------------------------
/** The lines of two texts: what both have, what only one has. Large ones are compared at their ends alone. */
let effort = 3e7;
const compared = (before, after) => {
  let [from, ends, rest] = [0, 0, []];
  while (from < before.length && from < after.length && before[from] === after[from]) from++;
  while (ends < before.length - from && ends < after.length - from && before[before.length - 1 - ends] === after[after.length - 1 - ends]) ends++;
  const [a, b] = [before.slice(from, before.length - ends), after.slice(from, after.length - ends)];
  if (a.length * b.length <= Math.min(1e6, effort)) {
    effort -= a.length * b.length;
    // How many lines the rest of both have in common, from each pair of positions on.
    const common = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1));
    for (let i = a.length - 1; i >= 0; i--) {
      for (let j = b.length - 1; j >= 0; j--) common[i][j] = a[i] === b[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
    }
    for (let [i, j] = [0, 0]; i < a.length || j < b.length;) {
      if (i < a.length && j < b.length && a[i] === b[j]) { rest.push(" " + a[i]); i++; j++; }
      else if (i < a.length && (j === b.length || common[i + 1][j] >= common[i][j + 1])) rest.push("-" + a[i++]);
      else rest.push("+" + b[j++]);
    }
  } else rest = [...a.map((line) => "-" + line), ...b.map((line) => "+" + line)];
  return [...before.slice(0, from).map((line) => " " + line), ...rest, ...before.slice(before.length - ends).map((line) => " " + line)];
};
const change = (before, after) => compared(before ? lines(before) : [], after ? lines(after) : []);
const EDITS = new Set(["Edit", "MultiEdit", "Write", "NotebookEdit"]);
/** What a call changes, as the lines of a diff. */
const edited = (call) => {
  const input = call.input || {};
  const text = (value) => typeof value === "string" ? value : "";
  const structured = results.get(call.id);
  const patch = structured && Array.isArray(structured.structuredPatch) ? structured.structuredPatch : [];
  const hunks = patch.filter((hunk) => hunk && Array.isArray(hunk.lines));
  if (hunks.length) return hunks.flatMap((hunk) => [`@@ from line ${hunk.newStart}`, ...hunk.lines.map(String)]);
  switch (call.name) {
    case "Edit": return change(text(input.old_string), text(input.new_string));
    case "MultiEdit": return (Array.isArray(input.edits) ? input.edits : []).flatMap((edit, index) =>
      [`@@ edit ${index + 1}`, ...change(text(edit && edit.old_string), text(edit && edit.new_string))]);
    case "Write": return change("", text(input.content));
    default: return change("", text(input.new_source));
  }
};
const diffBox = (changes) => {
  const box = element("div", "diff");
  for (const line of changes) {
    const kind = { "+": "added", "-": "removed", "@": "hunk" }[line[0]] || "kept";
    box.append(element("div", kind, line));
  }
  return box;
};
const MARKS = new Map([["completed", "☑"], ["in_progress", "◐"], ["pending", "☐"]]);
const todoBox = (todos) => {
  const list = element("ul", "todos");
  for (const todo of todos) {
    const status = todo && MARKS.has(todo.status) ? todo.status : "pending";
    list.append(element("li", status, `${MARKS.get(status)} ${todo && (todo.content || todo.subject) || ""}`));
  }
  return list;
};

// ---- rows ---------------------------------------------------------------------------------------
const oneLine = (input) => {
  if (!input) return "";
  for (const key of ["command", "file_path", "pattern", "subject", "description", "query", "url", "plan", "notebook_path"]) {
    if (typeof input[key] === "string") return input[key].split("\n")[0];
  }
  const text = JSON.stringify(input);
  return text === "{}" ? "" : text;
};
const todoSummary = (todos) => `${todos.filter((todo) => todo && todo.status === "completed").length} of ${todos.length} done`;
let unfolded = 0;
const asked = new Map();
/** What a row shows: a class, a name, a text, what can be unfolded, what shows it, and whether it is unfolded. */
const describe = (e) => {
  switch (e.event) {
    case "text": return ["k-text", e.aborted ? "text ✗" : "text", e.text];
    case "thinking": return ["k-thinking", "thinking", e.text];
    case "tool_call": {
      if (EDITS.has(e.name) && e.input) {
        // Small edits are unfolded from the start, as long as there are not too many of them.
        const size = lines(JSON.stringify(e.input).replaceAll("\\n", "\n")).length;
        const open = size <= 80 && unfolded + size <= 20000;
        if (open) unfolded += size;
        return ["k-tool", e.name, oneLine(e.input), e.input, () => diffBox(edited(e)), open];
      }
      const todos = e.name === "TodoWrite" && e.input && e.input.todos;
      if (Array.isArray(todos)) return ["k-tool", e.name, todoSummary(todos), e.input, () => todoBox(todos), true];
      return ["k-tool", e.name, oneLine(e.input), e.input];
    }
    case "tool_result": {
      const text = contentText(e.content);
      const first = text.split("\n").map((line) => line.trim()).find((line) => line) || "";
      return [e.is_error ? "k-error" : "k-tool", e.is_error ? "└ error" : "└ result", first.slice(0, 200),
        text.length > 200 || text.includes("\n") ? text : null];
    }
    case "block": return ["k-text", e.kind, "", e.block];
    case "block_abandoned": return ["k-error", "abandoned", `${e.kind}: ${e.text || ""}`];
    case "run_started": return ["", "run", [e.version && `version ${e.version}`, e.model, e.cwd && `in ${e.cwd}`, `mode ${e.permission_mode || "?"}`].filter(Boolean).join(", ")];
    case "turn_started": return ["turn", `turn ${e.turn}`, ""];
    case "turn_finished": return [e.outcome === "error" ? "k-error" : "k-text", "turn end",
      [e.outcome, dollars(e.cost_usd), `${count(tokensIn(e.usage))} in, ${count(tokensOut(e.usage))} out`, span(e.duration_ms),
        e.outcome === "error" ? e.error : "", e.text_differs ? "the result says something else than the answer" : ""]
        .filter(Boolean).join(" · "), e];
    case "prompt_queued": return ["k-prompt", "prompt", e.text];
    case "prompt_accepted": return e.text ? ["k-prompt", "prompt", e.text] : null;
    case "prompt_merged": return ["k-prompt", "prompt", "taken into this turn"];
    case "prompt_cancelled": return ["k-prompt", "prompt", `${e.state} ${e.uuid || ""}`];
    case "permission_asked": asked.set(e.request_id, e.tool_name); return ["k-ask", "may I?", `${e.tool_name}${e.reason ? `: ${e.reason}` : ""}`, e.suggestions];
    case "permission_resolved": return ["k-ask", "└ host", `${e.behavior} ${asked.get(e.request_id) || ""}${e.message ? `: ${e.message}` : ""}`, e.changed_input || e.updates];
    case "permission_withdrawn": return ["k-ask", "└ agent", "no longer asks"];
    case "permission_denied": return ["k-error", "denied", `${e.tool_name}: ${e.message || ""}`];
    case "question_answered": return ["k-ask", "answer", Object.entries(e.answers || {}).map(([q, a]) => `${q} → ${a}`).join("\n")];
    case "question_skipped": return ["k-ask", "skipped", e.message];
    case "plan_proposed": return ["k-ask", "plan", e.plan];
    case "plan_approved": return ["k-ask", "plan", "approved"];
    case "plan_sent_back": return ["k-ask", "plan", `sent back: ${e.message || ""}`];
    case "plan_rejected": return ["k-ask", "plan", "rejected"];
    case "agent_started": return ["k-agent", "agent ▶", `${labelOf(agents.get(e.tool_use_id))}${e.background ? " in the background" : ""}: ${e.description || ""}`];
    case "agent_finished": return ["k-agent", "agent ■", `${agents.has(e.tool_use_id) ? labelOf(agents.get(e.tool_use_id)) : ""} ${e.status || ""}${e.summary ? `: ${e.summary}` : ""}`, e.usage];
    case "agent_progress": return ["k-agent", "agent", e.description];
    case "task_started": return ["k-agent", "task ▶", e.description];
    case "task_finished": return ["k-agent", "task ■", e.summary];
    case "hook_called": return ["k-ask c", "hook", `${e.hook_event} → ${e.callback_id || ""}`];
    case "hook_answered": return ["k-ask c", "└ says", e.error || JSON.stringify(e.output)];
    case "hook_ran": return ["k-ask c", "hook", `${e.hook_name} ${e.outcome || ""}`];
    case "mcp_call": return ["k-tool c", "mcp", `${e.server} ${e.method || ""} ${e.tool || ""}`];
    case "control_request": return ["c", "host asks", e.subtype];
    case "control_response": return e.error ? ["k-error c", "└ error", e.error] : null;
    case "mode_changed": return ["", "mode", e.mode];
    case "compacted": return ["", "compacted", e.error || `${e.pre_tokens} tokens → ${e.post_tokens}`];
    case "api_retry": return ["k-error", "retry", `${e.attempt} of ${e.max_retries}: ${e.error} ${e.status || ""}`];
    case "model_fallback": return ["k-error", "model", `${e.from} → ${e.to || "none"}`];
    case "rate_limit": return ["", "limit", `${e.kind} ${e.status}`];
    case "error": return ["k-error", "error", `${e.kind}: ${e.message}`];
    case "notice": return ["k-notice", "notice", `${e.kind}${e.text ? `: ${e.text}` : ""}`];
    case "context": return ["k-context", "context", e.text];
    case "interrupted": return ["k-error", "✗", "interrupted"];
    case "conversation_reset": return ["turn", "anew", "the conversation starts anew"];
    case "session_changed": return ["", "session", e.to];
    case "unknown_line": return ["k-error", "unknown", `${e.kind} ${e.subtype || ""}`, e.line];
    case "malformed_line": return ["k-error", "malformed", e.reason, e.excerpt];
    case "limit_reached": return ["k-error", "limit", `more than ${e.limit_bytes} bytes are open: not all of it is followed`];
    case "process": return ["k-notice", "process", e.text];
    case "stderr": return ["k-notice", "stderr", e.text];
    default: return null;
  }
};

const rows = [];
let speaker = null;
const build = (event) => {
  const described = describe(event);
  if (!described) return [];
  const [kind, name, text, more, show, open] = described;
  const agent = agents.get(event.agent) || null;
  const built = [];
  if (agent !== speaker && !kind.startsWith("turn")) {
    // Name the agent where it changes.
    const heading = element("div", agent ? "row who in-agent" : "row who", labelOf(agent));
    if (agent) place(heading, agent);
    if (agent || speaker) {
      built.push(heading);
      rows.push({ row: heading, kind: "who", text: "" });
    }
    speaker = agent;
  }
  const row = element("div", `row ${kind}`);
  const head = element("div", "name");
  if (agent) {
    place(row, agent);
    head.append(element("span", "chip", agent.number));
  }
  head.append(visible(name));
  const time = element("time", "", span(event.t));
  const when = clock(event);
  if (when) time.title = when;
  row.append(time, head);
  const body = element("div", kind.includes("k-tool") ? "body code" : "body");
  if (more != null && !(Array.isArray(more) && !more.length)) {
    const details = element("details");
    details.append(element("summary", "", text || "…"));
    // Filled when it is opened: ten thousand results need not be laid out at once.
    const fill = () => {
      if (details.open && details.childElementCount === 1) details.append(show ? show() : element("pre", "", pretty(more)));
    };
    details.addEventListener("toggle", fill);
    details.open = Boolean(open);
    fill();
    body.append(details);
  } else {
    body.textContent = visible(text || "");
  }
  row.append(body);
  rows.push({ row, kind, text: `${name} ${text || ""} ${more == null ? "" : pretty(more)}`.toLowerCase() });
  built.push(row);
  return built;
};
const place = (row, agent) => {
  row.classList.add("in-agent");
  row.style.setProperty("--depth", Math.min(agent.depth, 5));
  row.style.setProperty("--agent", agent.colour);
  row.title = visible(`${labelOf(agent)}: ${agent.description}`);
};

// In slices, so that the page answers while it is being filled.
const timeline = $("timeline");
let next = 0;
const fill = () => {
  const until = Math.min(next + 400, events.length);
  const slice = document.createDocumentFragment();
  for (; next < until; next++) {
    try {
      slice.append(...build(events[next]));
    } catch (error) {
      slice.append(element("div", "row k-error", `event ${next + 1} cannot be shown: ${error}`));
    }
  }
  timeline.append(slice);
  if (next < events.length) requestAnimationFrame(fill);
  else { apply(); document.body.dataset.ready = "true"; }
};

// ---- search and switches ------------------------------------------------------------------------
const apply = () => {
  const wanted = $("search").value.trim().toLowerCase();
  const thinking = $("thinking").checked;
  const control = $("control").checked;
  let hits = 0;
  let heading = null;
  for (const { row, kind, text } of rows) {
    if (kind === "who") { heading = row; row.hidden = true; continue; }
    const shown = (thinking || !kind.includes("k-thinking")) && (control || !/(^| )c$/.test(kind))
      && (!wanted || text.includes(wanted));
    row.hidden = !shown;
    if (shown) {
      hits++;
      // A heading is shown with the first row under it.
      if (heading && !kind.startsWith("turn")) { heading.hidden = false; heading = null; }
    }
  }
  $("hits").textContent = wanted ? `${hits} found` : `${hits} rows`;
};
let timer;
$("search").addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(apply, 120); });
$("thinking").addEventListener("change", apply);
$("control").addEventListener("change", apply);
$("unfold").addEventListener("click", (click) => {
  const open = click.target.textContent === "unfold all";
  for (const details of timeline.querySelectorAll(".row:not([hidden]) details")) details.open = open;
  click.target.textContent = open ? "fold all" : "unfold all";
});

// ---- totals, lanes, plot ------------------------------------------------------------------------
const started = events.find((e) => e.event === "run_started") || {};
document.title = visible(`${about.title} · Duologue`);
document.querySelector("h1").textContent = visible(about.title);
$("about").textContent = visible([
  about.program, about.version || started.version ? `version ${started.version || about.version}` : "", started.model,
  started.cwd, events.length ? clock(events.find((e) => clock(e)) || {}) : "",
].filter(Boolean).join(" · "));
document.body.classList.toggle("no-times", !hasTimes);
const turns = events.filter((e) => e.event === "turn_finished");
const times = events.map((e) => e.t).filter((t) => t != null);
const end = times.reduce((a, b) => Math.max(a, b), 0);
const totals = {
  turns: turns.length,
  "tool calls": events.filter((e) => e.event === "tool_call").length,
  agents: agents.size + 1,
  cost: dollars(turns.reduce((sum, t) => sum + (t.cost_usd || 0), 0)),
  "tokens in": count(turns.reduce((sum, t) => sum + tokensIn(t.usage), 0)),
  "tokens out": count(turns.reduce((sum, t) => sum + tokensOut(t.usage), 0)),
};
if (hasTimes) totals.time = span(end);
else if (turns.some((t) => t.duration_ms != null)) totals["time of turns"] = span(turns.reduce((sum, t) => sum + (t.duration_ms || 0), 0));
for (const [name, value] of Object.entries(totals)) {
  const box = element("div");
  box.append(element("dt", "", name), element("dd", "", value));
  $("totals").append(box);
}

/** Agents of one depth that do not overlap share a lane. */
const packed = () => {
  const lanes = [];
  for (const agent of agents.values()) {
    if (agent.start == null || agent.end == null) continue;
    let lane = lanes.find((other) => other.depth === agent.depth && other.end < agent.start);
    if (!lane) lanes.push(lane = { depth: agent.depth, end: 0, agents: [], names: new Set() });
    lane.end = agent.end;
    lane.agents.push(agent);
    lane.names.add(labelOf(agent));
  }
  return lanes.sort((a, b) => a.depth - b.depth);
};

const drawLanes = () => {
  const main = { name: "main agent", colour: "var(--green)", marks: [] };
  const spans = [];
  let started = null;
  for (const e of events) {
    if (e.event === "turn_started") started = e.t;
    if (e.event === "turn_finished") { spans.push([started, e.t]); started = null; }
    if (e.event === "tool_call" && !e.agent && e.t != null) main.marks.push(e.t);
  }
  if (started != null) spans.push([started, end]);
  const lanes = [{ depth: 0, agents: [main], names: new Set(["main agent"]) }, ...packed()];
  $("lanes").replaceChildren();
  if (!hasTimes || !end) { $("lanes").textContent = "The lines of this file carry no times."; return; }
  const shownLanes = lanes.slice(0, 40);
  const all = Math.max(240, $("lanes").clientWidth);
  const left = Math.min(150, Math.round(all * .28));
  const [width, height] = [all - left - 10, 20];
  const svg = shape("svg", { viewBox: `0 0 ${all} ${shownLanes.length * height + 22}`, width: all });
  const x = (t) => left + (t / end) * width;
  shownLanes.forEach((lane, index) => {
    const y = index * height;
    const label = visible(`${"· ".repeat(lane.depth)}${[...lane.names].join(", ")}`);
    svg.append(shape("text", { x: 0, y: y + 14 }, label.length > left / 6 ? `${label.slice(0, left / 6 - 1)}…` : label));
    svg.append(shape("line", { x1: left, x2: left + width, y1: y + 10, y2: y + 10, class: "axis" }));
    for (const agent of lane.agents) {
      for (const [from, to] of agent === main ? spans : [[agent.start, agent.end]]) {
        if (from == null || to == null) continue;
        const bar = shape("rect", { x: x(from), y: y + 4, width: Math.max(2, x(to) - x(from)), height: 12, rx: 3, fill: agent.colour, opacity: .45 });
        bar.append(shape("title", {}, `${agent === main ? main.name : labelOf(agent)} ${agent.description || ""}: ${span(from)} to ${span(to)}`));
        svg.append(bar);
      }
      for (const mark of agent.marks.slice(0, 2000)) {
        svg.append(shape("rect", { x: x(mark), y: y + 2, width: 1, height: 16, fill: agent.colour }));
      }
    }
  });
  const bottom = shownLanes.length * height + 16;
  const ticks = width < 400 ? 2 : 4;
  for (let i = 0; i <= ticks; i++) {
    svg.append(shape("text", { x: x(end * i / ticks), y: bottom, "text-anchor": i === ticks ? "end" : i ? "middle" : "start" }, span(end * i / ticks)));
  }
  $("lanes").append(svg);
  if (lanes.length > shownLanes.length) $("lanes").append(element("p", "", `and ${lanes.length - shownLanes.length} more lanes`));
};

const drawPlot = () => {
  $("plot").replaceChildren();
  if (!turns.length) { $("plot").textContent = "No turn has ended."; return; }
  const all = Math.max(240, $("plot").clientWidth);
  const left = 44;
  const [width, height] = [all - left - 60, 110];
  const svg = shape("svg", { viewBox: `0 0 ${all} ${height + 34}`, width: all });
  const largest = (values, least) => values.reduce((a, b) => Math.max(a, b), least);
  const most = largest(turns.map((t) => tokensIn(t.usage) + tokensOut(t.usage)), 1);
  const dearest = largest(turns.map((t) => t.cost_usd || 0), 1e-9);
  const step = width / turns.length;
  const bar = Math.max(1, Math.min(46, step * .7));
  svg.append(shape("line", { x1: left, x2: left + width, y1: height, y2: height, class: "axis" }));
  svg.append(shape("text", { x: left - 6, y: 10, "text-anchor": "end" }, count(most)));
  svg.append(shape("text", { x: left - 6, y: height, "text-anchor": "end" }, "0"));
  svg.append(shape("text", { x: left + width + 6, y: 10 }, dollars(dearest)));
  const points = [];
  turns.forEach((turn, index) => {
    const middle = left + step * (index + .5);
    const scale = (n) => (n / most) * (height - 8);
    const [read, written] = [scale(tokensIn(turn.usage)), scale(tokensOut(turn.usage))];
    const title = `turn ${turn.turn}: ${turn.outcome}, ${count(tokensIn(turn.usage))} in, ${count(tokensOut(turn.usage))} out, ${dollars(turn.cost_usd)}`;
    for (const [y, tall, colour] of [[height - read, read, "var(--blue)"], [height - read - written, written, "var(--green)"]]) {
      const rect = shape("rect", { x: middle - bar / 2, y, width: bar, height: Math.max(0, tall), fill: colour, opacity: .65 });
      rect.append(shape("title", {}, title));
      svg.append(rect);
    }
    points.push(`${middle},${height - ((turn.cost_usd || 0) / dearest) * (height - 8)}`);
    if (index % Math.ceil(turns.length * 26 / width) === 0) {
      svg.append(shape("text", { x: middle, y: height + 14, "text-anchor": "middle" }, turn.turn));
    }
  });
  svg.append(shape("polyline", { points: points.join(" "), fill: "none", stroke: "var(--yellow)", "stroke-width": 2 }));
  for (const point of turns.length <= 200 ? points : []) {
    const [cx, cy] = point.split(",");
    svg.append(shape("circle", { cx, cy, r: 3, fill: "var(--yellow)" }));
  }
  let at = left;
  for (const [colour, words] of [["var(--blue)", "tokens in"], ["var(--green)", "tokens out"], ["var(--yellow)", "cost"]]) {
    svg.append(shape("rect", { x: at, y: height + 22, width: 10, height: 10, fill: colour }));
    svg.append(shape("text", { x: at + 14, y: height + 31 }, words));
    at += 86;
  }
  $("plot").append(svg);
};

const draw = () => { drawLanes(); drawPlot(); };
let resizing;
addEventListener("resize", () => { clearTimeout(resizing); resizing = setTimeout(draw, 120); });
draw();
fill();
