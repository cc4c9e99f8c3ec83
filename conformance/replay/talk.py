"""Holds the conversation of scenario.toml with the official Python SDK, and prints what it saw."""

import asyncio
import sys

from claude_agent_sdk import (
    AssistantMessage, ClaudeAgentOptions, ClaudeSDKClient, HookMatcher, PermissionResultAllow,
    PermissionResultDeny, ResultMessage, TextBlock, ToolUseBlock, create_sdk_mcp_server, tool,
)


@tool("add", "Adds two numbers", {"a": int, "b": int})
async def add(args):
    print("tool", args["a"], args["b"])
    return {"content": [{"type": "text", "text": str(args["a"] + args["b"])}]}


async def may_use(name, tool_input, context):
    print("permission", name, tool_input.get("command", ""))
    if "rm" in tool_input.get("command", ""):
        return PermissionResultDeny(message="keep it")
    return PermissionResultAllow()


async def hook(data, tool_use_id, context):
    print("hook", data["hook_event_name"], data.get("tool_name", ""))
    return {}


async def main(cli, cwd):
    options = ClaudeAgentOptions(
        cli_path=cli, cwd=cwd, can_use_tool=may_use,
        mcp_servers={"calc": create_sdk_mcp_server(name="calc", version="1.0.0", tools=[add])},
        hooks={"PreToolUse": [HookMatcher(hooks=[hook])], "PostToolUse": [HookMatcher(matcher="Bash", hooks=[hook])]},
        setting_sources=[],
    )
    async with ClaudeSDKClient(options=options) as client:
        for prompt in ["Make a file and add 2 and 3", "Say good bye"]:
            await client.query(prompt)
            async for message in client.receive_response():
                if isinstance(message, AssistantMessage):
                    for block in message.content:
                        if isinstance(block, TextBlock):
                            print("text", block.text)
                        elif isinstance(block, ToolUseBlock):
                            print("call", block.name)
                elif isinstance(message, ResultMessage):
                    print("result", message.subtype, message.is_error, message.result)


asyncio.run(main(*sys.argv[1:]))
