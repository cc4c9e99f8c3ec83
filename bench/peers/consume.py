"""The official Python SDK, as its documentation uses it."""

import asyncio
import json
import os
import re
import resource
import time

from claude_agent_sdk import (
    ClaudeAgentOptions,
    ClaudeSDKClient,
    PermissionResultAllow,
)


async def allow(_name, _input, _context):
    return PermissionResultAllow()


async def main():
    options = ClaudeAgentOptions(
        cli_path=os.environ["FLOOD_AGENT"],
        include_partial_messages=True,
        can_use_tool=allow,
    )
    async with ClaudeSDKClient(options) as client:
        start = time.monotonic()
        await client.query("Go")
        messages = 0
        async for _ in client.receive_response():
            messages += 1
        wall = time.monotonic() - start
        used = resource.getrusage(resource.RUSAGE_SELF)
        with open("/proc/self/status") as status:
            peak = re.search(r"VmHWM:\s+(\d+)", status.read())[1]
        cost = {
            "messages": messages,
            "wall_s": wall,
            "cpu_s": used.ru_utime + used.ru_stime,
            "peak_kb": int(peak),
        }
        print(json.dumps(cost))


asyncio.run(main())
