"""Prints what the Python SDK says about the sessions below a config directory: python report.py CONFIG PROJECT

It knows less than the TypeScript SDK: queued prompts, system messages and archives are not there.
"""

import json
import os
import sys

config, project = sys.argv[1:3]
os.environ["CLAUDE_CONFIG_DIR"] = config

import claude_agent_sdk as sdk  # noqa: E402


def info(it):
    return it and {
        "id": it.session_id, "summary": it.summary, "title": it.custom_title, "firstPrompt": it.first_prompt,
        "gitBranch": it.git_branch, "cwd": it.cwd, "tag": it.tag, "created": it.created_at, "size": it.file_size,
    }


def message(it):
    return {
        "type": it.type, "uuid": it.uuid, "session": it.session_id, "message": it.message,
        "call": it.parent_tool_use_id, "agent": it.parent_agent_id,
    }


everything = sdk.list_sessions()
print(json.dumps({
    "all": [info(it) for it in everything],
    "project": [info(it) for it in sdk.list_sessions(directory=project)],
    "sessions": {
        it.session_id: {
            "info": info(sdk.get_session_info(it.session_id)),
            "messages": [message(m) for m in sdk.get_session_messages(it.session_id)],
            "agents": {
                agent: [message(m) for m in sdk.get_subagent_messages(it.session_id, agent)]
                for agent in sorted(sdk.list_subagents(it.session_id))
            },
        }
        for it in everything
    },
}))
