// Prints what the TypeScript SDK says about the sessions below a config directory: node report.mjs SDK CONFIG PROJECT
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
const [sdkDir, config, project] = process.argv.slice(2);
process.env.CLAUDE_CONFIG_DIR = config;
const require = createRequire(pathToFileURL(sdkDir + "/"));
const sdk = await import(pathToFileURL(require.resolve("@anthropic-ai/claude-agent-sdk")));

const info = (it) => it && {
  id: it.sessionId, summary: it.summary, title: it.customTitle ?? null, firstPrompt: it.firstPrompt ?? null,
  gitBranch: it.gitBranch ?? null, cwd: it.cwd ?? null, tag: it.tag ?? null, created: it.createdAt ?? null,
  size: it.fileSize ?? null, archived: it.archived ?? null, modified: it.lastModified,
};
const message = (it) => ({
  type: it.type, uuid: it.uuid, session: it.session_id ?? null, message: it.message ?? null,
  call: it.parent_tool_use_id, agent: it.parent_agent_id, time: it.timestamp ?? null, meta: it.is_meta ?? false,
  summary: it.isCompactSummary ?? false, queued: it.isQueuedCommand ?? false, local: it.isCompletedLocalCommand ?? false,
  origin: it.origin ?? null,
});
const report = {
  all: (await sdk.listSessions({})).map(info),
  project: (await sdk.listSessions({ dir: project })).map(info),
  page: (await sdk.listSessions({ limit: 2, offset: 1 })).map(info),
  people: (await sdk.listSessions({ includeProgrammatic: false })).map((it) => it.sessionId),
  sessions: {},
};
for (const { id } of report.all) {
  const agents = (await sdk.listSubagents(id)).sort();
  report.sessions[id] = {
    info: info(await sdk.getSessionInfo(id)),
    messages: (await sdk.getSessionMessages(id)).map(message),
    system: (await sdk.getSessionMessages(id, { includeSystemMessages: true })).map((it) => it.uuid),
    page: (await sdk.getSessionMessages(id, { limit: 2, offset: 1 })).map((it) => it.uuid),
    agents: Object.fromEntries(await Promise.all(agents.map(async (agent) => [agent, (await sdk.getSubagentMessages(id, agent)).map(message)]))),
  };
}
console.log(JSON.stringify(report));
