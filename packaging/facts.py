"""What is said once: the version and the texts of Cargo.toml, the table of platforms, the names under which we publish."""

import json
import os
import re
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
PLATFORMS = json.loads((HERE / "platforms.json").read_text(encoding="utf-8"))

# crates.io and PyPI have a `holdfast` of other people. The crate gets its name when it is published; see crates.py.
CRATE_NAME = "holdfast-mcp"
NPM_NAME = "holdfast-mcp"
NPM_SCOPE = "@holdfast-mcp"
PYPI_NAME = "holdfast-mcp"
# The MCP registry grants a publisher the names below its GitHub account.
MCP_NAME = "io.github.holdfast-mcp/holdfast"
WINGET_ID = "HoldfastMCP.Holdfast"
# Repositories beside ours: Homebrew finds `OWNER/tap` in `OWNER/homebrew-tap`.
TAP = "homebrew-tap"
BUCKET = "scoop-bucket"
AUTHORS = "The holdfast contributors"
TITLE = "Holdfast for Unity"
# The registry takes 100 characters; Cargo.toml's is longer.
SHORT = "Keeps an AI editor's session whole while the Unity Editor reloads, hangs, restarts or crashes"
# Homebrew takes 80, and no article and no name of the program at the start.
BRIEF = "MCP server that keeps an AI session whole while the Unity Editor reloads"
# The gateway's own tools, always there; those of Unity come with the project. Held against the program by try_packages.py.
TOOLS = {
    "holdfast_status": "The state of the connection to Unity, and why",
    "holdfast_wait_ready": "Wait until the Unity Editor takes calls",
    "holdfast_result": "The late result of a call",
    "holdfast_calls": "The recent calls and how each ended",
    "holdfast_editors": "The editors that the session may use, and those that are closed",
}


def packages():
    """Cargo's own reading of every Cargo.toml of the workspace."""
    words = [os.environ.get("CARGO", "cargo"), "metadata", "--no-deps", "--offline", "--format-version", "1"]
    found = subprocess.run(words, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
    return json.loads(found)["packages"]


def crate():
    return next(package for package in packages() if package["name"] == "holdfast")


def platform_of(target):
    for platform in PLATFORMS:
        if platform["target"] == target:
            return platform
    raise SystemExit(f"error: {target} is not in packaging/platforms.json, only {', '.join(p['target'] for p in PLATFORMS)}")


def unity_package():
    return json.loads((ROOT / "unity/package.json").read_text(encoding="utf-8"))


def pypi_version(version):
    """A version of Cargo as PyPI spells it: 0.2.0-rc.1 is 0.2.0rc1."""
    found = re.fullmatch(r"(\d+\.\d+\.\d+)(?:-(alpha|beta|rc)\.(\d+))?", version)
    if not found:
        raise SystemExit(f"error: PyPI has no spelling for the version {version}; take X.Y.Z or X.Y.Z-rc.N (alpha, beta)")
    release, stage, number = found.groups()
    return release if stage is None else f"{release}{ {'alpha': 'a', 'beta': 'b', 'rc': 'rc'}[stage] }{number}"


def json_bytes(value):
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()
