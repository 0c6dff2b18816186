#!/usr/bin/env python3
"""Checks the Unity package's files, or writes the .meta files that are missing.

    package.py FOLDER --check    every asset has a .meta with a GUID of its own, none is left over; package.json, the
                                 asmdefs and the samples hold together
    package.py FOLDER --write    makes missing .meta files; never changes a GUID

A GUID is the MD5 of the package's name and the path, so that two people who add the same file get the same one. After
that it belongs to the file: whoever renames a file renames its .meta with it.
"""
import hashlib
import json
import os
import re
import sys

OWN_FOLDERS = "  externalObjects: {}\n  userData: \n  assetBundleName: \n  assetBundleVariant: \n"
SCRIPT = (
    "MonoImporter:\n  externalObjects: {}\n  serializedVersion: 2\n  defaultReferences: []\n  executionOrder: 0\n"
    "  icon: {instanceID: 0}\n  userData: \n  assetBundleName: \n  assetBundleVariant: \n"
)
TEXT = (".md", ".txt", ".json", ".xml")
IMPORTERS = {".cs": SCRIPT, ".asmdef": "AssemblyDefinitionImporter:\n" + OWN_FOLDERS}
# UI Toolkit's files name the script that imports them, which is the same in every editor.
IMPORTERS[".uxml"] = (
    "ScriptedImporter:\n  internalIDToNameTable: []\n  externalObjects: {}\n  serializedVersion: 2\n  userData: \n"
    "  assetBundleName: \n  assetBundleVariant: \n  script: {fileID: 13804, guid: 0000000000000000e000000000000000, type: 0}\n"
)
IMPORTERS[".uss"] = (
    "ScriptedImporter:\n  internalIDToNameTable: []\n  externalObjects: {}\n  serializedVersion: 2\n  userData: \n"
    "  assetBundleName: \n  assetBundleVariant: \n  script: {fileID: 12385, guid: 0000000000000000e000000000000000, type: 0}\n"
    "  disableValidation: 0\n"
)


def hidden(name):
    """Does Unity pass over it?"""
    return name.startswith(".") or name.endswith("~") or name == "cvs" or name.endswith(".tmp")


def meta(package, path, is_folder):
    """The text of a new .meta file."""
    guid = hashlib.md5(f"{package}/{path}".encode()).hexdigest()
    head = f"fileFormatVersion: 2\nguid: {guid}\n"
    extension = os.path.splitext(path)[1]
    if is_folder:
        return head + "folderAsset: yes\nDefaultImporter:\n" + OWN_FOLDERS
    if path == "package.json":
        return head + "PackageManifestImporter:\n" + OWN_FOLDERS
    if extension in IMPORTERS:
        return head + IMPORTERS[extension]
    return head + ("TextScriptImporter:\n" if extension in TEXT else "DefaultImporter:\n") + OWN_FOLDERS


def assets(root):
    """Paths of everything that needs a .meta, and of every .meta. Samples count, though Unity sees them only when copied."""
    for folder, folders, files in os.walk(root):
        inside = os.path.relpath(folder, root).replace(os.sep, "/")
        at_root = inside == "."
        folders[:] = sorted(d for d in folders if not hidden(d) or (at_root and d == "Samples~"))
        names = [d for d in folders if not hidden(d)] + sorted(f for f in files if not hidden(f))
        for name in names:
            yield name if at_root else f"{inside}/{name}"


def check_metas(root, package, write):
    problems, guids, made = [], {}, 0
    for path in assets(root):
        full = os.path.join(root, path)
        if path.endswith(".meta"):
            if not os.path.exists(full[:-5]):
                problems.append(f"{path}: what it belongs to is gone; remove it, or rename it with its file")
            continue
        if not os.path.exists(full + ".meta"):
            if not write:
                problems.append(f"{path}: has no .meta; run package.py --write")
                continue
            with open(full + ".meta", "w", encoding="utf-8", newline="\n") as out:
                out.write(meta(package, path, os.path.isdir(full)))
            made += 1
        with open(full + ".meta", encoding="utf-8") as text:
            found = re.search(r"^guid: ([0-9a-f]{32})$", text.read(), re.MULTILINE)
        if not found:
            problems.append(f"{path}.meta: has no GUID")
        elif found[1] in guids:
            problems.append(f"{path}.meta: has the GUID of {guids[found[1]]}")
        else:
            guids[found[1]] = path
    return problems, len(guids), made


def check_manifest(root, manifest):
    problems = []
    # What the Package Manager shows, and what Unity's validation of packages and OpenUPM ask for.
    for key in ("name", "version", "displayName", "description", "unity", "license", "author", "dependencies",
                "documentationUrl", "changelogUrl", "licensesUrl", "repository", "keywords"):
        if not manifest.get(key):
            problems.append(f"package.json: {key} is missing")
    if not re.fullmatch(r"\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?", manifest.get("version", "")):
        problems.append("package.json: version is not semantic")
    for sample in manifest.get("samples", []):
        if not os.path.isdir(os.path.join(root, sample["path"])):
            problems.append(f"package.json: there is no sample {sample['path']}")
    for name in ("CHANGELOG.md", "LICENSE.md", "README.md", "Third Party Notices.md"):
        if not os.path.exists(os.path.join(root, name)):
            problems.append(f"{name} is missing")
    # Unity takes in every other text at the top as an asset of each project.
    for name in sorted(os.listdir(root)):
        if name.endswith(".md") and name not in ("CHANGELOG.md", "LICENSE.md", "README.md", "Third Party Notices.md"):
            problems.append(f"{name}: pages belong into Documentation~")
    with open(os.path.join(root, "CHANGELOG.md"), encoding="utf-8") as text:
        entry = rf"^## \[{re.escape(manifest.get('version', ''))}\] - \d{{4}}-\d\d-\d\d$"
        entries = text.read()
        if not re.search(entry, entries, re.MULTILINE) and not re.search(r"^## \[Unreleased\]$", entries, re.MULTILINE):
            problems.append("CHANGELOG.md: there is neither a dated entry for the version of package.json nor one that is [Unreleased]")
        if "Not released yet" in entries:
            problems.append("CHANGELOG.md: an entry has a date and says that it is not released")
    return problems


def check_asmdefs(root):
    problems, names, references = [], set(), []
    for path in assets(root):
        if not path.endswith(".asmdef"):
            continue
        with open(os.path.join(root, path), encoding="utf-8") as text:
            asmdef = json.load(text)
        name = asmdef["name"]
        if os.path.basename(path) != name + ".asmdef":
            problems.append(f"{path}: is named otherwise than its assembly {name}")
        if not path.startswith("Samples~/") and asmdef.get("includePlatforms") != ["Editor"]:
            problems.append(f"{path}: is not for the editor alone")
        if asmdef.get("precompiledReferences") and not asmdef.get("overrideReferences"):
            problems.append(f"{path}: precompiledReferences count only with overrideReferences")
        # Tools in Assets/Editor have no asmdef, and need the core. Every other assembly that they refer to makes them compile more often.
        if not path.startswith("Samples~/") and asmdef.get("autoReferenced") != (name == "Holdfast.Core"):
            problems.append(f"{path}: autoReferenced must be {'true' if name == 'Holdfast.Core' else 'false'}")
        # A project without the test framework has no NUnit.
        if "nunit.framework.dll" in asmdef.get("precompiledReferences", []):
            defines = [d["define"] for d in asmdef.get("versionDefines", []) if d["name"] == "com.unity.test-framework"]
            if not set(defines) & set(asmdef.get("defineConstraints", [])):
                problems.append(f"{path}: is compiled in projects without com.unity.test-framework")
        names.add(name)
        references += [(path, other) for other in asmdef.get("references", [])]
    for path, other in references:
        if other.startswith("Holdfast") and other not in names:
            problems.append(f"{path}: refers to {other}, which is not there")
    return problems


def main():
    root, write = sys.argv[1], sys.argv[2] == "--write"
    with open(os.path.join(root, "package.json"), encoding="utf-8") as text:
        manifest = json.load(text)
    problems, count, made = check_metas(root, manifest["name"], write)
    problems += check_manifest(root, manifest) + check_asmdefs(root)
    for problem in problems:
        print(problem)
    print(f"package: {count} assets, {made} .meta written, {len(problems)} problems")
    sys.exit(1 if problems else 0)


main()
