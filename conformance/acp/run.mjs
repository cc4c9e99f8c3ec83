// Runs the clients of this folder and compares what they report. See `run`.
import { execFile, spawn } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

const [here, work, duologue, , python, adapter, cli] = process.argv.slice(2);
const scenario = join(here, "scenario.toml");
const claude = [
  "node_modules/@anthropic-ai/claude-code-linux-x64/claude",
  "node_modules/.bin/claude",
].map((path) => join(cli, path)).find(existsSync);

let count = 0;
/** Runs a client in a home and a directory of its own. Returns its report. */
async function drive(client, command, environment) {
  const place = join(work, `run-${count++}`);
  const [home, directory] = [join(place, "home"), join(place, "work")];
  for (const folder of [home, directory]) mkdirSync(folder, { recursive: true });
  const env = { ...process.env, HOME: home, CLAUDE_CONFIG_DIR: join(home, ".claude"), ...environment };
  const [program, ...args] = [...client, directory, ...command];
  return await new Promise((resolve, reject) => {
    execFile(program, args, { env, timeout: 120_000, maxBuffer: 1 << 24 }, (error, stdout, stderr) => {
      if (error) reject(new Error(`${error.message}\n${stderr}`));
      else resolve(JSON.parse(stdout));
    });
  });
}

/** Serves the scenario while `use` runs: each run begins with its first reply. */
async function withModel(use) {
  const server = spawn(duologue, ["model", "serve", "--scenario", scenario], { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = await new Promise((resolve) => createInterface(server.stdout).once("line", (line) => resolve([line])));
  try {
    return await use({ ANTHROPIC_BASE_URL: JSON.parse(line).base_url });
  } finally {
    server.kill();
  }
}

// What every agent must do. The rest may differ.
const expected = {
  stop: "end_turn",
  text: "I run it.It has run.",
  thoughts: "They want a command.",
  statuses: { toolu_acp_1: "completed" },
};
function faults(report) {
  const found = [];
  const check = (name, actual, wanted) => {
    if (JSON.stringify(actual) !== JSON.stringify(wanted)) {
      found.push(`${name}: ${JSON.stringify(actual)}, not ${JSON.stringify(wanted)}`);
    }
  };
  for (const name of Object.keys(expected)) check(`run.${name}`, report.run[name], expected[name]);
  check("cancelled", report.cancelled.stop, "cancelled");
  check("next", report.next.stop, "end_turn");
  check("listed", report.listed, [true]);
  check("loaded", report.loaded.statuses, expected.statuses);
  check("after", report.after.stop, "end_turn");
  return found;
}

const typescript = ["node", join(work, "client.mjs")];
const py = [join(python, "bin/python"), join(here, "client.py")];
const embedded = [duologue, "acp", "--embedded", "--", "--scenario", scenario];
const real = [duologue, "acp", "--agent", claude];
const reference = ["node", join(adapter, "node_modules/@agentclientprotocol/claude-agent-acp/dist/index.js")];
const runs = [
  ["TypeScript SDK, embedded agent", () => drive(typescript, embedded, {})],
  ["Python SDK, embedded agent", () => drive(py, embedded, {})],
  ["TypeScript SDK, Claude Code", () => withModel((env) => drive(typescript, real, env))],
  ["Python SDK, Claude Code", () => withModel((env) => drive(py, real, env))],
  [
    "TypeScript SDK, claude-agent-acp",
    () => withModel((env) => drive(typescript, reference, { ...env, CLAUDE_CODE_EXECUTABLE: claude })),
  ],
];

let failed = false;
for (const [name, run] of runs) {
  let found, report;
  try {
    report = await run();
    found = faults(report);
  } catch (error) {
    found = [String(error.message ?? error)];
  }
  // The adapter is measured, not tested.
  if (found.length > 0 && !name.includes("claude-agent-acp")) failed = true;
  const cost = report?.resident_kib
    ? ` (${report.resident_kib} KiB resident, ${report.private_kib} KiB of it private; session open after ${report.milliseconds.opened} ms, first update after ${report.milliseconds.first} ms)`
    : "";
  console.log(`${found.length === 0 ? "pass" : "FAIL"}  ${name}${cost}`);
  for (const fault of found) console.log(`      ${fault}`);
}
process.exitCode = failed ? 1 : 0;
