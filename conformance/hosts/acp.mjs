// Drives an agent through `@agentclientprotocol/claude-agent-acp`, a client that other people wrote: prompt, permission,
// mode, model, cancel, list, fork, load, resume.
//
//   node acp.mjs ADAPTER_DIRECTORY AGENT
//
// The agent answers without a model. Exit code 1 if something does not work.
import { spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import readline from "node:readline";

const [adapter, agent] = process.argv.slice(2);
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "acp-"));
const work = path.join(folder, "work");
fs.mkdirSync(work);
const env = { PATH: process.env.PATH, HOME: folder, CLAUDE_CODE_EXECUTABLE: agent, IS_SANDBOX: "1" };
const program = path.join(
  adapter,
  "node_modules/@agentclientprotocol/claude-agent-acp/dist/index.js",
);
const LIMIT = 60_000;

// Starts the adapter. Returns how to talk to it.
function start() {
  const child = spawn("node", [program], { env, cwd: work, stdio: ["pipe", "pipe", "ignore"] });
  const open = new Map();
  const updates = [];
  const waiting = [];
  let last = 0;
  const send = (message) => child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const note = (message) => {
    updates.push(message);
    for (const check of [...waiting]) check();
  };
  readline.createInterface({ input: child.stdout }).on("line", (line) => {
    const message = JSON.parse(line);
    if (message.method === "session/request_permission") {
      note(message);
      const option = message.params.options.find((option) => option.kind === "allow_once");
      const outcome = { outcome: "selected", optionId: option.optionId };
      send({ id: message.id, result: { outcome } });
    } else if (message.method && message.id !== undefined) {
      send({ id: message.id, result: {} });
    } else if (message.method) {
      note(message);
    } else {
      const { resolve, reject } = open.get(message.id);
      open.delete(message.id);
      if (message.error) reject(new Error(JSON.stringify(message.error)));
      else resolve(message.result);
    }
  });
  const ask = (method, params) =>
    new Promise((resolve, reject) => {
      last += 1;
      open.set(last, { resolve, reject });
      send({ id: last, method, params });
    });
  // Waits until an update fits.
  const until = (fits) =>
    new Promise((resolve) => {
      const check = () => {
        if (updates.some(fits)) {
          waiting.splice(waiting.indexOf(check), 1);
          resolve();
        }
      };
      waiting.push(check);
      check();
    });
  return { ask, until, updates, tell: (method, params) => send({ method, params }), child };
}

let failed = 0;
async function step(name, run) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error("no answer in time")), LIMIT);
  });
  try {
    const result = await Promise.race([run(), late]);
    console.log(`ok    ${name}`);
    return result;
  } catch (error) {
    failed += 1;
    console.log(`FAIL  ${name}: ${error.message}`);
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}
function expect(holds, what) {
  if (!holds) throw new Error(what);
}
const text = (words) => [{ type: "text", text: words }];
const said = (host) =>
  host.updates
    .filter((update) => update.params?.update?.sessionUpdate === "agent_message_chunk")
    .map((update) => update.params.update.content.text)
    .join("");

let host = start();
const hello = { protocolVersion: 1, clientCapabilities: {} };
await step("initialize", () => host.ask("initialize", hello));
const session = await step("new", () => host.ask("session/new", { cwd: work, mcpServers: [] }));
const sessionId = session?.sessionId;
await step("prompt", async () => {
  const answer = await host.ask("session/prompt", { sessionId, prompt: text("say hello") });
  expect(answer.stopReason === "end_turn", `stopReason ${answer.stopReason}`);
  expect(said(host).length > 0, "the agent did not answer");
});
await step("permission", async () => {
  await host.ask("session/prompt", { sessionId, prompt: text("run touch made.txt") });
  const asked = host.updates.filter((update) => update.method === "session/request_permission");
  expect(asked.length === 1, `${asked.length} permission requests`);
  expect(fs.existsSync(path.join(work, "made.txt")), "the command did not run");
});
await step("mode", () => host.ask("session/set_mode", { sessionId, modeId: "acceptEdits" }));
await step("model", async () => {
  const option = { sessionId, configId: "model", value: "haiku" };
  const { configOptions } = await host.ask("session/set_config_option", option);
  const model = configOptions.find((option) => option.id === "model");
  expect(model.currentValue === "haiku", `the model is ${model.currentValue}`);
});
await step("cancel", async () => {
  const before = host.updates.length;
  const prompt = host.ask("session/prompt", { sessionId, prompt: text("run sleep 600") });
  const isCall = (update) => update.params?.update?.sessionUpdate === "tool_call";
  await host.until((update) => isCall(update) && host.updates.indexOf(update) >= before);
  host.tell("session/cancel", { sessionId });
  const answer = await prompt;
  expect(answer.stopReason === "cancelled", `stopReason ${answer.stopReason}`);
});
await step("list", async () => {
  const { sessions } = await host.ask("session/list", { cwd: work });
  expect(sessions.some((known) => known.sessionId === sessionId), "the session is not listed");
});
await step("fork", async () => {
  const fork = await host.ask("session/fork", { sessionId, cwd: work, mcpServers: [] });
  expect(fork.sessionId !== sessionId, "the fork has the same id");
});
host.child.kill();

host = start();
await step("initialize again", () => host.ask("initialize", hello));
await step("load", async () => {
  await host.ask("session/load", { sessionId, cwd: work, mcpServers: [] });
  const chunks = host.updates.filter(
    (update) => update.params?.update?.sessionUpdate === "user_message_chunk",
  );
  const prompts = chunks.map((update) => update.params.update.content.text);
  expect(prompts.includes("say hello"), `the history is ${JSON.stringify(prompts)}`);
});
await step("resume", () => host.ask("session/resume", { sessionId, cwd: work, mcpServers: [] }));
await step("prompt after resume", async () => {
  const answer = await host.ask("session/prompt", { sessionId, prompt: text("say hello again") });
  expect(answer.stopReason === "end_turn", `stopReason ${answer.stopReason}`);
});
host.child.kill();
fs.rmSync(folder, { recursive: true, force: true });
process.exit(failed === 0 ? 0 : 1);
