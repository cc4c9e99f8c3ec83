// The official TypeScript SDK as a client: node client.mjs DIRECTORY COMMAND [ARGUMENTS…]
// Prints one JSON object with what happened. Every message is validated by the SDK.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

const [directory, command, ...args] = process.argv.slice(2);
const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));

const updates = [];
const permissions = [];
let onUpdate = () => {};
const client = acp
  .client({ name: "conformance" })
  .onNotification(acp.methods.client.session.update, ({ params }) => {
    updates.push(params.update);
    onUpdate(params.update);
  })
  .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
    permissions.push(params.options.map((option) => option.kind));
    const option = params.options.find((option) => option.kind === "allow_once");
    return { outcome: { outcome: "selected", optionId: option.optionId } };
  });

const memory = (name) => {
  const status = readFileSync(`/proc/${child.pid}/status`, "utf8");
  return Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)[1]);
};
const kinds = () => [...new Set(updates.map((update) => update.sessionUpdate))].sort();
const text = (kind) =>
  updates.filter((update) => update.sessionUpdate === kind).map((update) => update.content.text).join("");
const statuses = () => {
  const all = {};
  for (const update of updates) if (update.toolCallId && update.status) all[update.toolCallId] = update.status;
  return all;
};

const report = await client.connectWith(stream, async (ctx) => {
  const { agent } = acp.methods;
  const began = performance.now();
  const initialized = await ctx.request(agent.initialize, { protocolVersion: 1, clientCapabilities: {} });
  const { sessionId } = await ctx.request(agent.session.new, { cwd: directory, mcpServers: [] });
  const opened = performance.now() - began;
  const prompt = (text) => ctx.request(agent.session.prompt, { sessionId, prompt: [{ type: "text", text }] });

  const asked = performance.now();
  let first;
  onUpdate = (update) => {
    if (first === undefined && /chunk|tool_call/.test(update.sessionUpdate)) first = performance.now() - asked;
  };
  const ran = await prompt("run a command");
  const run = { stop: ran.stopReason, text: text("agent_message_chunk"), thoughts: text("agent_thought_chunk"), statuses: statuses(), permissions: [...permissions], kinds: kinds() };

  updates.length = 0;
  const began2 = new Promise((resolve) => {
    onUpdate = (update) => update.sessionUpdate === "agent_message_chunk" && resolve();
  });
  const running = prompt("never end");
  await began2;
  await ctx.notify(agent.session.cancel, { sessionId });
  const cancelled = { stop: (await running).stopReason };
  const next = { stop: (await prompt("hello")).stopReason };

  await ctx.request(agent.session.close, { sessionId });
  const listed = await ctx.request(agent.session.list, { cwd: directory });
  updates.length = 0;
  onUpdate = () => {};
  await ctx.request(agent.session.load, { sessionId, cwd: directory, mcpServers: [] });
  const loaded = { user: text("user_message_chunk"), statuses: statuses(), kinds: kinds() };
  const after = { stop: (await prompt("hello")).stopReason };
  return {
    capabilities: initialized.agentCapabilities,
    run, cancelled, next,
    listed: listed.sessions.map((session) => session.sessionId === sessionId),
    loaded, after,
    milliseconds: { opened: Math.round(opened), first: Math.round(first ?? -1) },
    resident_kib: memory("VmRSS"),
    private_kib: memory("RssAnon"),
  };
});
console.log(JSON.stringify(report, null, 1));
child.stdin.end();
await new Promise((resolve) => child.once("exit", resolve));
