"""A legacy server that answers `server/discover` with the line that it was given. It knows nothing of ours.

    python odd_server.py LINE [LINE…]

One line for each time that it is asked, the last again and again. `@` in a line is the id of the question,
an empty line is silence.
"""

from __future__ import annotations

import json
import sys
from typing import Any

ANSWERS = sys.argv[1:]
INITIALIZED = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "serverInfo": {"name": "odd", "version": "1"},
}


def answer(message: dict[str, Any]) -> str:
    if message["method"] == "server/discover":
        said = ANSWERS.pop(0) if len(ANSWERS) > 1 else ANSWERS[0]
        return said.replace("@", json.dumps(message["id"]))
    return json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": INITIALIZED})


for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked and (said := answer(asked)):
        print(said, flush=True)
