"""What every package promises, shown with programs of a few bytes for all platforms: python3 -m unittest discover packaging"""

import base64
import gzip
import hashlib
import io
import json
import os
import re
import struct
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import binaries
import extensions
import facts
import formats
import make
from containers import sha256


def elf(machine, dynamic=False):
    header = bytearray(64)
    header[:6] = b"\x7fELF\x02\x01"
    struct.pack_into("<H", header, 18, machine)
    struct.pack_into("<Q", header, 32, 64)
    struct.pack_into("<HH", header, 54, 56, 1)
    return bytes(header) + struct.pack("<I", 3 if dynamic else 1).ljust(56, b"\0")


def macho(machine):
    return b"\xcf\xfa\xed\xfe" + struct.pack("<I", machine).ljust(28, b"\0")


PE = b"MZ".ljust(0x3C, b"\0") + struct.pack("<I", 64) + b"PE\0\0" + struct.pack("<H", 0x8664).ljust(20, b"\0")
PROGRAMS = {
    "x86_64-unknown-linux-musl": elf(62),
    "aarch64-unknown-linux-musl": elf(183),
    "x86_64-apple-darwin": macho(0x01000007),
    "aarch64-apple-darwin": macho(0x0100000C),
    "x86_64-pc-windows-msvc": PE,
}
CRATE = facts.crate()
VERSION = CRATE["version"]


SKILL_FOLDER = facts.ROOT / "skills/holdfast"
SKILL = {
    "name": "holdfast",
    "version": VERSION,
    "files": {path.relative_to(SKILL_FOLDER).as_posix(): path.read_text(encoding="utf-8") for path in sorted(SKILL_FOLDER.rglob("*.md"))},
    "prompts": [
        {"name": "mend", "title": "Mend", "description": 'Mend what is "red": all.', "text": "Mend it.\n1. Look.",
         "arguments": [{"name": "where", "description": "A folder."}]},
        {"name": "ask", "title": "Ask", "description": "Ask.", "text": "Ask it.", "arguments": []},
    ],
}


def release():
    documents = {name: name.encode() for name in ("LICENSE-MIT", "LICENSE-APACHE", "LICENSES-THIRD-PARTY.txt", "README.md")}
    return formats.Release(VERSION, CRATE, dict(PROGRAMS), documents, {"holdfast.bash": b"complete"}, SKILL)


FILES = make.everything(release())


def named(pattern):
    """The packages whose file name has this form, unpacked: {file name: {path: (bytes, mode)}}."""
    found = {}
    for name, content in FILES.items():
        if re.fullmatch(pattern, name):
            found[name] = unpacked(content)
    return found


def unpacked(content):
    if content[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            return {entry.filename: (packed.read(entry), entry.external_attr >> 16 & 0o777) for entry in packed.infolist()}
    with tarfile.open(fileobj=io.BytesIO(content)) as packed:
        return {entry.name: (packed.extractfile(entry).read(), entry.mode) for entry in packed}


class Packages(unittest.TestCase):
    def test_the_table_and_these_programs_name_the_same_platforms(self):
        self.assertEqual([platform["target"] for platform in facts.PLATFORMS], list(PROGRAMS))

    def test_the_same_inputs_give_the_same_bytes(self):
        script = "import test_packages, hashlib; print({n: hashlib.sha256(c).hexdigest() for n, c in sorted(test_packages.FILES.items())})"
        environment = {**os.environ, "TZ": "Pacific/Kiritimati", "PYTHONHASHSEED": "7", "SOURCE_DATE_EPOCH": "1", "LC_ALL": "C"}
        other = subprocess.run([sys.executable, "-c", script], cwd=facts.HERE, env=environment, check=True, stdout=subprocess.PIPE)
        here = {name: sha256(content) for name, content in sorted(FILES.items())}
        self.assertEqual(other.stdout.decode().strip(), str(here))

    def test_no_entry_carries_a_time_an_owner_or_a_name_of_the_machine(self):
        for name, content in FILES.items():
            if content[:2] == b"PK":
                for entry in zipfile.ZipFile(io.BytesIO(content)).infolist():
                    self.assertEqual((entry.date_time, entry.create_system), ((1985, 10, 26, 8, 15, 0), 3), name)
            elif content[:2] == b"\x1f\x8b":
                with gzip.GzipFile(fileobj=io.BytesIO(content)) as stream:
                    stream.read(1)
                    self.assertEqual(stream.mtime, 499162500, name)
                with tarfile.open(fileobj=io.BytesIO(content)) as packed:
                    for entry in packed:
                        self.assertEqual((entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname), (499162500, 0, 0, "", ""), name)

    def test_every_package_is_there_and_summed(self):
        listed = dict(reversed(line.split("  ", 1)) for line in FILES["SHA256SUMS"].decode().splitlines())
        self.assertEqual(listed, {name: sha256(content) for name, content in FILES.items() if name != "SHA256SUMS"})
        self.assertEqual(len(FILES), 3 * len(PROGRAMS) + 12)

    def test_every_archive_holds_its_program_and_its_licences(self):
        for target, program in PROGRAMS.items():
            platform = facts.platform_of(target)
            stem = f"holdfast-{VERSION}-{target}"
            entries = unpacked(FILES[f"{stem}.{platform['archive']}"])
            self.assertEqual(entries[f"{stem}/{platform['exe']}"], (program, 0o755))
            for name in ("LICENSE-MIT", "LICENSE-APACHE", "LICENSES-THIRD-PARTY.txt", "README.md", "completions/holdfast.bash"):
                self.assertEqual(entries[f"{stem}/{name}"][1], 0o644)

    def test_the_plugin_and_the_extension_hold_the_server_the_skill_and_the_prompts(self):
        plugin = {path: content.decode() for path, (content, _) in unpacked(FILES[f"holdfast-claude-code-plugin-{VERSION}.zip"]).items()}
        extension = {path: content.decode() for path, (content, _) in unpacked(FILES[f"holdfast-gemini-extension-{VERSION}.zip"]).items()}
        for files in (plugin, extension):
            skill = {path.removeprefix("holdfast/skills/holdfast/"): text for path, text in files.items() if "/skills/" in path}
            self.assertEqual(skill, SKILL["files"])
            self.assertTrue("SKILL.md" in skill and "holdfast/LICENSE-MIT" in files)
        manifest = json.loads(plugin["holdfast/.claude-plugin/plugin.json"])
        listed = json.loads(plugin[".claude-plugin/marketplace.json"])["plugins"]
        self.assertEqual([(one["name"], one["version"], one["source"]) for one in listed], [("holdfast", VERSION, "./holdfast")])
        self.assertEqual((manifest["name"], manifest["version"]), ("holdfast", VERSION))
        server = {"holdfast": {"command": "holdfast", "args": ["serve"]}}
        self.assertEqual(json.loads(plugin["holdfast/.mcp.json"]), {"mcpServers": server})
        of_gemini = json.loads(extension["holdfast/gemini-extension.json"])
        self.assertEqual((of_gemini["name"], of_gemini["version"], of_gemini["mcpServers"]), ("holdfast", VERSION, server))
        head = '---\ndescription: "Mend what is \\"red\\": all."\nargument-hint: "[where]"\n---\n'
        self.assertEqual(plugin["holdfast/commands/mend.md"], f"{head}\nMend it.\n1. Look.\n\nA folder.\nwhere: $ARGUMENTS\n")
        self.assertNotIn("$ARGUMENTS", plugin["holdfast/commands/ask.md"])
        if sys.version_info >= (3, 11):
            import tomllib
            command = tomllib.loads(extension["holdfast/commands/holdfast/mend.toml"])
            self.assertEqual(command, {"description": 'Mend what is "red": all.', "prompt": "Mend it.\n1. Look.\n\nA folder.\nwhere: {{args}}\n"})

    def test_a_prompt_that_a_client_would_expand_is_refused(self):
        for text in ("Run !{ls}", "See @{file}", "Take $ARGUMENTS", "'''", "Take {{args}}", "Run !`ls`"):
            with self.assertRaises(SystemExit):
                extensions.asked({"name": "mend", "text": text, "arguments": []}, "$ARGUMENTS")

    def test_only_programs_may_be_run(self):
        for name, content in FILES.items():
            if content[:2] in (b"PK", b"\x1f\x8b"):
                running = {path for path, (_, mode) in unpacked(content).items() if mode != 0o644}
                self.assertTrue(all(re.search(r"(holdfast|holdfast-mcp|launcher\.js)(\.exe)?$", path) for path in running), running)


class Npm(unittest.TestCase):
    def test_the_launcher_s_package_depends_on_one_of_each_platform_in_its_own_version(self):
        main = json.loads(unpacked(FILES[f"holdfast-mcp-{VERSION}.tgz"])["package/package.json"][0])
        self.assertEqual((main["name"], main["version"]), ("holdfast-mcp", VERSION))
        parts = {}
        for entries in named(r"holdfast-mcp-(linux|darwin|win32)-.*\.tgz").values():
            package = json.loads(entries["package/package.json"][0])
            parts[package["name"]] = package["version"]
            self.assertTrue(package["os"] and package["cpu"])
            self.assertIn("package/holdfast.exe" if package["os"] == ["win32"] else "package/holdfast", entries)
        self.assertEqual(main["optionalDependencies"], parts)
        self.assertEqual(set(parts.values()), {VERSION})
        self.assertEqual(set(main["bin"].values()), {"launcher.js"})

    def test_what_npm_and_its_provenance_ask_for_is_there(self):
        for name, entries in named(r".*\.tgz").items():
            package = json.loads(entries["package/package.json"][0])
            self.assertEqual(package["repository"]["url"], f"git+{CRATE['repository']}.git", name)
            self.assertEqual(package["license"], CRATE["license"], name)
            self.assertTrue(all(path.startswith("package/") for path in entries), name)


class Wheels(unittest.TestCase):
    def test_the_record_tells_every_file_with_its_sum_and_length(self):
        wheels = named(r".*\.whl")
        self.assertEqual(len(wheels), len(PROGRAMS))
        for name, entries in wheels.items():
            info = f"holdfast_mcp-{facts.pypi_version(VERSION)}.dist-info"
            rows = [line.split(",") for line in entries[f"{info}/RECORD"][0].decode().splitlines()]
            self.assertEqual({path for path, _, _ in rows}, set(entries), name)
            for path, is_sum, length in rows:
                if path != f"{info}/RECORD":
                    content = entries[path][0]
                    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
                    self.assertEqual((is_sum, length), (f"sha256={digest}", str(len(content))), path)

    def test_name_tags_and_version_are_the_same_inside_and_outside(self):
        for name, entries in named(r".*\.whl").items():
            distribution, version, python, abi, systems = name.removesuffix(".whl").split("-")
            info = f"{distribution}-{version}.dist-info"
            tags = [line.removeprefix("Tag: ") for line in entries[f"{info}/WHEEL"][0].decode().splitlines() if line.startswith("Tag: ")]
            self.assertEqual(tags, [f"{python}-{abi}-{system}" for system in systems.split(".")])
            metadata = entries[f"{info}/METADATA"][0].decode()
            self.assertIn(f"\nName: holdfast-mcp\nVersion: {facts.pypi_version(VERSION)}\n", metadata)
            for licence in re.findall(r"License-File: (.*)", metadata):
                self.assertIn(f"{info}/licenses/{licence}", entries)

    def test_pypi_s_spelling_of_versions(self):
        for cargo, pypi in {"1.2.3": "1.2.3", "0.2.0-rc.1": "0.2.0rc1", "0.2.0-alpha.10": "0.2.0a10", "0.2.0-beta.2": "0.2.0b2"}.items():
            self.assertEqual(facts.pypi_version(cargo), pypi)
        with self.assertRaises(SystemExit):
            facts.pypi_version("1.0.0-nightly")


class Bundle(unittest.TestCase):
    def test_the_manifest_starts_what_the_bundle_holds_on_every_platform(self):
        entries = unpacked(FILES[f"holdfast-{VERSION}.mcpb"])
        manifest = json.loads(entries["manifest.json"][0])
        self.assertEqual((manifest["version"], manifest["server"]["type"]), (VERSION, "binary"))
        start = manifest["server"]["mcp_config"]
        commands = [start["command"], *(override["command"] for override in start["platform_overrides"].values())]
        for command in commands:
            self.assertEqual(entries[command.removeprefix("${__dirname}/")][1], 0o755, command)
        self.assertEqual(manifest["compatibility"]["platforms"], ["linux", "darwin", "win32"])
        for target, program in PROGRAMS.items():
            platform = facts.platform_of(target)
            self.assertEqual(entries[f"server/{platform['mcpb']['folder']}/{platform['exe']}"], (program, 0o755))
        for option in re.findall(r"\$\{user_config\.(\w+)\}", " ".join(start["args"])):
            self.assertTrue(manifest["user_config"][option]["required"], option)


class Registry(unittest.TestCase):
    entry = json.loads(FILES["server.json"])

    def test_it_names_the_packages_that_are_made_and_the_sum_of_the_bundle(self):
        packages = {package["registryType"]: package for package in self.entry["packages"]}
        self.assertEqual(set(packages), {"npm", "pypi", "mcpb"})
        self.assertIn(f"{packages['npm']['identifier']}-{packages['npm']['version']}.tgz", FILES)
        bundle = packages["mcpb"]["identifier"].rsplit("/", 1)
        self.assertEqual(bundle[0], f"{CRATE['repository']}/releases/download/v{VERSION}")
        self.assertEqual(packages["mcpb"]["fileSha256"], sha256(FILES[bundle[1]]))
        self.assertEqual({package["version"] for package in (self.entry, packages["npm"], packages["mcpb"])}, {VERSION})
        self.assertEqual(packages["pypi"]["version"], facts.pypi_version(VERSION))

    def test_it_keeps_the_registry_s_bounds(self):
        self.assertLessEqual(len(self.entry["description"]), 100)
        self.assertLessEqual(len(self.entry["title"]), 100)
        self.assertRegex(self.entry["name"], r"^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$")
        owner = CRATE["repository"].split("/")[-2]
        self.assertTrue(self.entry["name"].startswith(f"io.github.{owner}/"), "the registry grants no other names")

    def test_npm_and_pypi_carry_the_mark_of_ownership(self):
        main = json.loads(unpacked(FILES[f"holdfast-mcp-{VERSION}.tgz"])["package/package.json"][0])
        self.assertEqual(main["mcpName"], self.entry["name"])
        for name, entries in named(r".*\.whl").items():
            metadata = next(content for path, (content, _) in entries.items() if path.endswith("/METADATA")).decode()
            self.assertIn(f"\nmcp-name: {self.entry['name']}\n", metadata, name)


class Versions(unittest.TestCase):
    def test_the_unity_package_has_the_version_of_the_crate(self):
        self.assertEqual(json.loads((facts.ROOT / "unity/package.json").read_text(encoding="utf-8"))["version"], VERSION)

    def test_a_program_of_another_version_is_refused(self):
        with tempfile.TemporaryDirectory() as place:
            program = Path(place) / "holdfast"
            program.write_text("#!/bin/sh\necho holdfast 9.9.9\n")
            program.chmod(0o755)
            with self.assertRaisesRegex(SystemExit, "9.9.9"):
                make.gather({make.host(): program}, stand_in=True)


class Programs(unittest.TestCase):
    def test_each_is_taken_for_its_own_platform_only(self):
        for target, program in PROGRAMS.items():
            fitting = [p["target"] for p in facts.PLATFORMS if binaries.complaint(program, p) is None]
            self.assertEqual(fitting, [target])

    def test_what_is_none_is_refused(self):
        for content in (b"", b"#!/bin/sh\n", elf(62)[:19], b"MZ", elf(62, dynamic=True)):
            self.assertIsNotNone(binaries.complaint(content, facts.PLATFORMS[0]), content[:20])


class Workflow(unittest.TestCase):
    text = (facts.ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")

    def test_it_takes_its_platforms_from_the_table(self):
        self.assertIn("make.py matrix", self.text)
        for target in PROGRAMS:
            self.assertNotIn(target, self.text)

    def test_every_program_is_driven_on_its_own_machine_before_it_is_packed(self):
        program = self.text.split("\n  program:\n", 1)[1].split("\n  sign:\n", 1)[0]
        build, smoke, upload = (program.index(step) for step in ("packaging/build.sh", "scripts/smoke.py", "actions/upload-artifact"))
        self.assertTrue(build < smoke < upload)

    def jobs(self):
        return dict(job.split(":\n", 1) for job in re.findall(r"(?m)^  [a-z-]+:\n(?:(?:    .*)?\n|  #.*\n)*", self.text.split("\njobs:\n", 1)[1]))

    def test_whatever_publishes_waits_for_its_environment_and_a_pushed_tag(self):
        doing = r"npm publish|pypi-publish|mcp-publisher|release create|crates\.py publish\n|list\.sh|wingetcreate"
        publishing = {name.strip(): job for name, job in self.jobs().items() if re.search(doing, job)}
        # What is not pinned must not run where npm, PyPI and crates.io trust what is minted, and no list's token stands where others are.
        places = {"registry": "registry", "lists": "lists", "winget": "lists"}
        self.assertEqual(set(publishing), {"github", "crates", "npm", "pypi", "registry", "lists", "winget"})
        for name, job in publishing.items():
            self.assertIn(f"\n    environment: {places.get(name, 'release')}\n", job, name)
            self.assertIn("    if: github.event_name == 'push' && github.ref_type == 'tag'", job, name)

    def test_a_certificate_is_seen_by_the_job_that_signs_only(self):
        seeing = [name.strip() for name, job in self.jobs().items() if re.search(r"secrets\.(APPLE|AZURE)", job)]
        self.assertEqual(seeing, ["sign"])
        self.assertNotIn("cargo", self.jobs()["  sign"])

    def test_what_it_names_is_what_is_made(self):
        for name in re.findall(r"file: ([\w.]+)", self.text):
            self.assertIn(name, FILES)
        self.assertIn(f'$id = "{facts.WINGET_ID}"', self.text)
        for repository in (facts.TAP, facts.BUCKET):
            self.assertIn(f"repository: {repository},", self.text)

    def test_every_secret_is_explained(self):
        told = (facts.ROOT / "docs/releasing.md").read_text(encoding="utf-8")
        for name in set(re.findall(r"secrets\.(\w+)|(?<=environment: )(\w+)$", self.text, re.MULTILINE)):
            self.assertIn(f"`{''.join(name)}`", told)


if __name__ == "__main__":
    unittest.main()
