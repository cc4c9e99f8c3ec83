"""Drives an agent through the official Python SDK, in the ways in which its end-to-end tests and examples do: custom
agents, settings, commands, memory, plugins, hooks, origin, sub-agents, stored sessions, truncating resume, checkpoints.

    python python_sdk.py AGENT [NAME]

The model is a script on loopback. Only the checks whose name contains NAME run. Exit code 1 if one fails.
"""

import asyncio
import contextlib
import http.server
import json
import os
import pathlib
import re
import sys
import tempfile
import threading
import traceback
import uuid

LIMIT = 60
REQUESTS = []


# --- The model: what it answers depends on the last prompt. ---


def blocks(message):
    content = message["content"]
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


def answer(body):
    """The blocks of the answer, or a status."""
    users = [message for message in body["messages"] if message["role"] == "user"]
    last = blocks(users[-1]) if users else []
    if "You greet people" in json.dumps(body.get("system", "")):
        return [{"type": "text", "text": "Hello from the greeter"}]
    if any(block["type"] == "tool_result" for block in last):
        return [{"type": "text", "text": "DONE"}]
    texts = [block["text"] for user in users for block in blocks(user) if block["type"] == "text"]
    prompt = ([text for text in texts if not text.startswith("<")] or [""])[-1]
    if body["model"].startswith("claude-nonexistent"):
        return 404
    call = re.match(r"CALL (\w+) (\{.*\})", prompt, re.S)
    if call:
        name, arguments = call.groups()
        identifier = f"toolu_{len(REQUESTS)}"
        return [{"type": "tool_use", "id": identifier, "name": name, "input": json.loads(arguments)}]
    thinking = []
    if body.get("thinking", {}).get("type") in ("enabled", "adaptive"):
        thinking = [{"type": "thinking", "thinking": "Let me think.", "signature": "signed"}]
    exactly = re.search(r"exactly: (\w+)", prompt)
    return [*thinking, {"type": "text", "text": exactly.group(1) if exactly else "Hello."}]


def events(body, content, number):
    usage = {"input_tokens": 10, "output_tokens": 5}
    calls = any(block["type"] == "tool_use" for block in content)
    message = {
        "id": f"msg_{number}", "type": "message", "role": "assistant", "model": body["model"],
        "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage,
    }
    yield "message_start", {"message": message}
    for index, block in enumerate(content):
        empty = dict(block)
        deltas = []
        if block["type"] == "text":
            empty["text"] = ""
            deltas = [{"type": "text_delta", "text": block["text"]}]
        elif block["type"] == "thinking":
            empty.update(thinking="", signature="")
            deltas = [
                {"type": "thinking_delta", "thinking": block["thinking"]},
                {"type": "signature_delta", "signature": block["signature"]},
            ]
        else:
            empty["input"] = {}
            deltas = [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
        yield "content_block_start", {"index": index, "content_block": empty}
        for delta in deltas:
            yield "content_block_delta", {"index": index, "delta": delta}
        yield "content_block_stop", {"index": index}
    stop = "tool_use" if calls else "end_turn"
    delta = {"stop_reason": stop, "stop_sequence": None}
    yield "message_delta", {"delta": delta, "usage": {"output_tokens": 5}}
    yield "message_stop", {}


class Api(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status, kind, text):
        data = text.encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_HEAD(self):
        self.reply(200, "text/plain", "")

    def do_GET(self):
        self.reply(404, "text/plain", "")

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if "count_tokens" in self.path:
            return self.reply(200, "application/json", '{"input_tokens": 10}')
        REQUESTS.append(body)
        content = answer(body)
        if content == 404:
            error = {"type": "not_found_error", "message": f"model: {body['model']}"}
            return self.reply(404, "application/json", json.dumps({"type": "error", "error": error}))
        if not body.get("stream"):
            stop = "end_turn"
            whole = {
                "id": f"msg_{len(REQUESTS)}", "type": "message", "role": "assistant",
                "model": body["model"], "content": content, "stop_reason": stop,
                "stop_sequence": None, "usage": {"input_tokens": 10, "output_tokens": 5},
            }
            return self.reply(200, "application/json", json.dumps(whole))
        lines = [
            f"event: {name}\ndata: {json.dumps({'type': name, **value})}\n\n"
            for name, value in events(body, content, len(REQUESTS))
        ]
        self.reply(200, "text/event-stream", "".join(lines))


# --- The checks. ---

AGENT = sys.argv[1]
SERVER = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Api)
SERVER.daemon_threads = True
threading.Thread(target=SERVER.serve_forever, daemon=True).start()
HOME = tempfile.mkdtemp()
os.environ.update(
    HOME=HOME, IS_SANDBOX="1", ANTHROPIC_API_KEY="made-up-key-for-tests",
    ANTHROPIC_BASE_URL=f"http://127.0.0.1:{SERVER.server_port}",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1", DISABLE_AUTOUPDATER="1", DISABLE_TELEMETRY="1",
)

import claude_agent_sdk as sdk  # noqa: E402: it reads the environment

CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


def options(folder, **more):
    more.setdefault("max_turns", 4)
    return sdk.ClaudeAgentOptions(cwd=str(folder), cli_path=AGENT, **more)


async def ask(prompt, given):
    """The `init` and the result of one question, and all messages."""
    messages = [message async for message in sdk.query(prompt=prompt, options=given)]
    system = [message for message in messages if isinstance(message, sdk.SystemMessage)]
    init = next(message.data for message in system if message.subtype == "init")
    result = next(message for message in messages if isinstance(message, sdk.ResultMessage))
    return init, result, messages


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def asked():
    """What the model was last asked, as text."""
    return json.dumps(REQUESTS[-1]["messages"])


def call(name, **arguments):
    return f"CALL {name} {json.dumps(arguments)}"


GREETER = sdk.AgentDefinition(
    description="Greets", prompt="You greet people.", model="haiku", background=False
)


@check
async def custom_agents_are_listed_even_many_and_large(folder):
    agents = {
        f"agent-{i}": sdk.AgentDefinition(description=f"Number {i}", prompt="x" * 13_000)
        for i in range(200)
    }
    init, _, _ = await ask("Hello", options(folder, agents=agents))
    assert set(agents) <= set(init["agents"]), init["agents"][:5]


@check
async def agents_of_files_follow_the_setting_sources(folder):
    text = "---\nname: of-project\ndescription: Of a file\ntools: Read\n---\nYou read.\n"
    write(folder / ".claude/agents/one.md", text)
    init, result, _ = await ask("Hello", options(folder, setting_sources=["project"]))
    assert "of-project" in init["agents"] and not result.is_error
    init, _, _ = await ask("Hello", options(folder, setting_sources=["user"]))
    assert "of-project" not in init["agents"]


@check
async def a_custom_agent_works_with_its_own_prompt_and_model(folder):
    prompt = call(
        "Agent", description="greet", prompt="say hi", subagent_type="greeter",
        run_in_background=False,
    )
    given = options(folder, agents={"greeter": GREETER}, forward_subagent_text=True)
    _, result, messages = await ask(prompt, given)
    assert result.result == "DONE"
    theirs = [m for m in messages if isinstance(m, sdk.AssistantMessage) and m.parent_tool_use_id]
    assert any("Hello from the greeter" in str(m.content) for m in theirs)
    assert any("haiku" in body["model"] for body in REQUESTS[-3:])


@check
async def sub_agents_have_transcripts_by_their_call(folder):
    store = sdk.InMemorySessionStore()
    prompt = call(
        "Agent", description="greet", prompt="say hi", subagent_type="greeter",
        run_in_background=False,
    )
    given = options(folder, agents={"greeter": GREETER}, session_store=store)
    _, result, messages = await ask(prompt, given)
    uses = [
        block.id for m in messages if isinstance(m, sdk.AssistantMessage) for block in m.content
        if isinstance(block, sdk.ToolUseBlock) and block.name in ("Agent", "Task")
    ]
    agents = sdk.list_subagents(result.session_id)
    assert len(agents) == 1, agents
    local = sdk.get_subagent_messages(result.session_id, agents[0])
    assert {m.parent_tool_use_id for m in local} == set(uses), local
    key = {"directory": str(folder)}
    stored = await sdk.list_subagents_from_store(store, result.session_id, **key)
    assert stored == agents, stored
    mirrored = await sdk.get_subagent_messages_from_store(
        store, result.session_id, agents[0], **key
    )
    assert {m.parent_tool_use_id for m in mirrored} == set(uses), mirrored


@check
async def the_output_style_of_settings_is_reported(folder):
    write(folder / ".claude/settings.local.json", '{"outputStyle": "of-test"}')
    init, _, _ = await ask("Hello", options(folder))
    assert init["output_style"] == "of-test", init["output_style"]
    init, _, _ = await ask("Hello", options(folder, setting_sources=["user"]))
    assert init["output_style"] == "default", init["output_style"]


@check
async def instructions_reach_the_model_only_from_sources_that_count(folder):
    write(folder / "CLAUDE.md", "Of the project: @more.md")
    write(folder / "more.md", "Of an import.")
    write(folder / "CLAUDE.local.md", "Of this machine.")
    await ask("Hello", options(folder))
    assert all(text in asked() for text in ("Of the project", "Of an import", "Of this machine"))
    await ask("Hello", options(folder, setting_sources=["project"]))
    assert "Of the project" in asked() and "Of this machine" not in asked()
    await ask("Hello", options(folder, setting_sources=[]))
    assert "Of the project" not in asked()


@check
async def commands_of_files_are_listed_and_expanded(folder):
    text = "---\ndescription: Greets\nargument-hint: <who>\n---\nGreet $ARGUMENTS now.\n"
    write(folder / ".claude/commands/greet.md", text)
    write(folder / ".claude/commands/deep/er.md", "Deeper.")
    init, result, _ = await ask("/greet Ann", options(folder, setting_sources=["project"]))
    assert {"greet", "deep:er"} <= set(init["slash_commands"]), init["slash_commands"]
    assert "Greet Ann now." in asked() and not result.is_error
    init, _, _ = await ask("Hello", options(folder, setting_sources=["user"]))
    assert "greet" not in init["slash_commands"]


@check
async def skills_are_read_when_the_model_calls_them(folder):
    text = "---\nname: sing\ndescription: Sings\n---\nSing a song.\n"
    write(folder / ".claude/skills/sing/SKILL.md", text)
    given = options(folder, setting_sources=["project"], skills=["sing"])
    init, result, _ = await ask(call("Skill", skill="sing"), given)
    assert "sing" in init["skills"] and "Skill" in init["tools"], init["skills"]
    assert "Sing a song." in asked() and result.result == "DONE"


@check
async def a_plugin_adds_commands_agents_skills_and_hooks(folder):
    plugin = folder / "plugin"
    write(plugin / ".claude-plugin/plugin.json", '{"name": "plug", "version": "1.0.0"}')
    write(plugin / "commands/hey.md", "Hey.")
    write(plugin / "agents/help.md", "---\nname: help\ndescription: Helps\n---\nHelp.")
    write(plugin / "skills/do/SKILL.md", "---\nname: do\ndescription: Does\n---\nDo.")
    command = "touch ${CLAUDE_PLUGIN_ROOT}/ran"
    hooks = {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": command}]}]}
    write(plugin / "hooks/hooks.json", json.dumps({"hooks": hooks}))
    given = options(folder, plugins=[{"type": "local", "path": str(plugin)}])
    init, _, _ = await ask("/plug:hey", given)
    assert "plug" in [plugin["name"] for plugin in init["plugins"]]
    assert {"plug:hey", "plug:do"} <= set(init["slash_commands"]), init["slash_commands"]
    assert "plug:help" in init["agents"] and "plug:do" in init["skills"]
    assert (plugin / "ran").exists() and "Hey." in asked()


@check
async def the_origin_of_a_prompt_comes_back(folder):
    async def prompts(origin):
        message = {"role": "user", "content": "Hello"}
        yield {"type": "user", "message": message, "parent_tool_use_id": None, **origin}

    origins = []
    async with sdk.ClaudeSDKClient(options(folder)) as client:
        for origin in ({"origin": {"kind": "human"}}, {}):
            await client.query(prompts(origin))
            async for message in client.receive_response():
                if isinstance(message, sdk.ResultMessage):
                    origins.append(message.origin)
    assert origins == [{"kind": "human"}, None], origins


@check
async def thinking_is_asked_for_and_passed_on(folder):
    _, _, messages = await ask("Hello", options(folder, include_partial_messages=True))
    said = [b for m in messages if isinstance(m, sdk.AssistantMessage) for b in m.content]
    thinking = [block for block in said if isinstance(block, sdk.ThinkingBlock)]
    assert thinking and thinking[0].signature == "signed", said
    deltas = [
        m.event["delta"]["type"] for m in messages
        if type(m).__name__ == "StreamEvent" and m.event["type"] == "content_block_delta"
    ]
    assert {"thinking_delta", "signature_delta", "text_delta"} <= set(deltas), deltas


@check
async def hooks_see_the_start_and_the_stop_of_a_sub_agent(folder):
    seen = []

    async def hook(given, _, __):
        seen.append((given["hook_event_name"], given.get("agent_type")))
        return {}

    hooks = {
        event: [sdk.HookMatcher(hooks=[hook])]
        for event in ("SubagentStart", "SubagentStop", "PreToolUse", "PostToolUse", "Stop")
    }
    prompt = call(
        "Agent", description="greet", prompt="say hi", subagent_type="greeter",
        run_in_background=False,
    )
    await ask(prompt, options(folder, agents={"greeter": GREETER}, hooks=hooks))
    assert ("SubagentStart", "greeter") in seen and ("SubagentStop", "greeter") in seen, seen
    assert seen.index(("SubagentStart", "greeter")) < seen.index(("SubagentStop", "greeter"))


@check
async def the_answer_of_a_hook_for_another_event_fails_the_call(folder):
    async def hook(*_):
        return {"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "x"}}

    hooks = {"PreToolUse": [sdk.HookMatcher(matcher="Bash", hooks=[hook])]}
    given = options(folder, hooks=hooks, allowed_tools=["Bash"])
    await ask(call("Bash", command="touch made"), given)
    assert not (folder / "made").exists()
    assert "PreToolUse hook failed with an unexpected error" in asked(), asked()


@check
async def an_api_error_is_an_error_result(folder):
    given = options(folder, model="claude-nonexistent-model")
    result = None
    try:
        async for message in sdk.query(prompt="Hello", options=given):
            if isinstance(message, sdk.ResultMessage):
                result = message
    except sdk.ResultError as error:
        assert error.terminal_reason == "api_error", error
    assert result is not None and result.is_error


@check
async def sessions_are_listed_read_renamed_tagged_forked_and_deleted(folder):
    _, result, _ = await ask("Reply with exactly: one", options(folder))
    session, place = result.session_id, {"directory": str(folder)}
    listed = sdk.list_sessions(**place)
    assert [info.session_id for info in listed] == [session], listed
    messages = sdk.get_session_messages(session, **place)
    assert [message.type for message in messages] == ["user", "assistant", "assistant"], messages
    sdk.rename_session(session, "A new title", **place)
    sdk.tag_session(session, "tagged", **place)
    info = sdk.get_session_info(session, **place)
    assert (info.custom_title, info.tag) == ("A new title", "tagged"), info
    fork = sdk.fork_session(session, **place)
    _, again, _ = await ask("Reply with exactly: two", options(folder, resume=fork.session_id))
    assert again.session_id == fork.session_id and "one" in asked()
    sdk.delete_session(session, **place)
    assert session not in [info.session_id for info in sdk.list_sessions(**place)]


@check
async def a_session_of_a_store_is_resumed_with_the_users_settings(folder):
    config = folder / "config"
    config.mkdir()
    store = sdk.InMemorySessionStore()
    more = {"session_store": store, "env": {"CLAUDE_CONFIG_DIR": str(config)}}
    init, first, _ = await ask("Reply with exactly: one", options(folder, **more))
    assert init["output_style"] == "default"
    write(config / "settings.json", '{"outputStyle": "Explanatory"}')
    given = options(folder, resume=first.session_id, **more)
    init, second, _ = await ask("Reply with exactly: two", given)
    assert second.session_id == first.session_id and init["output_style"] == "Explanatory"


@check
async def a_resume_can_drop_exactly_one_turn(folder):
    last = None
    async with sdk.ClaudeSDKClient(options(folder)) as client:
        for word in ("one", "two"):
            await client.query(f"Reply with exactly: {word}")
            async for message in client.receive_response():
                if isinstance(message, sdk.AssistantMessage) and word == "one":
                    last = message.uuid
                if isinstance(message, sdk.ResultMessage):
                    session = message.session_id
    chain = sdk.get_session_messages(session, directory=str(folder))
    turn = next(m.uuid for m in chain if m.message.get("content") == "Reply with exactly: two")
    more = {"resume": session, "fork_session": True, "resume_session_at": last}
    given = options(folder, resume_drops_turn=turn, **more)
    _, forked, _ = await ask("Reply with exactly: three", given)
    messages = sdk.get_session_messages(forked.session_id, directory=str(folder))
    prompts = [m.message["content"] for m in messages if m.type == "user"]
    assert prompts == ["Reply with exactly: one", "Reply with exactly: three"], prompts
    given = options(folder, resume_drops_turn=str(uuid.uuid4()), **more)
    try:
        await ask("Reply with exactly: four", given)
    except sdk.ProcessError as error:
        assert "Resume rejected by --resume-drops-turn:" in str(error), error
    else:
        raise AssertionError("the resume was not refused")


@check
async def files_are_rewound_to_a_checkpoint(folder):
    write(folder / "a.txt", "one\n")
    given = options(
        folder, enable_file_checkpointing=True, permission_mode="acceptEdits",
        extra_args={"replay-user-messages": None},
    )
    prompts = []
    async with sdk.ClaudeSDKClient(given) as client:
        for prompt in (
            call("Read", file_path=str(folder / "a.txt")),
            call("Edit", file_path=str(folder / "a.txt"), old_string="one", new_string="two"),
            call("Write", file_path=str(folder / "b.txt"), content="new"),
        ):
            await client.query(prompt)
            async for message in client.receive_response():
                is_prompt = isinstance(message, sdk.UserMessage) and isinstance(message.content, str)
                if is_prompt and message.content.startswith("CALL"):
                    prompts.append(message.uuid)
                if isinstance(message, sdk.ResultMessage):
                    session = message.session_id
        assert (folder / "a.txt").read_text() == "two\n" and (folder / "b.txt").exists()
        await client.rewind_files(prompts[2])
        assert (folder / "a.txt").read_text() == "two\n" and not (folder / "b.txt").exists()
    given = options(folder, enable_file_checkpointing=True, resume=session)
    async with sdk.ClaudeSDKClient(given) as client:
        await client.query("Hello")
        async for _ in client.receive_response():
            pass
        await client.rewind_files(prompts[1])
    assert (folder / "a.txt").read_text() == "one\n"


@check
async def clear_begins_a_new_session(folder):
    kinds, sessions = [], []
    async with sdk.ClaudeSDKClient(options(folder)) as client:
        for prompt in ("Hello", "/clear"):
            await client.query(prompt)
            async for message in client.receive_response():
                kinds.append(type(message).__name__)
                if isinstance(message, sdk.ResultMessage):
                    sessions.append(message.session_id)
    assert "ConversationResetMessage" in kinds and len(set(sessions)) == 2, (kinds, sessions)


@check
async def mcp_servers_can_be_added_while_it_runs(folder):
    @sdk.tool("add", "Adds", {"a": int, "b": int})
    async def add(given):
        return {"content": [{"type": "text", "text": str(given["a"] + given["b"])}]}

    server = sdk.create_sdk_mcp_server("calc", tools=[add])
    given = options(folder, mcp_servers={"calc": server}, allowed_tools=["mcp__calc__add"])
    async with sdk.ClaudeSDKClient(given) as client:
        await client.query(call("mcp__calc__add", a=1, b=2))
        async for _ in client.receive_response():
            pass
        status = (await client.get_mcp_status())["mcpServers"]
    assert [(s["name"], s["status"]) for s in status] == [("calc", "connected")], status
    assert status[0]["serverInfo"]["name"] == "calc", status
    assert '"3"' in asked(), asked()


async def main():
    wanted = sys.argv[2] if len(sys.argv) > 2 else ""
    failed = []
    for function in CHECKS:
        name = function.__name__
        if wanted not in name:
            continue
        folder = pathlib.Path(tempfile.mkdtemp())
        try:
            await asyncio.wait_for(function(folder), LIMIT)
            print(f"ok    {name}", flush=True)
        except Exception:  # noqa: BLE001: whatever it is, the check has failed
            failed.append(name)
            print(f"FAIL  {name}\n{traceback.format_exc()}", flush=True)
    print(f"{len(failed)} failed" if failed else "all passed")
    return 1 if failed else 0


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(asyncio.run(main()))
