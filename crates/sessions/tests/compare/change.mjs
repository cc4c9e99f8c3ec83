// Changes a stored session with the TypeScript SDK: node change.mjs SDK CONFIG ID CHANGE…, as the example `change` does
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
const [sdkDir, config, id, change, argument] = process.argv.slice(2);
process.env.CLAUDE_CONFIG_DIR = config;
const require = createRequire(pathToFileURL(sdkDir + "/"));
const sdk = await import(pathToFileURL(require.resolve("@anthropic-ai/claude-agent-sdk")));
const changes = {
  rename: () => sdk.renameSession(id, argument),
  tag: () => sdk.tagSession(id, argument),
  untag: () => sdk.tagSession(id, null),
  archive: () => sdk.archiveSession(id),
  unarchive: () => sdk.unarchiveSession(id),
  fork: async () => (await sdk.forkSession(id, { upToMessageId: argument })).sessionId,
  delete: () => sdk.deleteSession(id),
};
console.log(JSON.stringify((await changes[change]()) ?? null));
