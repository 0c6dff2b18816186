"""What Homebrew, Scoop, winget, OpenUPM and crates.io are told, held against the rules of their formats: python3 -m unittest discover packaging"""

import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import crates
import facts
import managers
import test_packages as made
from containers import sha256

VERSION, REPOSITORY = made.VERSION, made.CRATE["repository"]
DOWNLOADS = f"{REPOSITORY}/releases/download/v{VERSION}/"


def scalars(text):
    """What yaml_bytes wrote, as pairs of path and value. Reads no other YAML."""
    found, path = [], []
    for line in text.splitlines():
        indent, mark, key, value = re.fullmatch(r"( *)(- )?(?:([A-Za-z0-9]+):)? ?(.*)", line).groups()
        path = [one for one in path if one[0] < len(indent)]
        if key:
            path.append((len(indent + (mark or "")), key))
        if value:
            found.append((".".join(name for _, name in path), json.loads(value)))
    return found


def file(name):
    return made.FILES[name].decode()


class Archives(unittest.TestCase):
    def test_every_address_is_a_file_of_the_release_and_stands_beside_its_sum(self):
        brew = re.findall(r'url "(.*)"\n      sha256 "(.*)"', file("holdfast.rb"))
        scoop = [(one["url"], one["hash"]) for one in json.loads(file("holdfast.json"))["architecture"].values()]
        said = scalars(file(f"{facts.WINGET_ID}.installer.yaml"))
        addresses, sums = ([value for path, value in said if path.endswith(end)] for end in ("InstallerUrl", "InstallerSha256"))
        winget = list(zip(addresses, (is_sum.lower() for is_sum in sums)))
        self.assertEqual((len(brew), len(scoop), len(winget)), (4, 1, 1))
        for url, is_sum in [*brew, *scoop, *winget]:
            self.assertTrue(url.startswith(DOWNLOADS), url)
            self.assertEqual(is_sum, sha256(made.FILES[url.removeprefix(DOWNLOADS)]), url)

    def test_what_is_started_is_in_the_archive(self):
        nested = dict(scalars(file(f"{facts.WINGET_ID}.installer.yaml")))["Installers.NestedInstallerFiles.RelativeFilePath"]
        scoop = json.loads(file("holdfast.json"))
        for one in scoop["architecture"].values():
            entries = made.unpacked(made.FILES[one["url"].removeprefix(DOWNLOADS)])
            self.assertIn(f"{one['extract_dir']}/{scoop['bin']}", entries)
            self.assertIn(nested.replace("\\", "/"), entries)
        for _, entries in made.named(r"holdfast-.*\.tar\.gz").items():
            folders = {path.split("/")[0] for path in entries}
            self.assertEqual(len(folders), 1, "Homebrew enters a folder that is alone")
            self.assertIn(f"{folders.pop()}/holdfast", entries)

    def test_a_manager_without_an_archive_is_left_out(self):
        one = made.release()
        one.programs = {target: program for target, program in one.programs.items() if target.endswith("musl")}
        sums = {name: sha256(content) for name, content in made.FILES.items()}
        self.assertEqual(sorted(managers.everything(one, sums)), ["dev.holdfast.unity.yml", "holdfast.rb"])
        self.assertNotIn("on_macos", managers.homebrew(one, sums).decode())


class Homebrew(unittest.TestCase):
    text = file("holdfast.rb")

    def test_each_system_has_both_processors(self):
        for system, ending in {"macos": "apple-darwin", "linux": "unknown-linux-musl"}.items():
            block = re.search(rf"  on_{system} do\n(.*?)\n  end\n", self.text, re.DOTALL)[1]
            for processor, machine in {"arm": "aarch64", "intel": "x86_64"}.items():
                self.assertRegex(block, rf"    on_{processor} do\n      url \".*-{machine}-{ending}\.tar\.gz\"\n      sha256 \"[0-9a-f]{{64}}\"\n    end")

    def test_the_description_keeps_homebrew_s_rules(self):
        said = re.search(r'  desc "(.*)"', self.text)[1]
        self.assertTrue(len(said) <= 80 and not said.endswith(".") and not re.match(r"(?i)(a|an|the|holdfast)\b", said), said)

    def test_what_is_installed_is_what_an_archive_has(self):
        entries = made.named(rf"holdfast-{re.escape(VERSION)}-x86_64-unknown-linux-musl\.tar\.gz").popitem()[1]
        there = {path.split("/", 1)[1] for path in entries}
        installed = set(re.findall(r'\.install "([^"]*)"', self.text))
        shells = {f"completions/{name}" for name in ("holdfast.bash", "_holdfast", "holdfast.fish")}
        self.assertEqual(installed - shells, {"holdfast", "LICENSES-THIRD-PARTY.txt"})
        self.assertTrue(installed - shells <= there)
        from make import SHELLS
        self.assertTrue({path.removeprefix("completions/") for path in installed & shells} <= set(SHELLS.values()))


class Scoop(unittest.TestCase):
    def test_it_has_what_the_format_asks_for_and_can_renew_itself(self):
        manifest = json.loads(file("holdfast.json"))
        self.assertTrue({"version", "homepage", "license"} <= set(manifest))
        self.assertEqual(manifest["license"], "MIT|Apache-2.0")
        self.assertEqual(set(manifest["architecture"]), {"64bit"})
        later = json.dumps(manifest["autoupdate"]["architecture"])
        self.assertNotIn(VERSION, later)
        now = {name: {key: one[key] for key in ("url", "extract_dir")} for name, one in manifest["architecture"].items()}
        self.assertEqual(json.loads(later.replace("$version", VERSION)), now)
        self.assertIn(manifest["autoupdate"]["hash"]["url"].removeprefix("$baseurl/"), made.FILES)


class Winget(unittest.TestCase):
    files = {name: dict(scalars(file(name))) for name in made.FILES if name.startswith(facts.WINGET_ID)}

    def test_three_files_of_one_version_and_one_schema(self):
        kinds = {"": "version", ".installer": "installer", ".locale.en-US": "defaultLocale"}
        self.assertEqual(set(self.files), {f"{facts.WINGET_ID}{end}.yaml" for end in kinds})
        for end, kind in kinds.items():
            said = self.files[f"{facts.WINGET_ID}{end}.yaml"]
            self.assertEqual((said["PackageIdentifier"], said["PackageVersion"], said["ManifestType"]), (facts.WINGET_ID, VERSION, kind))
            self.assertRegex(said["ManifestVersion"], r"^1\.\d+\.0$")
        self.assertEqual(self.files[f"{facts.WINGET_ID}.yaml"]["DefaultLocale"], "en-US")

    def test_the_texts_keep_winget_s_bounds(self):
        said = self.files[f"{facts.WINGET_ID}.locale.en-US.yaml"]
        self.assertTrue({"PackageLocale", "Publisher", "PackageName", "License", "ShortDescription"} <= set(said))
        for key, most in {"Publisher": 256, "PackageName": 256, "License": 512, "ShortDescription": 256, "Moniker": 40, "Description": 10000}.items():
            self.assertLessEqual(len(said[key]), most, key)
        self.assertRegex(facts.WINGET_ID, r"^[^.\s\\/:*?\"<>|]{1,32}(\.[^.\s\\/:*?\"<>|]{1,32}){1,7}$")

    def test_a_zip_with_a_program_in_it(self):
        said = self.files[f"{facts.WINGET_ID}.installer.yaml"]
        self.assertEqual((said["InstallerType"], said["NestedInstallerType"]), ("zip", "portable"))
        self.assertEqual((said["Installers.Architecture"], said["Installers.NestedInstallerFiles.PortableCommandAlias"]), ("x64", "holdfast"))
        self.assertRegex(said["Installers.InstallerSha256"], "^[0-9A-F]{64}$")


class OpenUpm(unittest.TestCase):
    def test_the_page_names_the_package_in_this_repository(self):
        package = facts.unity_package()
        said = dict(scalars(file(f"{package['name']}.yml")))
        self.assertEqual((said["name"], said["repoUrl"]), (package["name"], REPOSITORY))
        self.assertIn(said["licenseSpdxId"], package["license"].split(" OR "))
        branch, readme = said["readme"].split(":")
        self.assertTrue(branch == "main" and (facts.ROOT / readme).is_file())
        self.assertRegex(package["name"], r"^[a-z0-9]+(\.[a-z0-9-]+)+$")


class Crates(unittest.TestCase):
    def test_each_comes_after_what_it_stands_on(self):
        packages = facts.packages()
        order = crates.names(packages)
        self.assertEqual(order[-1], facts.CRATE_NAME)
        self.assertEqual(len(order), sum(package["publish"] is None for package in packages))
        for package in packages:
            if package["name"] in order:
                for needed in package["dependencies"]:
                    if needed["kind"] != "dev" and needed["name"] in order:
                        self.assertLess(order.index(needed["name"]), order.index(package["name"]))

    def test_all_have_what_crates_io_asks_for(self):
        for package in facts.packages():
            if package["publish"] is None:
                self.assertTrue(package["description"] and package["license"] and package["repository"], package["name"])
                self.assertEqual(package["version"], VERSION, package["name"])
                self.assertTrue(len(package["keywords"]) <= 5 and all(len(word) <= 20 for word in package["keywords"]), package["name"])
                for needed in package["dependencies"]:
                    # A path alone is nothing for a registry; tests' dependencies are left out.
                    self.assertTrue(needed["req"] != "*" or needed["kind"] == "dev", (package["name"], needed["name"]))

    def test_the_program_s_crate_has_a_free_name_and_its_program_the_old_one(self):
        with tempfile.TemporaryDirectory() as place:
            crates.stage(Path(place))
            words = [crates.CARGO, "metadata", "--no-deps", "--offline", "--locked", "--format-version", "1"]
            packages = json.loads(subprocess.run(words, cwd=place, check=True, stdout=subprocess.PIPE).stdout)["packages"]
            lock = (Path(place) / "Cargo.lock").read_text(encoding="utf-8")
        self.assertEqual(crates.names(packages), crates.names(facts.packages()))
        program = next(package for package in packages if package["name"] == facts.CRATE_NAME)
        targets = {(target["kind"][0], target["name"]) for target in program["targets"]}
        self.assertTrue({("lib", "holdfast"), ("bin", "holdfast")} <= targets, targets)
        here = (facts.ROOT / "Cargo.lock").read_text(encoding="utf-8")
        versions = [sorted(re.findall(r'name = "(.*)"\nversion = "(.*)"', text)) for text in (here.replace('"holdfast"', '"holdfast-mcp"'), lock)]
        self.assertEqual(*versions)

    def test_a_manifest_that_was_rewritten_is_told(self):
        with self.assertRaisesRegex(SystemExit, "Cargo.toml"):
            crates.edited("[package]\n", [("name", "other")], "Cargo.toml")


if __name__ == "__main__":
    unittest.main()
