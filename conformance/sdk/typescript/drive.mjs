// The official TypeScript SDK, unmodified, drives `duologue agent`.
//
// Usage: node drive.mjs PATH_TO_DUOLOGUE [THING…]
//
// Needs the packages @anthropic-ai/claude-agent-sdk and zod. Uses no network and no model: every conversation plays a
// scenario. Prints one line for each thing that holds; exits 1 if one does not.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createSdkMcpServer, query, tool } from "@anthropic-ai/claude-agent-sdk";
import { z } from "zod";

const [duologue, ...wanted] = process.argv.slice(2);
const root = mkdtempSync(join(tmpdir(), "duologue-ts-"));
const claude = join(root, "bin", "claude");
execFileSync(resolve(duologue), ["agent", "--install", join(root, "bin")]);

const bash = (command) => ({ tool: "Bash", input: { command, description: "Do it" } });
const replies = (...says) => ({ replies: says.map((say) => ({ say })) });

function options(name, scenario, more = {}) {
  const cwd = join(root, name);
  mkdirSync(cwd, { recursive: true });
  writeFileSync(join(cwd, "scenario.json"), JSON.stringify(scenario));
  const env = {
    PATH: process.env.PATH,
    HOME: root,
    CLAUDE_CONFIG_DIR: join(root, "config"),
    DUOLOGUE_SCENARIO: join(cwd, "scenario.json"),
  };
  return { pathToClaudeCodeExecutable: claude, cwd, env, settingSources: [], ...more };
}

async function ask(prompt, opts) {
  const messages = [];
  try {
    for await (const message of query({ prompt, options: opts })) messages.push(message);
  } catch (error) {
    // The SDK also throws for an agent that exits with 1; what it said before counts.
    if (!messages.some((message) => message.type === "result")) throw error;
  }
  return messages;
}

const result = (messages) => messages.find((message) => message.type === "result");

const things = {
  async one_shot() {
    assert.equal(result(await ask("hi", options("one_shot", replies("Hello ✓ 世界")))).result, "Hello ✓ 世界");
  },
  async many_turns() {
    let more;
    const gate = () => new Promise((go) => (more = go));
    let next = gate();
    async function* prompts() {
      for (const content of ["one", "two"]) {
        yield { type: "user", message: { role: "user", content }, parent_tool_use_id: null, session_id: "" };
        await next;
        next = gate();
      }
    }
    const said = [];
    for await (const message of query({ prompt: prompts(), options: options("many_turns", replies("1", "2")) })) {
      if (message.type === "result") {
        said.push(message.result);
        more();
      }
    }
    assert.deepEqual(said, ["1", "2"]);
  },
  async permissions() {
    const asked = [];
    const canUseTool = async (name, input, { suggestions }) => {
      asked.push([name, suggestions?.length]);
      if (input.command.includes("no")) return { behavior: "deny", message: "not that" };
      return { behavior: "allow", updatedInput: { ...input, command: "touch changed" } };
    };
    const scenario = replies([bash("touch yes")], [bash("touch no")], "Done.");
    const opts = options("permissions", scenario, { canUseTool });
    const end = result(await ask("go", opts));
    assert.equal(asked.length, 2);
    assert.ok(asked[0][1] > 0);
    assert.ok(existsSync(join(opts.cwd, "changed")) && !existsSync(join(opts.cwd, "no")));
    assert.equal(end.permission_denials.length, 1);
  },
  async hooks() {
    const seen = [];
    const note = async (input) => {
      seen.push(input.hook_event_name);
      return {};
    };
    const allow = async (input) => {
      seen.push(input.hook_event_name);
      return { hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision: "allow" } };
    };
    const hooks = { PreToolUse: [{ hooks: [allow] }], PostToolUse: [{ hooks: [note] }], Stop: [{ hooks: [note] }] };
    const opts = options("hooks", replies([bash("touch a")], "Done."), { hooks });
    await ask("go", opts);
    assert.deepEqual(seen, ["PreToolUse", "PostToolUse", "Stop"]);
    assert.ok(existsSync(join(opts.cwd, "a")));
  },
  async sdk_mcp() {
    const add = tool("add", "Adds", { a: z.number(), b: z.number() }, async ({ a, b }) => ({
      content: [{ type: "text", text: String(a + b) }],
    }));
    const calc = createSdkMcpServer({ name: "calc", tools: [add] });
    const scenario = {
      replies: [
        { say: [{ tool: "mcp__calc__add", input: { a: 2, b: 40 } }] },
        { say: "It is 42.", when: { tool_result: "42" } },
      ],
    };
    const more = { mcpServers: { calc }, allowedTools: ["mcp__calc__add"] };
    assert.equal(result(await ask("add", options("sdk_mcp", scenario, more))).result, "It is 42.");
  },
  async interrupt() {
    const opts = options("interrupt", replies([bash("sleep 60")]), { allowedTools: ["Bash"] });
    let done;
    const end = new Promise((go) => (done = go));
    async function* prompts() {
      yield { type: "user", message: { role: "user", content: "go" }, parent_tool_use_id: null, session_id: "" };
      await end;
    }
    const running = query({ prompt: prompts(), options: opts });
    let subtype;
    try {
      for await (const message of running) {
        if (message.type === "assistant") await running.interrupt();
        if (message.type === "result") {
          subtype = message.subtype;
          done();
        }
      }
    } catch {
      // An interrupted agent exits with 1.
    }
    assert.equal(subtype, "error_during_execution");
  },
  async partial() {
    const scenario = { replies: [{ say: "Hello there, friend", chunk: 4 }] };
    const messages = await ask("hi", options("partial", scenario, { includePartialMessages: true }));
    const events = messages.filter((message) => message.type === "stream_event").map((message) => message.event);
    const pieces = events.filter((event) => event.type === "content_block_delta").map((event) => event.delta.text);
    assert.equal(pieces.join(""), "Hello there, friend");
  },
  async max_turns() {
    const messages = await ask("go", options("max_turns", replies([bash("ls")], "x"), { maxTurns: 1 }));
    assert.equal(result(messages).subtype, "error_max_turns");
  },
  async structured() {
    const schema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
    const scenario = replies([{ tool: "StructuredOutput", input: { n: 3 } }]);
    const opts = options("structured", scenario, { outputFormat: { type: "json_schema", schema } });
    assert.deepEqual(result(await ask("count", opts)).structured_output, { n: 3 });
  },
  async resume_and_fork() {
    const first = result(await ask("remember blue", options("resume", replies("Noted."))));
    const knows = { replies: [{ say: "Blue.", when: { history: "remember blue" } }] };
    const again = result(await ask("which?", options("resume", knows, { resume: first.session_id })));
    assert.deepEqual([again.result, again.session_id], ["Blue.", first.session_id]);
    const more = { resume: first.session_id, forkSession: true };
    const fork = result(await ask("which?", options("resume", knows, more)));
    assert.equal(fork.result, "Blue.");
    assert.notEqual(fork.session_id, first.session_id);
  },
  async subagents() {
    const delegate = { tool: "Agent", input: { description: "Look", prompt: "look", subagent_type: "scout" } };
    const scenario = {
      replies: [
        { say: [delegate] },
        { agent: "sub", say: "All fine." },
        { say: "Fine.", when: { tool_result: "All fine." } },
      ],
    };
    const agents = { scout: { description: "Looks", prompt: "You look." } };
    assert.equal(result(await ask("delegate", options("subagents", scenario, { agents }))).result, "Fine.");
  },
  async server_info() {
    const running = query({ prompt: "hi", options: options("server_info", replies("x")) });
    const commands = await running.supportedCommands();
    assert.ok(commands.some((command) => command.name === "compact"));
    for await (const _ of running);
  },
};

let failed = 0;
for (const [name, thing] of Object.entries(things)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  try {
    let timer;
    const late = new Promise((_, fail) => (timer = setTimeout(() => fail(new Error("it takes too long")), 60000)));
    await Promise.race([thing(), late]);
    clearTimeout(timer);
    console.log(`ok      ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED  ${name}: ${error.message}`);
  }
}
process.exit(failed ? 1 : 0);
