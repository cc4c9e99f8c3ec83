"use strict";
const about = JSON.parse(document.getElementById("about-data").textContent);
const events = JSON.parse(document.getElementById("events-data").textContent);
const $ = (id) => document.getElementById(id);
const COLOURS = ["--cyan", "--violet", "--yellow", "--green", "--blue", "--red"];
const SVG = "http://www.w3.org/2000/svg";

document.title = `${about.title} · Duologue`;
document.querySelector("h1").textContent = about.title;
$("about").textContent = about.about;

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
  if (text != null) node.textContent = text;
  return node;
};
const shape = (tag, attributes, text) => {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text != null) node.textContent = text;
  return node;
};
const pretty = (value) => typeof value === "string" ? value : JSON.stringify(value, null, 2);
const contentText = (content) => Array.isArray(content)
  ? content.map((block) => block.type === "text" ? block.text : `[${block.type}]`).join("\n")
  : content == null ? "" : String(content);

// ---- agents: who they are, where they stand -----------------------------------------------------
const agents = new Map();
for (const event of events) {
  if (event.event === "agent_started") {
    const parent = agents.get(event.agent);
    agents.set(event.tool_use_id, {
      name: event.name || "agent", description: event.description || "",
      depth: parent ? parent.depth + 1 : 1, start: event.t, end: null,
      colour: `var(${COLOURS[agents.size % COLOURS.length]})`, marks: [],
    });
  }
  const agent = agents.get(event.event === "agent_finished" ? event.tool_use_id : event.agent);
  if (agent && event.t != null) {
    agent.end = event.t;
    if (event.event === "tool_call") agent.marks.push(event.t);
  }
}

// ---- rows ---------------------------------------------------------------------------------------
const oneLine = (input) => {
  if (!input) return "";
  for (const key of ["command", "file_path", "pattern", "description", "query", "url", "plan", "notebook_path"]) {
    if (typeof input[key] === "string") return input[key].split("\n")[0];
  }
  const text = JSON.stringify(input);
  return text === "{}" ? "" : text;
};
const asked = new Map();
/** What a row shows: a class, a name, a text, and what can be unfolded. */
const describe = (e) => {
  switch (e.event) {
    case "text": return ["k-text", e.aborted ? "text ✗" : "text", e.text];
    case "thinking": return ["k-thinking", "thinking", e.text];
    case "tool_call": return ["k-tool", e.name, oneLine(e.input), e.input];
    case "tool_result": {
      const text = contentText(e.content);
      const first = text.split("\n").map((line) => line.trim()).find((line) => line) || "";
      return [e.is_error ? "k-error" : "k-tool", e.is_error ? "└ error" : "└ result", first.slice(0, 200),
        text.length > 200 || text.includes("\n") ? text : null];
    }
    case "block": return ["k-text", e.kind, "", e.block];
    case "block_abandoned": return ["k-error", "abandoned", `${e.kind}: ${e.text || ""}`];
    case "run_started": return ["", "run", `${e.model || ""} in ${e.cwd || ""}, mode ${e.permission_mode || "?"}`];
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
    case "agent_started": return ["k-agent", "agent ▶", `${e.name || "agent"}${e.background ? " in the background" : ""}: ${e.description || ""}`];
    case "agent_finished": return ["k-agent", "agent ■", `${agents.get(e.tool_use_id)?.name || ""} ${e.status || ""}: ${e.summary || ""}`, e.usage];
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
const build = (event) => {
  const described = describe(event);
  if (!described) return null;
  const [kind, name, text, more] = described;
  const row = element("div", `row ${kind}`);
  const agent = agents.get(event.agent);
  if (agent) {
    row.classList.add("in-agent");
    row.style.setProperty("--depth", agent.depth);
    row.style.setProperty("--agent", agent.colour);
    row.title = `${agent.name}: ${agent.description}`;
  }
  row.append(element("time", "", span(event.t)), element("div", "name", name));
  const body = element("div", kind.includes("k-tool") ? "body code" : "body");
  if (more != null && !(Array.isArray(more) && !more.length)) {
    const details = element("details");
    details.append(element("summary", "", text || "…"));
    // Filled when it is opened: ten thousand results need not be laid out at once.
    details.addEventListener("toggle", () => {
      if (details.open && details.childElementCount === 1) details.append(element("pre", "", pretty(more)));
    });
    body.append(details);
  } else {
    body.textContent = text || "";
  }
  row.append(body);
  rows.push({ row, kind, text: `${name} ${text || ""} ${more == null ? "" : pretty(more)}`.toLowerCase() });
  return row;
};

// In slices, so that the page answers while it is being filled.
const timeline = $("timeline");
let next = 0;
const fill = () => {
  const until = Math.min(next + 400, events.length);
  const slice = document.createDocumentFragment();
  for (; next < until; next++) {
    const row = build(events[next]);
    if (row) slice.append(row);
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
  for (const { row, kind, text } of rows) {
    const shown = (thinking || !kind.includes("k-thinking")) && (control || !/(^| )c$/.test(kind))
      && (!wanted || text.includes(wanted));
    row.hidden = !shown;
    if (shown) hits++;
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
  time: span(end),
};
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
    lane.names.add(agent.name);
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
  if (!end) { $("lanes").textContent = "This file has no times."; return; }
  const shownLanes = lanes.slice(0, 40);
  const [left, width, height] = [150, 850, 20];
  const svg = shape("svg", { viewBox: `0 0 ${left + width + 10} ${shownLanes.length * height + 22}` });
  const x = (t) => left + (t / end) * width;
  shownLanes.forEach((lane, index) => {
    const y = index * height;
    const label = `${"· ".repeat(lane.depth)}${[...lane.names].join(", ")}`;
    svg.append(shape("text", { x: 0, y: y + 14 }, label.length > 24 ? `${label.slice(0, 23)}…` : label));
    svg.append(shape("line", { x1: left, x2: left + width, y1: y + 10, y2: y + 10, class: "axis" }));
    for (const agent of lane.agents) {
      for (const [from, to] of agent === main ? spans : [[agent.start, agent.end]]) {
        if (from == null || to == null) continue;
        const bar = shape("rect", { x: x(from), y: y + 4, width: Math.max(2, x(to) - x(from)), height: 12, rx: 3, fill: agent.colour, opacity: .45 });
        bar.append(shape("title", {}, `${agent.name} ${agent.description || ""}: ${span(from)} to ${span(to)}`));
        svg.append(bar);
      }
      for (const mark of agent.marks.slice(0, 2000)) {
        svg.append(shape("rect", { x: x(mark), y: y + 2, width: 1, height: 16, fill: agent.colour }));
      }
    }
  });
  const bottom = shownLanes.length * height + 16;
  for (let i = 0; i <= 4; i++) {
    svg.append(shape("text", { x: x(end * i / 4), y: bottom, "text-anchor": i === 4 ? "end" : i ? "middle" : "start" }, span(end * i / 4)));
  }
  $("lanes").append(svg);
  if (lanes.length > shownLanes.length) $("lanes").append(element("p", "", `and ${lanes.length - shownLanes.length} more lanes`));
};

const drawPlot = () => {
  if (!turns.length) { $("plot").textContent = "No turn has ended."; return; }
  const [left, width, height] = [60, 880, 110];
  const svg = shape("svg", { viewBox: `0 0 ${left + width + 60} ${height + 34}` });
  const most = Math.max(1, ...turns.map((t) => tokensIn(t.usage) + tokensOut(t.usage)));
  const dearest = Math.max(1e-9, ...turns.map((t) => t.cost_usd || 0));
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
    if (turns.length <= 40 || index % Math.ceil(turns.length / 20) === 0) {
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
    at += 100;
  }
  $("plot").append(svg);
};

drawLanes();
drawPlot();
fill();
