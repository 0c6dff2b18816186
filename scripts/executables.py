"""Reads what cargo test --no-run --message-format=json-render-diagnostics says, and prints a line for each test executable: its target's
name and kind, its package's folder, and its path, with tabs between."""

import json
import sys

for line in sys.stdin:
    message = json.loads(line) if line.startswith("{") else {}
    if message.get("reason") == "compiler-artifact" and message["profile"]["test"] and message.get("executable"):
        target = message["target"]
        folder = message["manifest_path"].replace("\\", "/").rsplit("/", 1)[0]
        print(target["name"], target["kind"][0], folder, message["executable"], sep="\t")
