"""The official Python SDK, unmodified, drives `duologue agent`, or the real Claude Code.

Usage: drive.py [--claude PROGRAM] [--json] PATH_TO_DUOLOGUE [THING…]

Needs the package claude-agent-sdk. Uses no network and no model: every conversation plays a scenario, once in the agent itself
and once behind our own Messages API on loopback, or is carried out by the agent's offline model. With --claude, that program is
driven instead, behind our Messages API alone. Prints one line for each thing, as JSON with --json; exits 1 if one does not hold.
"""

import argparse
import asyncio
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from claude_agent_sdk import (
    AgentDefinition,
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    HookMatcher,
    PermissionResultAllow,
    PermissionResultDeny,
    ResultMessage,
    StreamEvent,
    SystemMessage,
    TextBlock,
    ToolUseBlock,
    create_sdk_mcp_server,
    query,
    tool,
)

ROOT = Path(tempfile.mkdtemp(prefix="duologue-sdk-"))
CONFIG = ROOT / "config"
HOME = ROOT / "home"

parser = argparse.ArgumentParser()
parser.add_argument("--claude", type=Path)
parser.add_argument("--json", action="store_true")
parser.add_argument("duologue", type=Path)
parser.add_argument("things", nargs="*")
ARGS = parser.parse_args()
DUOLOGUE = ARGS.duologue.resolve()
CLAUDE = ARGS.claude.absolute() if ARGS.claude else ROOT / "bin" / "claude"

class Cannot(Exception):
    """The agent that is driven does not have this."""


def needs_our_agent():
    if ARGS.claude:
        raise Cannot("only our agent can answer without a model")


# Whether scenarios are played by a Messages API, and those that run.
OVER_HTTP = False
SERVERS = []

# Why the thing that runs expects something else of the real Claude Code.
DIFFERENCES = []


def differs(reason):
    """This holds, but not as with our agent: the thing itself checks how."""
    DIFFERENCES.append(reason)


def served(path):
    command = [str(DUOLOGUE), "model", "serve", "--scenario", str(path)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    SERVERS.append(server)
    return {"ANTHROPIC_BASE_URL": json.loads(server.stdout.readline())["base_url"], "ANTHROPIC_API_KEY": "made-up-key-for-tests"}


def folder(name):
    path = ROOT / ("http" if OVER_HTTP else "embedded") / name
    path.mkdir(parents=True, exist_ok=True)
    return path


def options(name, scenario=None, **more):
    cwd = folder(name)
    env = {"HOME": str(HOME), "CLAUDE_CONFIG_DIR": str(CONFIG), "ANTHROPIC_API_KEY": "", "ANTHROPIC_BASE_URL": "", "ANTHROPIC_AUTH_TOKEN": ""}
    if scenario is not None:
        path = cwd / "scenario.json"
        path.write_text(json.dumps(scenario))
        env.update(served(path) if OVER_HTTP else {"DUOLOGUE_SCENARIO": str(path)})
    return ClaudeAgentOptions(cli_path=str(CLAUDE), cwd=str(cwd), env=env, setting_sources=[], **more)


def replies(*says):
    return {"replies": [{"say": say} for say in says]}


def bash(command):
    return {"tool": "Bash", "input": {"command": command, "description": "Do it"}}


async def ask(prompt, opts):
    return [message async for message in query(prompt=prompt, options=opts)]


def result_of(messages):
    results = [message for message in messages if isinstance(message, ResultMessage)]
    assert len(results) == 1, messages
    return results[0]


def texts(messages):
    return [
        block.text
        for message in messages
        if isinstance(message, AssistantMessage)
        for block in message.content
        if isinstance(block, TextBlock)
    ]


async def one_shot():
    messages = await ask("hi", options("one_shot", replies("Hello ✓ 世界")))
    assert texts(messages) == ["Hello ✓ 世界"]
    assert not result_of(messages).is_error


async def offline():
    needs_our_agent()
    (folder("offline") / "a.txt").write_text("alpha")
    messages = await ask("read a.txt", options("offline"))
    assert "alpha" in result_of(messages).result


async def many_turns():
    async with ClaudeSDKClient(options("many_turns", replies("one", "two"))) as client:
        for expected in ("one", "two"):
            await client.query("next")
            messages = [message async for message in client.receive_response()]
            assert result_of(messages).result == expected


async def permissions():
    asked = []

    async def decide(name, tool_input, context):
        asked.append((name, tool_input, context.suggestions))
        if "no" in tool_input["command"]:
            return PermissionResultDeny(message="not that")
        return PermissionResultAllow(updated_input={**tool_input, "command": "touch changed"})

    scenario = replies([bash("touch yes")], [bash("touch no")], "Done.")
    async with ClaudeSDKClient(options("permissions", scenario, can_use_tool=decide)) as client:
        await client.query("go")
        messages = [message async for message in client.receive_response()]
    here = folder("permissions")
    assert (here / "changed").exists() and not (here / "yes").exists() and not (here / "no").exists()
    assert len(asked) == 2 and asked[0][2], asked
    assert len(result_of(messages).permission_denials) == 1


async def permission_deny_and_interrupt():
    async def decide(name, tool_input, context):
        return PermissionResultDeny(message="stop", interrupt=True)

    async with ClaudeSDKClient(options("deny_stop", replies([bash("touch no")], "Still here."), can_use_tool=decide)) as client:
        await client.query("go")
        messages = [message async for message in client.receive_response()]
        assert result_of(messages).subtype == "error_during_execution"
        await client.query("again")
        messages = [message async for message in client.receive_response()]
        assert result_of(messages).result == "Still here."
    assert not (folder("deny_stop") / "no").exists()


async def permission_callback_fails():
    async def decide(name, tool_input, context):
        raise RuntimeError("out of order")

    scenario = {"replies": [{"say": [bash("touch no")]}, {"say": "A pity.", "when": {"tool_result": "out of order"}}]}
    async with ClaudeSDKClient(options("decide_fails", scenario, can_use_tool=decide)) as client:
        await client.query("go")
        messages = [message async for message in client.receive_response()]
    assert result_of(messages).result == "A pity."
    assert not (folder("decide_fails") / "no").exists()


async def rules():
    scenario = replies([bash("touch yes")], "Done.")
    await ask("go", options("rules", scenario, allowed_tools=["Bash(touch *)"]))
    assert (folder("rules") / "yes").exists()


async def permission_updates():
    asked = []

    async def decide(name, tool_input, context):
        asked.append(name)
        return PermissionResultAllow(updated_permissions=context.suggestions)

    scenario = replies([bash("touch a")], [bash("touch a")], "Done.")
    async with ClaudeSDKClient(options("suggestions", scenario, can_use_tool=decide)) as client:
        await client.query("go")
        _ = [message async for message in client.receive_response()]
    assert len(asked) == 1, asked


async def questions():
    question = {
        "question": "Tabs?",
        "header": "Tabs",
        "options": [{"label": "Yes", "description": "y"}, {"label": "No", "description": "n"}],
        "multiSelect": False,
    }

    async def decide(name, tool_input, context):
        return PermissionResultAllow(updated_input={**tool_input, "answers": {"Tabs?": "Yes"}})

    scenario = {
        "replies": [
            {"say": [{"tool": "AskUserQuestion", "input": {"questions": [question]}}]},
            {"say": "Yes it is.", "when": {"tool_result": '"Tabs?"="Yes"'}},
        ]
    }
    async with ClaudeSDKClient(options("questions", scenario, can_use_tool=decide)) as client:
        await client.query("ask me")
        messages = [message async for message in client.receive_response()]
    assert result_of(messages).result == "Yes it is."


async def plan():
    asked = []
    shown = {"plan": "1. Rest"}
    if ARGS.claude:
        differs("Claude Code requires plans in a file and drops a plan in the call; our agent shows it to the user")
        shown = {}

    async def decide(name, tool_input, context):
        asked.append((name, tool_input))
        return PermissionResultAllow()

    scenario = replies([{"tool": "ExitPlanMode", "input": {"plan": "1. Rest"}}], "Resting.")
    opts = options("plan", scenario, can_use_tool=decide, permission_mode="plan")
    async with ClaudeSDKClient(opts) as client:
        await client.query("plan")
        messages = [message async for message in client.receive_response()]
    assert result_of(messages).result == "Resting."
    modes = [message.data.get("permissionMode") for message in messages if isinstance(message, SystemMessage)]
    assert modes[0] == "plan" and "default" in modes, modes
    assert asked == [("ExitPlanMode", shown)], asked


async def refusals_reach_the_model():
    question = {"question": "Tabs?", "header": "Tabs", "options": [{"label": "Yes", "description": "y"}, {"label": "No", "description": "n"}], "multiSelect": False}

    async def decide(name, tool_input, context):
        return PermissionResultDeny(message="later, " + name)

    scenario = {
        "replies": [
            {"say": [{"tool": "AskUserQuestion", "input": {"questions": [question]}}]},
            {"say": [{"tool": "ExitPlanMode", "input": {"plan": "1. Rest"}}], "when": {"tool_result": "later, AskUserQuestion"}},
            {"say": "I plan again.", "when": {"tool_result": "later, ExitPlanMode"}},
        ]
    }
    opts = options("refusals", scenario, can_use_tool=decide, permission_mode="plan")
    async with ClaudeSDKClient(opts) as client:
        await client.query("plan")
        messages = [message async for message in client.receive_response()]
    assert result_of(messages).result == "I plan again."


async def hook_adds_context_and_sends_back():
    async def context(hook_input, tool_use_id, context):
        return {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "It is Sunday."}}

    async def stop(hook_input, tool_use_id, context):
        return {} if hook_input["stop_hook_active"] else {"decision": "block", "reason": "say goodbye"}

    scenario = {
        "replies": [
            {"say": "Done.", "when": {"history": "Sunday"}},
            {"say": "Goodbye.", "when": {"history": "say goodbye"}},
        ]
    }
    matchers = {"UserPromptSubmit": [HookMatcher(hooks=[context])], "Stop": [HookMatcher(hooks=[stop])]}
    async with ClaudeSDKClient(options("hook_context", scenario, hooks=matchers)) as client:
        await client.query("go")
        messages = [message async for message in client.receive_response()]
    assert result_of(messages).result == "Goodbye."


async def hooks():
    seen = []

    async def before(hook_input, tool_use_id, context):
        seen.append(hook_input["hook_event_name"])
        if "rm" in hook_input["tool_input"]["command"]:
            decision = {"permissionDecision": "deny", "permissionDecisionReason": "no rm"}
        else:
            decision = {"permissionDecision": "allow"}
        return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **decision}}

    async def note(hook_input, tool_use_id, context):
        seen.append(hook_input["hook_event_name"])
        return {}

    matchers = {
        "PreToolUse": [HookMatcher(matcher="Bash", hooks=[before])],
        "PostToolUse": [HookMatcher(hooks=[note])],
        "UserPromptSubmit": [HookMatcher(hooks=[note])],
        "Stop": [HookMatcher(hooks=[note])],
    }
    scenario = replies([bash("touch a")], [bash("rm a")], "Done.")
    async with ClaudeSDKClient(options("hooks", scenario, hooks=matchers)) as client:
        await client.query("go")
        _ = [message async for message in client.receive_response()]
    assert (folder("hooks") / "a").exists()
    assert seen == ["UserPromptSubmit", "PreToolUse", "PostToolUse", "PreToolUse", "Stop"], seen


async def sdk_mcp():
    @tool("add", "Adds", {"a": int, "b": int})
    async def add(args):
        return {"content": [{"type": "text", "text": str(args["a"] + args["b"])}]}

    server = create_sdk_mcp_server("calc", tools=[add])
    scenario = {
        "replies": [
            {"say": [{"tool": "mcp__calc__add", "input": {"a": 2, "b": 40}}]},
            {"say": "It is 42.", "when": {"tool_result": "42"}},
        ]
    }
    opts = options("sdk_mcp", scenario, mcp_servers={"calc": server}, allowed_tools=["mcp__calc__add"])
    async with ClaudeSDKClient(opts) as client:
        await client.query("add")
        messages = [message async for message in client.receive_response()]
        status = await client.get_mcp_status()
    assert result_of(messages).result == "It is 42."
    assert "mcp__calc__add" in messages[0].data["tools"], messages[0]
    assert status["mcpServers"][0]["status"] == "connected", status


SERVER = """
import sys
from mcp.server.mcpserver import MCPServer
server = MCPServer("clock")

@server.tool()
def now(zone: str) -> str:
    return f"noon in {zone}"

server.run(sys.argv[1], **({"port": int(sys.argv[2])} if len(sys.argv) > 2 else {}))
"""


async def stdio_mcp():
    script = folder("stdio_mcp") / "server.py"
    script.write_text(SERVER)
    scenario = {
        "replies": [
            {"say": [{"tool": "mcp__clock__now", "input": {"zone": "UTC"}}]},
            {"say": "Noon.", "when": {"tool_result": "noon in UTC"}},
        ]
    }
    servers = {"clock": {"command": sys.executable, "args": [str(script), "stdio"]}}
    opts = options("stdio_mcp", scenario, mcp_servers=servers, allowed_tools=["mcp__clock__now"])
    messages = await ask("what time", opts)
    assert result_of(messages).result == "Noon."


async def http_mcp():
    script = folder("http_mcp") / "server.py"
    script.write_text(SERVER)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen([sys.executable, str(script), "streamable-http", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(200):
            with socket.socket() as there:
                if there.connect_ex(("127.0.0.1", port)) == 0:
                    break
            await asyncio.sleep(0.05)
        scenario = {
            "replies": [
                {"say": [{"tool": "mcp__clock__now", "input": {"zone": "UTC"}}]},
                {"say": "Noon.", "when": {"tool_result": "noon in UTC"}},
            ]
        }
        servers = {"clock": {"type": "http", "url": f"http://127.0.0.1:{port}/mcp"}}
        opts = options("http_mcp", scenario, mcp_servers=servers, allowed_tools=["mcp__clock__now"])
        messages = await ask("what time", opts)
        assert result_of(messages).result == "Noon.", messages
    finally:
        server.terminate()
        server.wait()


async def costs_and_broken_streams():
    scenario = {
        "replies": [
            {"say": [{"thinking": "Look."}, bash("ls")]},
            {"say": "This is cut off before its end.", "cut_after": 3},
            {"say": "größe \u2028 🦀"},
        ]
    }
    result = result_of(await ask("go", options("broken", scenario)))
    assert result.result == "größe \u2028 🦀" and result.total_cost_usd > 0, result


async def interrupt():
    scenario = {"replies": [{"say": [bash("touch begun; sleep 60")]}, {"say": "Still here."}]}
    opts = options("interrupt", scenario, permission_mode="default", allowed_tools=["Bash"])
    async with ClaudeSDKClient(opts) as client:
        await client.query("sleep")
        messages = []
        async for message in client.receive_response():
            messages.append(message)
            if isinstance(message, AssistantMessage) and isinstance(message.content[0], ToolUseBlock):
                await client.interrupt()
        assert result_of(messages).subtype == "error_during_execution"
        await client.query("again")
        messages = [message async for message in client.receive_response()]
        assert result_of(messages).result == "Still here."


async def partial():
    scenario = {"replies": [{"say": "Hello there, friend", "chunk": 4}]}
    messages = await ask("hi", options("partial", scenario, include_partial_messages=True))
    events = [message.event for message in messages if isinstance(message, StreamEvent)]
    pieces = [event["delta"]["text"] for event in events if event["type"] == "content_block_delta"]
    assert "".join(pieces) == "Hello there, friend" and len(pieces) > 1, pieces
    assert events[0]["type"] == "message_start" and events[-1]["type"] == "message_stop"


async def max_turns():
    scenario = replies([bash("ls")], "unreached")
    seen = []
    try:
        async for message in query(prompt="go", options=options("max_turns", scenario, max_turns=1)):
            seen.append(message)
    except Exception:  # The SDK also raises for an agent that exits with 1.
        pass
    assert result_of(seen).subtype == "error_max_turns"


async def structured():
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    scenario = replies([{"tool": "StructuredOutput", "input": {"n": 3}}])
    opts = options("structured", scenario, output_format={"type": "json_schema", "schema": schema})
    messages = await ask("count", opts)
    assert result_of(messages).structured_output == {"n": 3}


async def resume_and_fork():
    first = result_of(await ask("remember blue", options("resume", replies("Noted."))))
    knows = {"replies": [{"say": "Blue.", "when": {"history": "remember blue"}, "times": 3}]}
    again = result_of(await ask("which?", options("resume", knows, resume=first.session_id)))
    assert again.result == "Blue." and again.session_id == first.session_id
    fork = result_of(await ask("which?", options("resume", knows, resume=first.session_id, fork_session=True)))
    assert fork.result == "Blue." and fork.session_id != first.session_id
    newest = result_of(await ask("which?", options("resume", knows, continue_conversation=True)))
    assert newest.session_id == fork.session_id


async def set_model_and_mode():
    async with ClaudeSDKClient(options("set_model", replies("one", "two"))) as client:
        await client.query("go")
        _ = [message async for message in client.receive_response()]
        await client.set_model("claude-haiku-4-5")
        await client.set_permission_mode("acceptEdits")
        await client.query("go")
        messages = [message async for message in client.receive_response()]
        usage = await client.get_context_usage()
    inits = [m.data for m in messages if isinstance(m, SystemMessage) and m.subtype == "init"]
    assert inits[0]["model"] == "claude-haiku-4-5" and inits[0]["permissionMode"] == "acceptEdits"
    assert usage["totalTokens"] > 0


async def subagents():
    delegate = {"tool": "Agent", "input": {"description": "Look", "prompt": "look around", "subagent_type": "general-purpose", "run_in_background": False}}
    scenario = {
        "replies": [
            {"say": [delegate]},
            {"agent": "sub", "say": [bash("ls")]},
            {"agent": "sub", "say": "All fine."},
            {"say": "It says fine.", "when": {"tool_result": "All fine."}},
        ]
    }
    messages = await ask("delegate", options("subagents", scenario))
    assert result_of(messages).result == "It says fine."
    parents = {m.parent_tool_use_id for m in messages if isinstance(m, AssistantMessage)}
    assert len(parents) == 2, parents


async def defined_agents():
    delegate = {"tool": "Agent", "input": {"description": "Look", "prompt": "look", "subagent_type": "scout", "run_in_background": False}}
    scenario = {
        "agents": {"scout": {"system": "You look."}},
        "replies": [
            {"say": [delegate]},
            {"agent": "scout", "say": "All fine."},
            {"say": "Fine.", "when": {"tool_result": "All fine."}},
        ],
    }
    agents = {"scout": AgentDefinition(description="Looks", prompt="You look.")}
    messages = await ask("delegate", options("defined_agents", scenario, agents=agents))
    assert result_of(messages).result == "Fine."


async def system_prompt():
    scenario = {"replies": [{"say": "Arr.", "when": {"system": "Talk like a pirate."}}]}
    preset = {"type": "preset", "preset": "claude_code", "append": "Talk like a pirate."}
    for prompt in ("Talk like a pirate.", preset):
        messages = await ask("hi", options("system_prompt", scenario, system_prompt=prompt))
        assert result_of(messages).result == "Arr."


async def api_retry():
    messages = await ask("go", options("api_retry", {"replies": [{"error": 529}, {"say": "Recovered."}]}))
    assert result_of(messages).result == "Recovered."
    assert [m.subtype for m in messages if isinstance(m, SystemMessage)].count("api_retry") == 1


async def api_error():
    # The real one sends it again in other shapes before it gives up.
    scenario = {"replies": [{"error": {"status": 400, "message": "bad thing"}, "times": "always"}]}
    seen = []
    try:
        async for message in query(prompt="go", options=options("api_error", scenario)):
            seen.append(message)
    except Exception:  # The SDK also raises for an agent that exits with 1.
        pass
    result = result_of(seen)
    assert result.is_error and "bad thing" in result.result


async def server_info():
    async with ClaudeSDKClient(options("server_info", replies("x"))) as client:
        info = await client.get_server_info()
    assert any(command["name"] == "compact" for command in info["commands"])


async def large_result():
    scenario = {"replies": [{"say": {"text": "0123456789", "repeat": 1048576}}]}
    # What the SDK takes by default is less.
    messages = await ask("go", options("large", scenario, max_buffer_size=64 * 1024 * 1024))
    assert len(result_of(messages).result) == 10_485_760


async def unicode():
    text = "Zeile\u2028Absatz\u2029 🦀 👩\u200d👩\u200d👧 \u0000 e\u0301"
    seen = []

    @tool("echo", "Echoes", {"text": str})
    async def echo(args):
        seen.append(args["text"])
        return {"content": [{"type": "text", "text": args["text"]}]}

    scenario = {
        "replies": [
            {"say": [{"tool": "mcp__e__echo", "input": {"text": text}}], "when": {"prompt": text}},
            {"say": text, "when": {"tool_result": text}},
        ]
    }
    server = create_sdk_mcp_server("e", tools=[echo])
    opts = options("unicode", scenario, mcp_servers={"e": server}, allowed_tools=["mcp__e__echo"])
    async with ClaudeSDKClient(opts) as client:
        await client.query(text)
        messages = [message async for message in client.receive_response()]
    assert result_of(messages).result == text and seen == [text], (messages, seen)


async def lone_surrogates():
    """Half a character, as programs cut it: it must neither end the agent nor its conversation."""
    scenario = {"replies": [{"say": "Heard.", "when": {"prompt": " off"}}]}
    async with ClaudeSDKClient(options("surrogates", scenario)) as client:
        await client.query("cut \ud83e off")
        messages = [message async for message in client.receive_response()]
    assert result_of(messages).result == "Heard."


async def resume_unknown():
    seen = []
    try:
        opts = options("resume_unknown", replies("x"), resume="99999999-2222-4333-8444-555555555555")
        async for message in query(prompt="hi", options=opts):
            seen.append(message)
    except Exception as error:
        assert seen or "No conversation found" in str(error), error
    if seen:
        assert "No conversation found" in str(result_of(seen).errors), seen


async def page():
    """The program of docs/test-offline.md, as it stands there."""
    needs_our_agent()
    text = (Path(__file__).resolve().parents[3] / "docs/test-offline.md").read_text()
    cwd = folder("page")
    (cwd / "talk.toml").write_text(re.search(r"```toml\n(.*?)```", text, re.S)[1])
    (cwd / "test_page.py").write_text(re.search(r"```python\n(.*?)```", text, re.S)[1])
    env = {**os.environ, "CLAUDE_CONFIG_DIR": str(CONFIG), "CLAUDE": str(CLAUDE)}
    run = await asyncio.create_subprocess_exec(sys.executable, "-m", "unittest", "test_page", cwd=cwd, env=env, stderr=subprocess.PIPE)
    _, stderr = await run.communicate()
    assert run.returncode == 0, stderr.decode()


async def slash_commands():
    async with ClaudeSDKClient(options("slash", replies("one", "two"))) as client:
        await client.query("go")
        first = result_of([message async for message in client.receive_response()])
        await client.query("/cost")
        cost = result_of([message async for message in client.receive_response()])
        assert "Total cost" in cost.result and cost.num_turns == 0
        await client.query("/compact")
        compact = [message async for message in client.receive_response()]
        assert any(getattr(m, "subtype", "") == "compact_boundary" for m in compact), compact
        await client.query("/clear")
        _ = [message async for message in client.receive_response()]
        await client.query("go")
        last = result_of([message async for message in client.receive_response()])
        assert last.result == "two" and last.session_id != first.session_id


def tell(thing, verdict, reason=""):
    way = "http" if OVER_HTTP else "embedded"
    if ARGS.json:
        print(json.dumps({"thing": thing, "way": way, "verdict": verdict, "reason": reason}), flush=True)
    else:
        print(f"{verdict:8}{thing}, {way}: {reason}" if reason else f"{verdict:8}{thing}, {way}", flush=True)


async def main():
    global OVER_HTTP
    HOME.mkdir()
    if not ARGS.claude:
        subprocess.run([DUOLOGUE, "agent", "--install", str(CLAUDE.parent)], check=True, stdout=subprocess.DEVNULL)
    things = [
        one_shot, offline, many_turns, permissions, permission_deny_and_interrupt, permission_callback_fails, rules, permission_updates, questions,
        plan, refusals_reach_the_model, hooks, hook_adds_context_and_sends_back, sdk_mcp, stdio_mcp, http_mcp,
        costs_and_broken_streams, interrupt, partial, max_turns, structured, resume_and_fork, resume_unknown, set_model_and_mode,
        subagents, defined_agents, system_prompt, api_error, api_retry, server_info, large_result, unicode, lone_surrogates,
        slash_commands, page,
    ]
    failed = 0
    for OVER_HTTP in (True,) if ARGS.claude else (False, True):
        for thing in things:
            name = thing.__name__
            if ARGS.things and name not in ARGS.things:
                continue
            try:
                await asyncio.wait_for(thing(), 60)
                tell(name, "differs" if DIFFERENCES else "pass", "; ".join(DIFFERENCES))
            except Cannot as reason:
                tell(name, "cannot", str(reason))
            except Exception as error:
                failed += 1
                tell(name, "FAIL", f"{type(error).__name__} {error}"[:2000])
            for server in SERVERS:
                server.terminate()
                server.wait()
            SERVERS.clear()
            DIFFERENCES.clear()
    return 1 if failed else 0


if __name__ == "__main__":
    os.environ.pop("CLAUDECODE", None)
    sys.exit(asyncio.run(main()))
