"""The Python SDK as a client: python client.py DIRECTORY COMMAND [ARGUMENTS...]

Prints one JSON object with what happened. Every message is validated by the SDK.
"""

import asyncio
import json
import os
import sys

import acp
from acp.schema import AllowedOutcome, ClientCapabilities


class Editor(acp.Client):
    def __init__(self):
        self.updates = []
        self.permissions = []
        self.began = asyncio.Event()

    async def session_update(self, session_id, update, **_):
        self.updates.append(update)
        if update.session_update == "agent_message_chunk":
            self.began.set()

    async def request_permission(self, session_id=None, tool_call=None, options=None, **_):
        self.permissions.append([option.kind for option in options])
        option = next(option for option in options if option.kind == "allow_once")
        outcome = AllowedOutcome(outcome="selected", option_id=option.option_id)
        return acp.RequestPermissionResponse(outcome=outcome)

    def text(self, kind):
        chunks = [update for update in self.updates if update.session_update == kind]
        return "".join(chunk.content.text for chunk in chunks)

    def statuses(self):
        calls = [update for update in self.updates if update.session_update.startswith("tool_call")]
        return {call.tool_call_id: call.status for call in calls if call.status}


async def main(directory, command, *args):
    editor = Editor()
    # Without it, the SDK passes few variables on.
    environment = dict(os.environ)
    async with acp.spawn_agent_process(editor, command, *args, env=environment) as (agent, _process):
        initialized = await agent.initialize(protocol_version=1, client_capabilities=ClientCapabilities())
        session = (await agent.new_session(cwd=directory, mcp_servers=[])).session_id

        def prompt(text):
            return agent.prompt(prompt=[acp.text_block(text)], session_id=session)

        ran = await prompt("run a command")
        run = {
            "stop": ran.stop_reason,
            "text": editor.text("agent_message_chunk"),
            "thoughts": editor.text("agent_thought_chunk"),
            "statuses": editor.statuses(),
            "permissions": editor.permissions,
        }
        editor.began.clear()
        running = asyncio.ensure_future(prompt("never end"))
        await editor.began.wait()
        await agent.cancel(session_id=session)
        cancelled = (await running).stop_reason
        following = (await prompt("hello")).stop_reason
        await agent.close_session(session_id=session)
        listed = await agent.list_sessions(cwd=directory)
        editor.updates.clear()
        await agent.load_session(session_id=session, cwd=directory, mcp_servers=[])
        loaded = {"user": editor.text("user_message_chunk"), "statuses": editor.statuses()}
        after = (await prompt("hello")).stop_reason
    report = {
        "version": initialized.protocol_version,
        "run": run,
        "cancelled": {"stop": cancelled},
        "next": {"stop": following},
        "listed": [it.session_id == session for it in listed.sessions],
        "loaded": loaded,
        "after": {"stop": after},
    }
    print(json.dumps(report, indent=1))


asyncio.run(main(*sys.argv[1:]))
