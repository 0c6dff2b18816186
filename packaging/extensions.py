"""What a client installs as a whole: the server's entry, the skill, and the two prompts as commands. They are made from what the program
says of itself (`holdfast skill show --json`), and hold no program: `holdfast` has to be on PATH."""

import json

from containers import zipped
from facts import AUTHORS, HERE, json_bytes
from formats import plain

NAME = "holdfast"
# What both formats call the list of MCP servers.
SERVERS = {NAME: {"command": "holdfast", "args": ["serve"]}}
LICENCES = ("LICENSE-APACHE", "LICENSE-MIT")


def common(release):
    """The files that both have: the skill, the licences and what a person reads first."""
    files = {f"skills/{release.skill['name']}/{path}": text.encode() for path, text in release.skill["files"].items()}
    files["README.md"] = (HERE / "extension.md").read_bytes()
    return {**files, **{name: release.documents[name] for name in LICENCES}}


def asked(prompt, placeholder):
    """A prompt's text, with the place for what a user writes behind the command."""
    text = prompt["text"]
    if any(mark in text for mark in ("'''", "$ARGUMENTS", "{{", "!{", "@{", "!`")):
        raise SystemExit(f"error: the text of the prompt {prompt['name']} has what a client would expand. Nothing was made")
    for argument in prompt["arguments"]:
        text += f"\n\n{argument['description']}\n{argument['name']}: {placeholder}"
    return text


def claude_code_plugin(release):
    """A marketplace of one plugin, which `claude plugin marketplace add FOLDER` takes; the plugin is the folder `holdfast` in it."""
    author = {"name": AUTHORS, "url": release.repository}
    about = {"name": NAME, "description": release.crate["description"], "version": release.version}
    plugin = {
        **about,
        "author": author,
        "homepage": release.repository,
        "repository": release.repository,
        "license": release.crate["license"],
        "keywords": release.crate["keywords"],
    }
    files = common(release)
    files[".claude-plugin/plugin.json"] = json_bytes(plugin)
    files[".mcp.json"] = json_bytes({"mcpServers": SERVERS})
    for prompt in release.skill["prompts"]:
        head = {"description": prompt["description"]}
        if prompt["arguments"]:
            head["argument-hint"] = " ".join(f"[{argument['name']}]" for argument in prompt["arguments"])
        # A string of JSON is one of YAML.
        lines = "".join(f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in head.items())
        files[f"commands/{prompt['name']}.md"] = f"---\n{lines}---\n\n{asked(prompt, '$ARGUMENTS')}\n".encode()
    files = {f"{NAME}/{path}": content for path, content in files.items()}
    files[".claude-plugin/marketplace.json"] = json_bytes({
        "name": NAME,
        "owner": author,
        "description": release.crate["description"],
        "plugins": [{**about, "source": f"./{NAME}"}],
    })
    return f"holdfast-claude-code-plugin-{release.version}.zip", zipped(plain(files))


def gemini_extension(release):
    """An extension, whose unpacked folder `gemini extensions install FOLDER` takes."""
    manifest = {"name": NAME, "version": release.version, "description": release.crate["description"], "mcpServers": SERVERS}
    files = common(release)
    files["gemini-extension.json"] = json_bytes(manifest)
    for prompt in release.skill["prompts"]:
        # In a folder, so that the command is /holdfast:NAME and no other one's. A string of JSON is one of TOML.
        text = f"description = {json.dumps(prompt['description'], ensure_ascii=False)}\nprompt = '''\n{asked(prompt, '{{args}}')}\n'''\n"
        files[f"commands/{NAME}/{prompt['name']}.toml"] = text.encode()
    files = {f"{NAME}/{path}": content for path, content in files.items()}
    return f"holdfast-gemini-extension-{release.version}.zip", zipped(plain(files))
