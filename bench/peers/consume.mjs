// The official TypeScript SDK, as its documentation uses it.
import { readFileSync } from "node:fs";
import { query } from "@anthropic-ai/claude-agent-sdk";

let done;
const finished = new Promise((resolve) => (done = resolve));
async function* prompt() {
  yield {
    type: "user",
    message: { role: "user", content: "Go" },
    parent_tool_use_id: null,
    session_id: "",
  };
  await finished;
}

const start = performance.now();
let messages = 0;
const conversation = query({
  prompt: prompt(),
  options: {
    pathToClaudeCodeExecutable: process.env.FLOOD_AGENT,
    includePartialMessages: true,
    canUseTool: async (_name, input) => ({ behavior: "allow", updatedInput: input }),
  },
});
for await (const message of conversation) {
  messages += 1;
  if (message.type === "result") {
    const wall = (performance.now() - start) / 1000;
    const { userCPUTime, systemCPUTime } = process.resourceUsage();
    const peak = /VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))[1];
    console.log(
      JSON.stringify({
        messages,
        wall_s: wall,
        cpu_s: (userCPUTime + systemCPUTime) / 1e6,
        peak_kb: Number(peak),
      }),
    );
    done();
  }
}
