"""The official Python SDK talks to an agent that misbehaves, and reports what it received."""

import asyncio
import json
import os
import pathlib
import sys
import threading
import time

from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    HookMatcher,
    PermissionResultAllow,
    ResultMessage,
    TextBlock,
)

hazard = sys.argv[1]
patience, sleep = float(sys.argv[2]), float(sys.argv[3])
tally = {
    "texts": 0,
    "longest": 0,
    "result": False,
    "errors": [],
    "flooded": None,
    "lost": 0,
    "kept": 0,
}
signs = 0
reported = False


def report(end):
    global reported
    reported = True
    print(json.dumps({"end": end, **tally}), flush=True)


def watch():
    last, since = 0, time.monotonic()
    while time.monotonic() - since < patience:
        time.sleep(0.05)
        if signs != last:
            last, since = signs, time.monotonic()
    report("hangs in close" if reported else "hangs in read")
    os._exit(3)


def see(message):
    global signs
    signs += 1
    if isinstance(message, AssistantMessage):
        for block in message.content:
            if isinstance(block, TextBlock):
                tally["texts"] += 1
                tally["longest"] = max(tally["longest"], len(block.text))
    if isinstance(message, ResultMessage):
        tally["result"] = True


async def slow():
    global signs
    folder = pathlib.Path(os.environ["HAZARD_FOLDER"])
    flooded, flooding = folder / "flooded", folder / "flooding"
    written, since = 0, time.monotonic()
    while not flooded.exists() and time.monotonic() - since < sleep:
        await asyncio.sleep(0.05)
        signs += 1
        now = flooding.stat().st_size if flooding.exists() else 0
        if now != written:
            written, since = now, time.monotonic()
    tally["flooded"] = flooded.exists()


async def read(client):
    slept = False
    async for message in client.receive_response():
        see(message)
        if hazard == "slow" and tally["texts"] and not slept:
            slept = True
            await slow()


async def read_cancelled(client):
    messages = client.receive_response()
    while not tally["result"]:
        try:
            see(await asyncio.wait_for(anext(messages), 0.001))
        except TimeoutError:
            # A cancelled read ends the generator: open another one.
            messages = client.receive_response()
        except StopAsyncIteration:
            return


async def allow(_name, _input, _context):
    if hazard == "blocks":
        time.sleep(3)
    return PermissionResultAllow()


async def no_opinion(_input, _id, _context):
    return {}


async def main():
    global signs
    options = ClaudeAgentOptions(cli_path=os.environ["FLOOD_AGENT"])
    if hazard != "no-callback":
        options.can_use_tool = allow
        options.hooks = {"PreToolUse": [HookMatcher(hooks=[no_opinion])]}
    client = ClaudeSDKClient(options)
    try:
        await client.connect()
        await client.query("Go")
        await (read_cancelled if hazard == "cancelled" else read)(client)
    except Exception as error:
        tally["errors"].append(f"{type(error).__name__}: {error}"[:300])
    report("done")
    if hazard.endswith("killed"):
        while True:
            await asyncio.sleep(0.05)
            signs += 1
    if hazard.endswith("dropped"):
        del client
        await asyncio.sleep(1)
    else:
        await client.disconnect()


threading.Thread(target=watch, daemon=True).start()
asyncio.run(main())
