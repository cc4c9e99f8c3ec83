"""Transcripts with what is rare: branches, compactions, queued prompts, damage, marks in side files."""

import json
import os
import random

CWD = "/tmp/duologue-fixture/work"
COUNT = 0


def session(number):
    return f"{number:08x}-1111-4222-8333-444444444444"


def uuid(name):
    return f"{abs(hash_of(name)) % 2**32:08x}-aaaa-4bbb-8ccc-{hash_of(name + '!') % 2**48:012x}"


def compact(line):
    """As Claude Code writes it."""
    return json.dumps(line, separators=(",", ":"))


def hash_of(name):
    value = 7
    for character in name:
        value = (value * 1000003 + ord(character)) % 2**61
    return value


def entry(kind, name, parent, **more):
    global COUNT
    COUNT += 1
    seconds = COUNT % 60
    return {
        "parentUuid": uuid(parent) if parent else None, "isSidechain": False, "type": kind, "uuid": uuid(name),
        "timestamp": f"2026-01-02T03:{COUNT // 60 % 60:02}:{seconds:02}.000Z", "cwd": CWD, "sessionId": "x", "gitBranch": "main",
        **more,
    }


def user(name, parent, content, **more):
    return entry("user", name, parent, message={"role": "user", "content": content}, **more)


def assistant(name, parent, content, message_id=None, **more):
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
    return entry("assistant", name, parent, message={"id": message_id or "msg_" + name, "role": "assistant", "content": blocks, "stop_reason": "end_turn"}, **more)


def call(tool):
    return [{"type": "tool_use", "id": tool, "name": "Bash", "input": {}}]


def result(tool):
    return [{"type": "tool_result", "tool_use_id": tool, "content": "done"}]


def queued(name, parent, prompt, **more):
    return entry("attachment", name, parent, attachment={"type": "queued_command", "prompt": prompt, **more})


def cases():
    yield [user("a", None, "Plain"), assistant("b", "a", "Yes")]
    # Two branches: the later one counts.
    yield [user("a", None, "First"), assistant("b", "a", "One"), user("c", "b", "Old"), assistant("d", "c", "Old answer"),
           user("e", "b", "New"), assistant("f", "e", "New answer")]
    # Parallel calls whose results hang below their own calls.
    yield [user("a", None, "Parallel"), assistant("b", "a", call("t1"), "m1"), assistant("c", "b", call("t2"), "m1"),
           user("d", "b", result("t1")), user("e", "c", result("t2")), assistant("f", "d", "Both"), user("g", "f", "Thanks")]
    # A result that hangs elsewhere.
    yield [user("a", None, "Stray"), assistant("b", "a", call("t1"), "m1"), assistant("c", "b", call("t2"), "m1"),
           user("d", "c", result("t2")), user("e", "a", result("t1"), sourceToolAssistantUUID=uuid("b")), assistant("f", "d", "Fine")]
    # Compactions that kept messages, in both notations.
    yield [user("a", None, "Long"), assistant("b", "a", "One"), user("c", "b", "Two"), assistant("d", "c", "Three"),
           entry("system", "s", None, subtype="compact_boundary", content="Compacted", logicalParentUuid=uuid("d"),
                 compactMetadata={"preservedMessages": {"anchorUuid": uuid("t"), "uuids": [uuid("c"), uuid("d")]}}),
           user("t", "s", "Summary", isCompactSummary=True), user("u", "t", "Next"), assistant("v", "u", "Answer")]
    yield [user("a", None, "Long"), assistant("b", "a", "One"), user("c", "b", "Two"), assistant("d", "c", "Three"),
           entry("system", "s", None, subtype="compact_boundary", content="Compacted", logicalParentUuid=uuid("d"),
                 compactMetadata={"preservedSegment": {"anchorUuid": uuid("t"), "headUuid": uuid("c"), "tailUuid": uuid("d")}}),
           user("t", "s", "Summary", isCompactSummary=True), user("u", "t", "Next"), assistant("v", "u", "Answer")]
    # Prompts that were queued: answered, waiting, delivered, forwarded.
    yield [user("a", None, "Go"), assistant("b", "a", call("t1")), user("c", "b", result("t1")), queued("q", "c", "Also this", source_uuid=uuid("src")),
           assistant("d", "q", "Both done"), queued("r", "d", "Later"), queued("w", "r", [{"type": "text", "text": "Blocks"}])]
    yield [user("a", None, "Go"), queued("q", "a", "Taken", delivery_id="d1"), queued("r", "q", "Not taken", delivery_id="d2"),
           {"type": "queue-operation", "operation": "remove", "reason": "absorbed_mid_turn", "deliveryId": "d1", "sessionId": "x"},
           {"type": "queue-operation", "operation": "remove", "reason": "absorbed_mid_turn", "deliveryId": "d3", "sessionId": "x"},
           assistant("b", "r", "Answer"), queued("f", "b", "Forwarded", forwardedIntent={"lineage": "l"})]
    # Commands that Claude Code runs itself, meta messages, channels, teams.
    yield [user("a", None, "<local-command-caveat>Careful", isMeta=True), user("b", "a", "<command-name>/model</command-name>"),
           user("c", "b", "<local-command-stdout>Set</local-command-stdout>"), user("d", "c", "And now a question"), assistant("e", "d", "Answer"),
           user("f", "e", "hidden", isMeta=True), user("g", "f", "from a channel", isMeta=True, origin={"kind": "channel", "name": "x"}),
           user("h", "g", "of a team", teamName="team"), assistant("i", "g", "End")]
    # Progress, sidechains and notices between messages.
    yield [user("a", None, "Progress"), entry("progress", "p", "a"), assistant("b", "p", "Yes"), user("side", "b", "aside", isSidechain=True),
           entry("system", "n", "b", subtype="informational", content="note"), user("c", "n", "Go on"), entry("progress", "p2", "c")]
    # A circle, and an entry that stands twice.
    yield [user("a", "b", "Circle"), assistant("b", "a", "Round"), user("c", "b", "Out"), user("c", "a", "Out again")]
    # Only a sidechain further down; a title, a tag that was removed, a last prompt.
    yield [user("a", None, "Titles"), {"type": "ai-title", "aiTitle": "By the model", "sessionId": "x"}, {"type": "custom-title", "customTitle": "By hand", "sessionId": "x"},
           {"type": "tag", "tag": "one", "sessionId": "x"}, {"type": "tag", "tag": "", "sessionId": "x"}, {"type": "last-prompt", "lastPrompt": "The last", "sessionId": "x"}]
    yield [{"type": "summary", "summary": "Summed up", "leafUuid": "y"}, user("a", None, "x" * 250)]
    yield [user("a", None, "Tagged"), {"type": "tag", "tag": "two", "sessionId": "x"}, {"type": "relocated", "relocatedCwd": "/somewhere", "sessionId": "x"}]
    yield [user("a", None, [{"type": "image", "source": {}}]), assistant("b", "a", "A picture")]
    yield [user("a", None, "\U0001f980" * 150), assistant("b", "a", "cut \ud83e off")]
    yield [user("a", None, "<bash-input>ls</bash-input>"), user("b", "a", "[Request interrupted by user]")]
    yield [user("a", None, "By an SDK", entrypoint="sdk-py"), assistant("b", "a", "Yes")]
    yield [user("a", None, "Notified", origin={"kind": "task-notification", "runId": "r1", "secret": 1}), assistant("b", "a", "Yes")]
    yield [{"type": "made-up-kind", "uuid": "z"}]
    yield [user("a", None, "Long texts"), assistant("b", "a", "y" * 70000), user("c", "b", "z" * 70000), assistant("d", "c", "End")]


def write(config):
    folder = config / "projects" / "-tmp-duologue-fixture-work"
    folder.mkdir(parents=True)
    times = 1_700_000_000
    for number, entries in enumerate(cases()):
        path = folder / f"{session(number)}.jsonl"
        path.write_text("".join(compact(line) + "\n" for line in entries))
        os.utime(path, (times + number, times + number))
    # Damage.
    path = folder / f"{session(100)}.jsonl"
    lines = [compact(user("a", None, "Torn")), "{broken", compact(assistant("b", "a", "Still here")), '{"type":"user","mess']
    path.write_text("\n".join(lines))
    path = folder / f"{session(101)}.jsonl"
    path.write_bytes(compact(user("a", None, "Bytes XX")).replace("XX", "\xff").encode("latin-1") + b"\n\n  \n" + compact(assistant("b", "a", "Yes")).encode())
    (folder / f"{session(102)}.jsonl").write_text("")
    (folder / "not-a-session.jsonl").write_text(compact(user("a", None, "No")) + "\n")
    # Side files.
    for number, mark in [(0, {"archived": True, "at": "2026-06-01T00:00:00.000Z"}), (1, {"archived": True, "at": "2025-06-01T00:00:00.000Z"}),
                         (2, {"archived": False, "at": "2026-06-01T00:00:00.000Z"}), (3, {"archived": "yes", "at": "2026-06-01T00:00:00.000Z"})]:
        side = folder / session(number)
        side.mkdir()
        (side / "archived.json").write_text(json.dumps(mark))
    (folder / session(4)).mkdir()
    (folder / session(4) / "custom-title.json").write_text(json.dumps({"customTitle": " From a\nside file "}))
    # Sub-agents.
    agents = folder / session(0) / "subagents"
    (agents / "workflows" / "run").mkdir(parents=True)
    (agents / "agent-one.jsonl").write_text("".join(compact(line) + "\n" for line in [
        user("k", None, "Task", isSidechain=True), assistant("l", "k", "Working", isSidechain=True), user("m", "l", "meta", isMeta=True, isSidechain=True)]))
    (agents / "agent-one.meta.json").write_text(json.dumps({"toolUseId": "toolu_1", "parentAgentId": "two", "agentType": "helper"}))
    (agents / "workflows" / "run" / "agent-two.jsonl").write_text(compact(user("k", None, "Task")) + "\n")
    # Another project, with a copy of a session, and random trees.
    other = config / "projects" / "-other"
    other.mkdir()
    (other / f"{session(0)}.jsonl").write_text(compact(user("a", None, "A copy")) + "\n")
    os.utime(other / f"{session(0)}.jsonl", (times - 5, times - 5))
    chance = random.Random(1)
    for number in range(200, 320):
        names = [f"n{at}" for at in range(chance.randint(2, 14))]
        lines = []
        for at, name in enumerate(names):
            parent = chance.choice(names[:at] or [None]) if chance.random() < 0.9 else chance.choice([None, "missing", *names])
            more = {"isSidechain": chance.random() < 0.15}
            if chance.random() < 0.1:
                more["isMeta"] = True
            kind = chance.random()
            tool = f"t{chance.randint(0, 4)}"
            if kind < 0.3:
                lines.append(user(name, parent, f"Prompt {at}", **more))
            elif kind < 0.45:
                lines.append(user(name, parent, result(tool), **more))
            elif kind < 0.6:
                lines.append(assistant(name, parent, call(tool), f"m{chance.randint(0, 3)}", **more))
            elif kind < 0.75:
                lines.append(assistant(name, parent, "Text", f"m{chance.randint(0, 3)}", **more))
            elif kind < 0.85:
                lines.append(queued(name, parent, f"Queued {at}", **({"source_uuid": uuid(chance.choice(names))} if chance.random() < 0.3 else {})))
            elif kind < 0.9:
                lines.append(entry("system", name, parent, subtype="compact_boundary", content="c", compactMetadata={
                    "preservedMessages": {"anchorUuid": uuid(chance.choice(names)), "uuids": [uuid(other) for other in chance.sample(names, 2)]}}))
            else:
                lines.append(entry(chance.choice(["system", "progress", "attachment"]), name, parent))
        (folder / f"{session(number)}.jsonl").write_text("".join(compact(line) + "\n" for line in lines))
