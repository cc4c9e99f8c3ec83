// The official TypeScript SDK with an agent that misbehaves. Prints a report.
import { existsSync, statSync } from "node:fs";
import { query } from "@anthropic-ai/claude-agent-sdk";

const [hazard, patience, sleep] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
const tally = { texts: 0, longest: 0, result: false, errors: [], flooded: null, lost: 0, kept: 0 };
let signs = 0;
let reported = false;
const moment = () => new Promise((resolve) => setTimeout(resolve, 50));

function report(end) {
  reported = true;
  console.log(JSON.stringify({ end, ...tally }));
}

let last = 0;
let since = performance.now();
const watch = setInterval(() => {
  if (signs !== last) [last, since] = [signs, performance.now()];
  if (performance.now() - since > patience * 1000) {
    report(reported ? "hangs in close" : "hangs in read");
    process.exit(3);
  }
}, 50);

function see(message) {
  signs += 1;
  if (message.type === "assistant") {
    for (const block of message.message.content) {
      if (block.type === "text") {
        tally.texts += 1;
        tally.longest = Math.max(tally.longest, block.text.length);
      }
    }
  }
  if (message.type === "result") tally.result = true;
}

async function slow() {
  const [flooded, flooding] = ["flooded", "flooding"].map((file) => `${process.env.HAZARD_FOLDER}/${file}`);
  let written = 0;
  let since = performance.now();
  while (!existsSync(flooded) && performance.now() - since < sleep * 1000) {
    await moment();
    signs += 1;
    const now = existsSync(flooding) ? statSync(flooding).size : 0;
    if (now !== written) [written, since] = [now, performance.now()];
  }
  tally.flooded = existsSync(flooded);
}

let done;
const finished = new Promise((resolve) => (done = resolve));
async function* prompt() {
  yield { type: "user", message: { role: "user", content: "Go" }, parent_tool_use_id: null, session_id: "" };
  await finished;
}

const options = { pathToClaudeCodeExecutable: process.env.FLOOD_AGENT };
if (hazard !== "no-callback") {
  options.canUseTool = async (_name, input) => {
    if (hazard === "blocks") Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3000);
    return { behavior: "allow", updatedInput: input };
  };
  options.hooks = { PreToolUse: [{ hooks: [async () => ({})] }] };
}
let conversation = query({ prompt: prompt(), options });
let slept = false;
try {
  let pending;
  while (!tally.result) {
    pending ??= conversation.next();
    if (hazard === "cancelled") {
      // A promise cannot be cancelled: keep it and await it later.
      const late = new Promise((resolve) => setTimeout(resolve, 1, "late"));
      if ((await Promise.race([pending, late])) === "late") continue;
    }
    const { value, done: over } = await pending;
    pending = undefined;
    if (over) break;
    see(value);
    if (hazard === "slow" && tally.texts > 0 && !slept) {
      slept = true;
      await slow();
    }
  }
} catch (error) {
  tally.errors.push(String(error).slice(0, 300));
}
report("done");
if (hazard.endsWith("killed")) {
  for (;;) {
    await moment();
    signs += 1;
  }
}
if (hazard.endsWith("dropped")) {
  conversation = undefined;
  await new Promise((resolve) => setTimeout(resolve, 1000));
  process.exit(0);
}
done();
conversation.close();
clearInterval(watch);
