// Holds the conversation of scenario.toml with the official TypeScript SDK, and prints what it saw.

import { createSdkMcpServer, query, tool } from "@anthropic-ai/claude-agent-sdk";
import { z } from "zod";

const [cli, cwd] = process.argv.slice(2);

const add = tool("add", "Adds two numbers", { a: z.number(), b: z.number() }, async ({ a, b }) => {
  console.log("tool", a, b);
  return { content: [{ type: "text", text: String(a + b) }] };
});

const hook = async (input) => {
  console.log("hook", input.hook_event_name, input.tool_name ?? "");
  return {};
};

// The second prompt comes when the first was answered.
let answered;
const first = new Promise((resolve) => (answered = resolve));
let heard;
const second = new Promise((resolve) => (heard = resolve));
async function* prompts() {
  const say = (content) => ({ type: "user", message: { role: "user", content }, parent_tool_use_id: null, session_id: "" });
  yield say("Make a file and add 2 and 3");
  await first;
  yield say("Say good bye");
  await second;
}

const options = {
  pathToClaudeCodeExecutable: cli,
  cwd,
  settingSources: [],
  mcpServers: { calc: createSdkMcpServer({ name: "calc", version: "1.0.0", tools: [add] }) },
  hooks: { PreToolUse: [{ hooks: [hook] }], PostToolUse: [{ matcher: "Bash", hooks: [hook] }] },
  canUseTool: async (name, input) => {
    console.log("permission", name, input.command ?? "");
    return String(input.command ?? "").includes("rm")
      ? { behavior: "deny", message: "keep it" }
      : { behavior: "allow", updatedInput: input };
  },
};

for await (const message of query({ prompt: prompts(), options })) {
  if (message.type === "assistant") {
    for (const block of message.message.content) {
      if (block.type === "text") console.log("text", block.text);
      if (block.type === "tool_use") console.log("call", block.name);
    }
  } else if (message.type === "result") {
    console.log("result", message.subtype, message.is_error, message.result);
    answered ? (answered(), (answered = undefined)) : heard();
  }
}
