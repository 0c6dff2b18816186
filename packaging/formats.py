"""The packages themselves, each as bytes. A `release` is what they are made of; see make.py."""

import base64
import hashlib
from dataclasses import dataclass

import facts
from containers import FILE, PROGRAM, sha256, tar_gz, zipped
from facts import HERE, json_bytes

REGISTRY_SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"


@dataclass
class Release:
    version: str
    crate: dict
    programs: dict  # target -> bytes
    documents: dict  # name -> bytes: licences, notices, README
    completions: dict  # file name -> bytes
    skill: dict  # what `holdfast skill show --json` says: the skill's files, and the prompts

    @property
    def platforms(self):
        return [platform for platform in facts.PLATFORMS if platform["target"] in self.programs]

    @property
    def repository(self):
        return self.crate["repository"]

    def download(self, name):
        """The address of a file of this release, from the moment that it is published."""
        return f"{self.repository}/releases/download/v{self.version}/{name}"

    def licences(self):
        return {name: content for name, content in self.documents.items() if name != "README.md"}


def plain(files):
    return {path: (content, FILE) for path, content in files.items()}


def archive_folder(version, platform):
    """The one folder in an archive; the archive is called as it is."""
    return f"holdfast-{version}-{platform['target']}"


def archive(release, platform):
    """The program with its documents and completions, for those who need no package manager."""
    folder = archive_folder(release.version, platform)
    files = plain(release.documents)
    files.update(plain({f"completions/{name}": content for name, content in release.completions.items()}))
    files[platform["exe"]] = (release.programs[platform["target"]], PROGRAM)
    files = {f"{folder}/{path}": entry for path, entry in files.items()}
    return f"{folder}.{platform['archive']}", zipped(files) if platform["archive"] == "zip" else tar_gz(files)


def npm_common(release, name, description):
    return {
        "name": name,
        "version": release.version,
        "description": description,
        "license": release.crate["license"],
        "homepage": f"{release.repository}#readme",
        "repository": {"type": "git", "url": f"git+{release.repository}.git"},
        "bugs": {"url": f"{release.repository}/issues"},
    }


def npm_platform(release, platform):
    """The package that carries the program; npm installs the one whose `os` and `cpu` fit. No `libc`: the build for Linux is
    static, and runs on any."""
    name = f"{facts.NPM_SCOPE}/{platform['npm']['name']}"
    package = npm_common(release, name, f"The program of {facts.NPM_NAME} for {platform['target']}; install {facts.NPM_NAME}")
    package.update(os=platform["npm"]["os"], cpu=platform["npm"]["cpu"], preferUnplugged=True)
    about = f"# {name}\n\nThe program of `{facts.NPM_NAME}` for one platform. Install that one.\n"
    files = plain({**release.licences(), "README.md": about.encode(), "package.json": json_bytes(package)})
    files[platform["exe"]] = (release.programs[platform["target"]], PROGRAM)
    return npm_file(name, release), npm_tar(files)


def npm_main(release):
    """The package that people name: a launcher, and one optional dependency for each platform."""
    package = npm_common(release, facts.NPM_NAME, release.crate["description"])
    package.update(
        mcpName=facts.MCP_NAME,
        keywords=[*release.crate["keywords"], "mcp-server", "unity3d"],
        bin={name: "launcher.js" for name in ("holdfast", facts.NPM_NAME)},
        engines={"node": ">=18"},
        optionalDependencies={f"{facts.NPM_SCOPE}/{p['npm']['name']}": release.version for p in release.platforms},
    )
    about = (HERE / "about.md").read_bytes()
    files = plain({**release.licences(), "README.md": about, "package.json": json_bytes(package)})
    files["launcher.js"] = ((HERE / "npm/launcher.js").read_bytes(), PROGRAM)
    return npm_file(facts.NPM_NAME, release), npm_tar(files)


def npm_file(name, release):
    return f"{name.lstrip('@').replace('/', '-')}-{release.version}.tgz"


def npm_tar(files):
    return tar_gz({f"package/{path}": entry for path, entry in files.items()})


def wheel(release, platform):
    """A wheel whose scripts are the program itself, so that no Python stays between client and gateway."""
    version = facts.pypi_version(release.version)
    stem = f"{facts.PYPI_NAME.replace('-', '_')}-{version}"
    info = f"{stem}.dist-info"
    program = release.programs[platform["target"]]
    suffix = platform["exe"].removeprefix("holdfast")
    # Twice: `uvx holdfast-mcp` runs the script that is called as the package is, and people type `holdfast`.
    files = {f"{stem}.data/scripts/{name}{suffix}": (program, PROGRAM) for name in ("holdfast", facts.PYPI_NAME)}
    tags = [f"py3-none-{tag}" for tag in platform["wheel"].split(".")]
    metadata = [
        "Metadata-Version: 2.4",
        f"Name: {facts.PYPI_NAME}",
        f"Version: {version}",
        f"Summary: {release.crate['description']}",
        f"Project-URL: Repository, {release.repository}",
        f"Project-URL: Changelog, {release.repository}/blob/main/CHANGELOG.md",
        f"License-Expression: {release.crate['license']}",
        *(f"License-File: {name}" for name in sorted(release.licences())),
        f"Keywords: {','.join(release.crate['keywords'])}",
        "Classifier: Environment :: Console",
        "Classifier: Programming Language :: Rust",
        "Classifier: Topic :: Software Development",
        "Requires-Python: >=3.8",
        "Description-Content-Type: text/markdown; charset=UTF-8; variant=GFM",
    ]
    about = (HERE / "about.md").read_text(encoding="utf-8")
    described = ["Wheel-Version: 1.0", "Generator: holdfast", "Root-Is-Purelib: false", *(f"Tag: {tag}" for tag in tags)]
    files.update(plain({f"{info}/licenses/{name}": content for name, content in release.licences().items()}))
    files.update(plain({
        f"{info}/METADATA": ("\n".join(metadata) + "\n\n" + about).encode(),
        f"{info}/WHEEL": ("\n".join(described) + "\n").encode(),
    }))
    record = f"{info}/RECORD"
    lines = [f"{path},sha256={urlsafe(content)},{len(content)}" for path, (content, _) in sorted(files.items())]
    files[record] = ("\n".join([*lines, f"{record},,"]) + "\n").encode(), FILE
    # Installers read what describes a wheel first when it stands last, as the format recommends.
    last = {path for path in files if path.startswith(info)}
    return f"{stem}-py3-none-{platform['wheel']}.whl", zipped(files, last)


def urlsafe(content):
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def mcpb(release):
    """One bundle for every platform, for clients that install by double click."""
    files = plain(release.documents)
    command = {}
    for platform in release.platforms:
        at = f"server/{platform['mcpb']['folder']}/{platform['exe']}"
        files[at] = (release.programs[platform["target"]], PROGRAM)
        if platform["mcpb"]["platform"] == "win32":
            command["win32"] = at
        else:
            command["other"] = "server/holdfast"
            files[command["other"]] = ((HERE / "mcpb/holdfast").read_bytes(), PROGRAM)
    entry = command.get("other", command.get("win32"))
    start = {
        "command": f"${{__dirname}}/{entry}",
        "args": ["serve", "--project", "${user_config.project}"],
        # What is started with files of its own must not take them from the user's shell.
        "env": {},
    }
    if "other" in command and "win32" in command:
        start["platform_overrides"] = {"win32": {"command": f"${{__dirname}}/{command['win32']}"}}
    manifest = {
        "manifest_version": "0.3",
        "name": facts.NPM_NAME,
        "display_name": facts.TITLE,
        "version": release.version,
        "description": release.crate["description"],
        "author": {"name": facts.AUTHORS, "url": release.repository},
        "repository": {"type": "git", "url": f"{release.repository}.git"},
        "homepage": release.repository,
        "documentation": f"{release.repository}#readme",
        "support": f"{release.repository}/issues",
        "server": {"type": "binary", "entry_point": entry, "mcp_config": start},
        "tools": [{"name": name, "description": text} for name, text in facts.TOOLS.items()],
        "tools_generated": True,
        "keywords": release.crate["keywords"],
        "license": release.crate["license"],
        "compatibility": {"platforms": list(dict.fromkeys(p["mcpb"]["platform"] for p in release.platforms))},
        "user_config": {
            "project": {
                "type": "directory",
                "title": "Unity project",
                "description": "The folder of your Unity project, the one with Assets and ProjectSettings in it",
                # A client leaves an option that nobody set in the arguments as it is written here.
                "required": True,
            }
        },
    }
    files["manifest.json"] = json_bytes(manifest), FILE
    return f"holdfast-{release.version}.mcpb", zipped(files)


def server_json(release, bundle):
    """What the MCP registry is told. `bundle`: name and bytes of the .mcpb."""
    name, content = bundle
    project = {
        "type": "named",
        "name": "--project",
        "description": "The folder of the Unity project; without it the client's roots, then the working directory",
        "format": "filepath",
        "isRequired": False,
    }
    environment = [
        {
            "name": "HOLDFAST_LOG",
            "description": "How much to log on stderr",
            "choices": ["off", "error", "warn", "info", "debug", "trace"],
            "isRequired": False,
        }
    ]
    stdio = {"type": "stdio"}
    fetched = {"transport": stdio, "packageArguments": [project], "environmentVariables": environment}
    return {
        "$schema": REGISTRY_SCHEMA,
        "name": facts.MCP_NAME,
        "title": facts.TITLE,
        "description": facts.SHORT,
        "repository": {"url": release.repository, "source": "github"},
        "websiteUrl": release.repository,
        "version": release.version,
        "packages": [
            {"registryType": "npm", "identifier": facts.NPM_NAME, "version": release.version, "runtimeHint": "npx", **fetched},
            {
                "registryType": "pypi",
                "identifier": facts.PYPI_NAME,
                "version": facts.pypi_version(release.version),
                "runtimeHint": "uvx",
                **fetched,
            },
            {
                "registryType": "mcpb",
                "identifier": release.download(name),
                "version": release.version,
                "fileSha256": sha256(content),
                "transport": stdio,
            },
        ],
    }
