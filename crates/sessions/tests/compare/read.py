"""Lists sessions or reads the messages of one, and prints how many there are: python read.py CONFIG [ID]"""

import os
import sys

os.environ["CLAUDE_CONFIG_DIR"] = sys.argv[1]
from claude_agent_sdk import get_session_messages, list_sessions  # noqa: E402

print(len(get_session_messages(sys.argv[2]) if len(sys.argv) > 2 else list_sessions()))
