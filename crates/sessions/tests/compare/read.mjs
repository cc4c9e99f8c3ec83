// Lists sessions or reads the messages of one, and prints how many there are: node read.mjs SDK CONFIG [ID]
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
const [sdkDir, config, id] = process.argv.slice(2);
process.env.CLAUDE_CONFIG_DIR = config;
const require = createRequire(pathToFileURL(sdkDir + "/"));
const sdk = await import(pathToFileURL(require.resolve("@anthropic-ai/claude-agent-sdk")));
console.log((id ? await sdk.getSessionMessages(id) : await sdk.listSessions({})).length);
