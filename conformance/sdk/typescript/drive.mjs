// The official TypeScript SDK, unmodified, drives `duologue agent`, or the real Claude Code.
//
// Usage: node drive.mjs [--claude PROGRAM] [--json] PATH_TO_DUOLOGUE [THING…]
//
// Needs the packages @anthropic-ai/claude-agent-sdk and zod. Uses no network and no model: every conversation plays a
// scenario, once in the agent itself and once behind our own Messages API on loopback. With --claude, that program is
// driven instead, behind our Messages API alone. Prints one line for each thing, as JSON with --json; exits 1 if one
// does not hold.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { createSdkMcpServer, query, tool } from "@anthropic-ai/claude-agent-sdk";
import { z } from "zod";

const { values: flags, positionals } = parseArgs({
  options: { claude: { type: "string" }, json: { type: "boolean" } },
  allowPositionals: true,
});
const [program, ...wanted] = positionals;
const duologue = resolve(program);
const root = mkdtempSync(join(tmpdir(), "duologue-ts-"));
const home = join(root, "home");
mkdirSync(home);
const claude = flags.claude ? resolve(flags.claude) : join(root, "bin", "claude");
if (!flags.claude) execFileSync(duologue, ["agent", "--install", join(root, "bin")]);

// The SDK passes on nothing but `env`. These variables keep Claude Code quiet: see peers.toml.
const passedOn = /^(PATH$|DISABLE_|IS_SANDBOX$|CLAUDE_CODE_DISABLE_)/;
const quiet = { ...Object.fromEntries(Object.entries(process.env).filter(([name]) => passedOn.test(name))), HOME: home };

// The agent that is driven does not have this.
class Cannot extends Error {}
function needsOurAgent() {
  if (flags.claude) throw new Cannot("only our agent can answer without a model");
}

const bash = (command) => ({ tool: "Bash", input: { command, description: "Do it" } });
const replies = (...says) => ({ replies: says.map((say) => ({ say })) });

// Whether scenarios are played by a Messages API, and those that run.
let overHttp = false;
let servers = [];

// Why the thing that runs expects something else of the real Claude Code: it checks what that is.
let differences = [];
const differs = (reason) => differences.push(reason);

async function served(path) {
  const server = spawn(duologue, ["model", "serve", "--scenario", path], { stdio: ["ignore", "pipe", "ignore"] });
  servers.push(server);
  const line = await new Promise((go) => createInterface({ input: server.stdout }).once("line", go));
  return { ANTHROPIC_BASE_URL: JSON.parse(line).base_url, ANTHROPIC_API_KEY: "made-up-key-for-tests" };
}

async function options(name, scenario, more = {}) {
  const cwd = join(root, overHttp ? "http" : "embedded", name);
  mkdirSync(cwd, { recursive: true });
  const env = { ...quiet, CLAUDE_CONFIG_DIR: join(root, "config") };
  if (scenario) {
    const path = join(cwd, "scenario.json");
    writeFileSync(path, JSON.stringify(scenario));
    Object.assign(env, overHttp ? await served(path) : { DUOLOGUE_SCENARIO: path });
  }
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

// A conversation of several prompts.
function talk(opts) {
  const waiting = [];
  let wake = () => {};
  async function* prompts() {
    for (;;) {
      while (waiting.length === 0) await new Promise((go) => (wake = go));
      const content = waiting.shift();
      if (content === null) return;
      yield { type: "user", message: { role: "user", content }, parent_tool_use_id: null, session_id: "" };
    }
  }
  const push = (content) => {
    waiting.push(content);
    wake();
  };
  const running = query({ prompt: prompts(), options: opts });
  return {
    running,
    // Everything up to the result. `seen` may do something about a message.
    async ask(content, seen = () => {}) {
      push(content);
      const messages = [];
      for (;;) {
        const { value, done } = await running.next();
        if (done) throw new Error("the conversation ended before the result");
        messages.push(value);
        await seen(value);
        if (value.type === "result") return messages;
      }
    },
    async end() {
      push(null);
      try {
        for await (const _ of running);
      } catch {
        // An agent whose last turn failed exits with 1.
      }
    },
  };
}

const result = (messages) => messages.find((message) => message.type === "result");
const system = (messages, subtype) => messages.filter((m) => m.type === "system" && m.subtype === subtype);
const has = (opts, name) => existsSync(join(opts.cwd, name));
const allow = async (_, input) => ({ behavior: "allow", updatedInput: input });
const question = (text, multiSelect = false) => ({
  tool: "AskUserQuestion",
  input: {
    questions: [
      {
        question: text,
        header: "Choice",
        options: [
          { label: "Tea", description: "t" },
          { label: "Milk", description: "m" },
        ],
        multiSelect,
      },
    ],
  },
});

const things = {
  async one_shot() {
    assert.equal(result(await ask("hi", await options("one_shot", replies("Hello ✓ 世界")))).result, "Hello ✓ 世界");
  },
  async offline() {
    needsOurAgent();
    const opts = await options("offline");
    writeFileSync(join(opts.cwd, "a.txt"), "alpha");
    assert.match(result(await ask("read a.txt", opts)).result, /alpha/);
  },
  async many_turns() {
    const chat = talk(await options("many_turns", replies("1", "2")));
    assert.equal(result(await chat.ask("one")).result, "1");
    assert.equal(result(await chat.ask("two")).result, "2");
    await chat.end();
  },
  async permission_allow() {
    const asked = [];
    const canUseTool = async (name, input, more) => {
      asked.push({ name, ...more });
      return allow(name, input);
    };
    const opts = await options("permission_allow", replies([bash("touch yes")], "Done."), { canUseTool });
    const end = result(await ask("go", opts));
    assert.ok(has(opts, "yes") && end.permission_denials.length === 0);
    assert.equal(asked.length, 1);
    assert.ok(asked[0].name === "Bash" && asked[0].suggestions.length > 0 && asked[0].toolUseID);
  },
  async permission_deny() {
    const canUseTool = async () => ({ behavior: "deny", message: "not that" });
    const scenario = { replies: [{ say: [bash("touch no")] }, { say: "A pity.", when: { tool_result: "not that" } }] };
    const opts = await options("permission_deny", scenario, { canUseTool });
    const end = result(await ask("go", opts));
    assert.equal(end.result, "A pity.");
    assert.equal(end.permission_denials[0].tool_name, "Bash");
    assert.ok(!has(opts, "no"));
  },
  async permission_deny_and_interrupt() {
    const canUseTool = async () => ({ behavior: "deny", message: "stop", interrupt: true });
    const opts = await options("permission_stop", replies([bash("touch no")], "Still here."), { canUseTool });
    const chat = talk(opts);
    assert.equal(result(await chat.ask("go")).subtype, "error_during_execution");
    assert.equal(result(await chat.ask("again")).result, "Still here.");
    await chat.end();
    assert.ok(!has(opts, "no"));
  },
  async permission_changed_input() {
    const canUseTool = async (_, input) => ({
      behavior: "allow",
      updatedInput: { ...input, command: "touch changed" },
    });
    const opts = await options("permission_changed", replies([bash("touch yes")], "Done."), { canUseTool });
    await ask("go", opts);
    assert.ok(has(opts, "changed") && !has(opts, "yes"));
  },
  async permission_updates() {
    let asked = 0;
    const canUseTool = async (_, input, { suggestions }) => {
      asked += 1;
      return { behavior: "allow", updatedInput: input, updatedPermissions: suggestions };
    };
    const scenario = replies([bash("touch a")], [bash("touch a")], "Done.");
    await ask("go", await options("permission_updates", scenario, { canUseTool }));
    assert.equal(asked, 1);
  },
  async permission_callback_fails() {
    const canUseTool = async () => {
      throw new Error("out of order");
    };
    const scenario = { replies: [{ say: [bash("touch no")] }, { say: "A pity.", when: { tool_result: "out of order" } }] };
    const opts = await options("permission_fails", scenario, { canUseTool });
    assert.equal(result(await ask("go", opts)).result, "A pity.");
    assert.ok(!has(opts, "no"));
  },
  async rules() {
    const more = { allowedTools: ["Bash(touch *)"], disallowedTools: ["Write"] };
    const write = { tool: "Write", input: { file_path: "b", content: "b" } };
    const opts = await options("rules", replies([bash("touch a")], [write], "Done."), more);
    await ask("go", opts);
    assert.ok(has(opts, "a") && !has(opts, "b"));
  },
  async questions() {
    for (const [several, answer, expected] of [
      [false, "Tea", '"Drink?"="Tea"'],
      [true, "Tea, Milk", '"Drink?"="Tea, Milk"'],
    ]) {
      const canUseTool = async (name, input) => {
        assert.equal(name, "AskUserQuestion");
        assert.equal(input.questions[0].multiSelect, several);
        return { behavior: "allow", updatedInput: { ...input, answers: { "Drink?": answer } } };
      };
      const scenario = {
        replies: [{ say: [question("Drink?", several)] }, { say: "Coming.", when: { tool_result: expected } }],
      };
      assert.equal(result(await ask("ask me", await options("questions", scenario, { canUseTool }))).result, "Coming.");
    }
  },
  async question_skipped() {
    const canUseTool = async () => ({ behavior: "deny", message: "User skipped the question" });
    const scenario = {
      replies: [{ say: [question("Drink?")] }, { say: "Nothing then.", when: { tool_result: "skipped" } }],
    };
    const opts = await options("question_skipped", scenario, { canUseTool });
    assert.equal(result(await ask("ask me", opts)).result, "Nothing then.");
  },
  async plan() {
    const asked = [];
    let shown = { plan: "1. Rest" };
    if (flags.claude) {
      differs("Claude Code requires plans in a file and drops a plan in the call; our agent shows it to the user");
      shown = {};
    }
    const canUseTool = async (name, input) => {
      asked.push([name, input]);
      return { behavior: "allow", updatedInput: input };
    };
    const scenario = replies([{ tool: "ExitPlanMode", input: { plan: "1. Rest" } }], "Resting.");
    const messages = await ask("plan", await options("plan", scenario, { canUseTool, permissionMode: "plan" }));
    assert.equal(result(messages).result, "Resting.");
    assert.equal(system(messages, "init")[0].permissionMode, "plan");
    assert.ok(system(messages, "status").some((message) => message.permissionMode === "default"));
    assert.deepEqual(asked, [["ExitPlanMode", shown]]);
  },
  async plan_revised() {
    const canUseTool = async () => ({ behavior: "deny", message: "sleep more" });
    const scenario = {
      replies: [
        { say: [{ tool: "ExitPlanMode", input: { plan: "1. Rest" } }] },
        { say: "I plan again.", when: { tool_result: "sleep more" } },
      ],
    };
    const opts = await options("plan_revised", scenario, { canUseTool, permissionMode: "plan" });
    assert.equal(result(await ask("plan", opts)).result, "I plan again.");
  },
  async set_model() {
    const chat = talk(await options("set_model", { replies: [{ say: "1" }, { say: "2", when: { model: "haiku" } }] }));
    await chat.ask("one");
    await chat.running.setModel("claude-haiku-4-5");
    const messages = await chat.ask("two");
    assert.equal(result(messages).result, "2");
    assert.equal(system(messages, "init")[0].model, "claude-haiku-4-5");
    await chat.end();
  },
  async set_permission_mode() {
    const write = (path) => ({ tool: "Write", input: { file_path: path, content: "x" } });
    const canUseTool = async () => ({ behavior: "deny", message: "no" });
    const opts = await options("set_mode", replies([write("a")], "1", [write("b")], "2"), { canUseTool });
    const chat = talk(opts);
    await chat.ask("one");
    await chat.running.setPermissionMode("acceptEdits");
    const messages = await chat.ask("two");
    assert.equal(system(messages, "init")[0].permissionMode, "acceptEdits");
    await chat.end();
    assert.ok(!has(opts, "a") && has(opts, "b"));
  },
  async other_controls() {
    const chat = talk(await options("other_controls", replies("1")));
    await chat.ask("one");
    await chat.running.setMaxThinkingTokens(1000);
    assert.ok((await chat.running.getContextUsage()).totalTokens > 0);
    assert.deepEqual(await chat.running.mcpServerStatus(), []);
    assert.ok((await chat.running.readFile("scenario.json")).contents.includes("replies"));
    await chat.end();
  },
  async hooks() {
    const seen = [];
    const note = async (input) => {
      seen.push(input.hook_event_name);
      return {};
    };
    const before = async (input) => {
      seen.push(input.hook_event_name);
      const verdict = input.tool_input.command.includes("rm")
        ? { permissionDecision: "deny", permissionDecisionReason: "no rm" }
        : { permissionDecision: "allow", updatedInput: { ...input.tool_input, command: "touch b" } };
      return { hookSpecificOutput: { hookEventName: "PreToolUse", ...verdict } };
    };
    const hooks = {
      UserPromptSubmit: [{ hooks: [note] }],
      PreToolUse: [{ matcher: "Bash", hooks: [before] }, { matcher: "Write", hooks: [note] }],
      PostToolUse: [{ hooks: [note] }],
      Stop: [{ hooks: [note] }],
    };
    const opts = await options("hooks", replies([bash("touch a")], [bash("rm b")], "Done."), { hooks });
    await ask("go", opts);
    assert.deepEqual(seen, ["UserPromptSubmit", "PreToolUse", "PostToolUse", "PreToolUse", "Stop"]);
    assert.ok(has(opts, "b") && !has(opts, "a"));
  },
  async hook_adds_context_and_sends_back() {
    const context = async () => ({
      hookSpecificOutput: { hookEventName: "UserPromptSubmit", additionalContext: "It is Sunday." },
    });
    const stop = async (input) => (input.stop_hook_active ? {} : { decision: "block", reason: "say goodbye" });
    const scenario = {
      replies: [{ say: "Done.", when: { history: "Sunday" } }, { say: "Goodbye.", when: { history: "say goodbye" } }],
    };
    const hooks = { UserPromptSubmit: [{ hooks: [context] }], Stop: [{ hooks: [stop] }] };
    assert.equal(result(await ask("go", await options("hook_context", scenario, { hooks }))).result, "Goodbye.");
  },
  async sdk_mcp() {
    const add = tool("add", "Adds", { a: z.number(), b: z.number() }, async ({ a, b }) => ({
      content: [{ type: "text", text: String(a + b) }],
    }));
    const fail = tool("fail", "Fails", {}, async () => ({
      content: [{ type: "text", text: "out of paper" }],
      isError: true,
    }));
    const calc = createSdkMcpServer({ name: "calc", tools: [add, fail] });
    const scenario = {
      replies: [
        { say: [{ tool: "mcp__calc__add", input: { a: 2, b: 40 } }] },
        { say: [{ tool: "mcp__calc__fail", input: {} }], when: { tool_result: "42" } },
        { say: "It is 42.", when: { tool_result: "out of paper" } },
      ],
    };
    const more = { mcpServers: { calc }, allowedTools: ["mcp__calc__add", "mcp__calc__fail"] };
    const chat = talk(await options("sdk_mcp", scenario, more));
    const messages = await chat.ask("add");
    assert.equal(result(messages).result, "It is 42.");
    assert.ok(system(messages, "init")[0].tools.includes("mcp__calc__add"));
    const [status] = await chat.running.mcpServerStatus();
    assert.deepEqual([status.name, status.status], ["calc", "connected"]);
    await chat.end();
  },
  async interrupt() {
    const opts = await options("interrupt", replies([bash("touch begun; sleep 60")], "Still here."), { allowedTools: ["Bash"] });
    const chat = talk(opts);
    const stop = async (message) => {
      if (message.type === "assistant") await chat.running.interrupt();
    };
    assert.equal(result(await chat.ask("go", stop)).subtype, "error_during_execution");
    assert.equal(result(await chat.ask("again")).result, "Still here.");
    await chat.end();
  },
  async abort_controller() {
    const abortController = new AbortController();
    const opts = await options("abort", replies([bash("touch begun; sleep 60")]), { allowedTools: ["Bash"], abortController });
    await assert.rejects(async () => {
      for await (const message of query({ prompt: "go", options: opts })) {
        if (message.type === "assistant") abortController.abort();
      }
    });
  },
  async partial() {
    const scenario = {
      replies: [
        { say: [{ thinking: "Let me see." }, "Hello there, friend", bash("touch a")], chunk: 4 },
        { say: "Done.", chunk: 4 },
      ],
    };
    const more = { includePartialMessages: true, allowedTools: ["Bash"] };
    const messages = await ask("hi", await options("partial", scenario, more));
    const events = messages.filter((message) => message.type === "stream_event").map((message) => message.event);
    const deltas = events.filter((event) => event.type === "content_block_delta").map((event) => event.delta);
    const joined = (kind, field) =>
      deltas.filter((delta) => delta.type === kind).map((delta) => delta[field]).join("");
    assert.equal(joined("text_delta", "text"), "Hello there, friendDone.");
    assert.equal(joined("thinking_delta", "thinking"), "Let me see.");
    assert.equal(JSON.parse(joined("input_json_delta", "partial_json")).command, "touch a");
    const kinds = ["message_start", "content_block_start", "content_block_stop", "message_delta", "message_stop"];
    for (const kind of kinds) assert.ok(events.some((event) => event.type === kind), kind);
  },
  async max_turns() {
    const messages = await ask("go", await options("max_turns", replies([bash("ls")], "x"), { maxTurns: 1 }));
    assert.equal(result(messages).subtype, "error_max_turns");
  },
  async max_budget() {
    const scenario = { replies: [{ say: [bash("ls")], usage: { input_tokens: 1000000 } }, { say: "unreached" }] };
    const messages = await ask("go", await options("max_budget", scenario, { maxBudgetUsd: 0.01 }));
    assert.equal(result(messages).subtype, "error_max_budget_usd");
  },
  async structured() {
    const schema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
    const scenario = replies([{ tool: "StructuredOutput", input: { n: 3 } }]);
    const opts = await options("structured", scenario, { outputFormat: { type: "json_schema", schema } });
    assert.deepEqual(result(await ask("count", opts)).structured_output, { n: 3 });
  },
  async structured_second_try() {
    const schema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
    const give = (input) => [{ tool: "StructuredOutput", input }];
    const scenario = replies(give({ m: 1 }), give({ n: 4 }));
    const opts = await options("structured_second", scenario, { outputFormat: { type: "json_schema", schema } });
    assert.deepEqual(result(await ask("count", opts)).structured_output, { n: 4 });
  },
  async resume_and_fork() {
    const first = result(await ask("remember blue", await options("resume", replies("Noted."))));
    const knows = { replies: [{ say: "Blue.", when: { history: "remember blue" } }] };
    const again = result(await ask("which?", await options("resume", knows, { resume: first.session_id })));
    assert.deepEqual([again.result, again.session_id], ["Blue.", first.session_id]);
    const more = { resume: first.session_id, forkSession: true };
    const fork = result(await ask("which?", await options("resume", knows, more)));
    assert.equal(fork.result, "Blue.");
    assert.notEqual(fork.session_id, first.session_id);
    const newest = result(await ask("which?", await options("resume", knows, { continue: true })));
    assert.deepEqual([newest.result, newest.session_id], ["Blue.", fork.session_id]);
  },
  async resume_unknown() {
    const resume = "99999999-2222-4333-8444-555555555555";
    await assert.rejects(ask("hi", await options("resume_unknown", replies("x"), { resume })).then((messages) => {
      throw new Error(result(messages).errors.join());
    }), /No conversation found/);
  },
  async subagents() {
    const delegate = { tool: "Agent", input: { description: "Look", prompt: "look", subagent_type: "scout", run_in_background: false } };
    const scenario = {
      agents: { scout: { system: "You look." } },
      replies: [
        { say: [delegate] },
        { agent: "scout", say: [bash("touch found")] },
        { agent: "scout", say: "All fine." },
        { say: "Fine.", when: { tool_result: "All fine." } },
      ],
    };
    const agents = { scout: { description: "Looks", prompt: "You look." } };
    const opts = await options("subagents", scenario, { agents, allowedTools: ["Bash"] });
    const messages = await ask("delegate", opts);
    assert.equal(result(messages).result, "Fine.");
    const parents = messages.filter((m) => m.type === "assistant").map((m) => m.parent_tool_use_id);
    assert.equal(new Set(parents).size, 2);
    assert.ok(has(opts, "found"));
    assert.equal(system(messages, "task_started").length, 1);
    assert.equal(system(messages, "task_notification")[0].status, "completed");
  },
  async api_error() {
    // The real one sends it again in other shapes before it gives up.
    const scenario = { replies: [{ error: { status: 400, message: "bad thing" }, times: "always" }] };
    const end = result(await ask("go", await options("api_error", scenario)));
    assert.ok(end.is_error && end.result.includes("bad thing"));
  },
  async api_retry() {
    const messages = await ask("go", await options("api_retry", { replies: [{ error: 529 }, { say: "Recovered." }] }));
    assert.equal(result(messages).result, "Recovered.");
    assert.equal(system(messages, "api_retry").length, 1);
  },
  async server_info() {
    const running = query({ prompt: "hi", options: await options("server_info", replies("x")) });
    const commands = await running.supportedCommands();
    assert.ok(commands.some((command) => command.name === "compact"));
    const models = await running.supportedModels();
    assert.ok(models.some((model) => model.value === "default" && model.displayName && model.description));
    assert.ok((await running.supportedAgents()).some((agent) => agent.name === "general-purpose"));
    assert.equal(typeof (await running.accountInfo()), "object");
    for await (const _ of running);
  },
  async system_prompt() {
    const scenario = { replies: [{ say: "Arr.", when: { system: "Talk like a pirate." } }] };
    for (const systemPrompt of [
      "Talk like a pirate.",
      { type: "preset", preset: "claude_code", append: "Talk like a pirate." },
    ]) {
      assert.equal(result(await ask("hi", await options("system_prompt", scenario, { systemPrompt }))).result, "Arr.");
    }
  },
  async large_result() {
    const scenario = { replies: [{ say: { text: "0123456789", repeat: 1048576 } }] };
    assert.equal(result(await ask("go", await options("large", scenario))).result.length, 10485760);
  },
  async large_tool_result() {
    const many = tool("many", "Gives a lot", {}, async () => ({
      content: [{ type: "text", text: "x".repeat(10485760) }],
    }));
    const lot = createSdkMcpServer({ name: "lot", tools: [many] });
    const more = { mcpServers: { lot }, allowedTools: ["mcp__lot__many"] };
    const scenario = replies([{ tool: "mcp__lot__many", input: {} }], "A lot.");
    assert.equal(result(await ask("go", await options("large_tool", scenario, more))).result, "A lot.");
  },
  async unicode() {
    const text = "Zeile\u2028Absatz\u2029 🦀 👩‍👩‍👧 \u0000 ﷽ e\u0301";
    const seen = [];
    const echo = tool("echo", "Echoes", { text: z.string() }, async ({ text }) => {
      seen.push(text);
      return { content: [{ type: "text", text }] };
    });
    const server = createSdkMcpServer({ name: "e", tools: [echo] });
    const more = { mcpServers: { e: server }, allowedTools: ["mcp__e__echo"] };
    const scenario = {
      replies: [
        { say: [{ tool: "mcp__e__echo", input: { text } }], when: { prompt: text } },
        { say: text, when: { tool_result: text } },
      ],
    };
    assert.equal(result(await ask(text, await options("unicode", scenario, more))).result, text);
    assert.deepEqual(seen, [text]);
  },
  async lone_surrogates() {
    // Half a character, as programs cut it: it must neither end the agent nor its conversation.
    const half = "cut \ud83e off";
    const echo = tool("half", "Half", {}, async () => ({ content: [{ type: "text", text: half }] }));
    const server = createSdkMcpServer({ name: "h", tools: [echo] });
    const more = { mcpServers: { h: server }, allowedTools: ["mcp__h__half"] };
    const scenario = {
      replies: [
        { say: [{ tool: "mcp__h__half", input: {} }], when: { prompt: "cut " } },
        { say: "Heard.", when: { tool_result: " off" } },
      ],
    };
    assert.equal(result(await ask(half, await options("surrogates", scenario, more))).result, "Heard.");
  },
  async slash_commands() {
    const chat = talk(await options("slash", replies("one", "two")));
    const first = result(await chat.ask("go"));
    assert.match(result(await chat.ask("/cost")).result, /Total cost/);
    assert.equal(system(await chat.ask("/compact"), "compact_boundary").length, 1);
    await chat.ask("/clear");
    const last = result(await chat.ask("go"));
    assert.equal(last.result, "two");
    assert.notEqual(last.session_id, first.session_id);
    await chat.end();
  },
  async costs_and_broken_streams() {
    const scenario = {
      replies: [
        { say: [{ thinking: "Look." }, bash("touch a")] },
        { say: "This is cut off before its end.", cut_after: 3 },
        { say: "Recovered." },
      ],
    };
    const opts = await options("broken", scenario, { canUseTool: allow });
    const chat = talk(opts);
    const end = result(await chat.ask("go"));
    assert.equal(end.result, "Recovered.");
    assert.ok(end.total_cost_usd > 0 && end.usage.output_tokens > 0 && has(opts, "a"));
    await chat.end();
  },
  // The program of docs/test-offline.md, as it stands there.
  async page() {
    needsOurAgent();
    const docs = process.env.DUOLOGUE_DOCS ?? fileURLToPath(new URL("../../../docs", import.meta.url));
    const page = readFileSync(join(docs, "test-offline.md"), "utf8");
    const [, code] = page.match(/```js\n([^]*?)```/);
    const [, scenario] = page.match(/```toml\n([^]*?)```/);
    const opts = await options("page");
    writeFileSync(join(opts.cwd, "talk.toml"), scenario);
    // Packages are looked for beside the program.
    const file = join(dirname(fileURLToPath(import.meta.url)), "page.mjs");
    writeFileSync(file, code);
    const env = { ...opts.env, CLAUDE: claude };
    try {
      execFileSync(process.execPath, ["--test", file], { cwd: opts.cwd, env, encoding: "utf8" });
    } finally {
      rmSync(file);
    }
  },
};

function tell(thing, verdict, reason) {
  const way = overHttp ? "http" : "embedded";
  if (flags.json) console.log(JSON.stringify({ thing, way, verdict, reason: reason ?? "" }));
  else console.log(`${verdict.padEnd(8)}${thing}, ${way}${reason ? `: ${reason}` : ""}`);
}

let failed = 0;
for (overHttp of flags.claude ? [true] : [false, true]) {
  for (const [thing, hold] of Object.entries(things)) {
    if (wanted.length > 0 && !wanted.includes(thing)) continue;
    let timer;
    try {
      const late = new Promise((_, fail) => (timer = setTimeout(() => fail(new Error("it takes too long")), 60000)));
      await Promise.race([hold(), late]);
      tell(thing, differences.length > 0 ? "differs" : "pass", differences.join("; "));
    } catch (error) {
      if (error instanceof Cannot) {
        tell(thing, "cannot", error.message);
      } else {
        failed += 1;
        tell(thing, "FAIL", error.message.slice(0, 2000));
      }
    }
    clearTimeout(timer);
    differences = [];
    for (const server of servers.splice(0)) server.kill();
  }
}
process.exit(failed ? 1 : 0);
