"""What package managers are told: where the archives are, and their sums. Each has its list in a repository of its own; a release pushes
these files there (release.yml), and they are attached to it as well."""

import json

import facts
from facts import json_bytes
from formats import archive_folder

# The oldest that has everything that is said here; winget's repository takes it, and its tools renew it.
WINGET_SCHEMA = "1.10.0"
LOCALE = "en-US"


def everything(release, sums):
    """{file name: bytes}. `sums`: {file name: SHA-256} of the archives. A manager is left out if there is no archive for it."""
    files = {}
    if any(platform["archive"] == "tar.gz" for platform in release.platforms):
        files["holdfast.rb"] = homebrew(release, sums)
    windows = [platform for platform in release.platforms if platform["archive"] == "zip"]
    if windows:
        files["holdfast.json"] = json_bytes(scoop(release, windows, sums))
        for kind, manifest in winget(release, windows, sums).items():
            files[f"{facts.WINGET_ID}{kind}.yaml"] = yaml_bytes(manifest)
    package = facts.unity_package()
    files[f"{package['name']}.yml"] = yaml_bytes(openupm(release, package))
    return files


def archive_of(release, platform, sums):
    """Address and sum of a platform's archive."""
    name = f"{archive_folder(release.version, platform)}.{platform['archive']}"
    return release.download(name), sums[name]


def licences_of(release):
    """The licences of which a user may choose one."""
    return release.crate["license"].split(" OR ")


# ---- Homebrew ------------------------------------------------------------------------------------------------------------------------

BREW_SYSTEMS = {"darwin": "macos", "linux": "linux"}
BREW_PROCESSORS = {"arm64": "arm", "x64": "intel"}


def homebrew(release, sums):
    """A formula that takes the built program. Homebrew enters the one folder of an archive by itself."""
    systems = {}
    for platform in release.platforms:
        if platform["archive"] == "tar.gz":
            (system,), (processor,) = platform["npm"]["os"], platform["npm"]["cpu"]
            url, is_sum = archive_of(release, platform, sums)
            on = f"    on_{BREW_PROCESSORS[processor]} do\n      url \"{url}\"\n      sha256 \"{is_sum}\"\n    end\n"
            systems.setdefault(BREW_SYSTEMS[system], []).append(on)
    blocks = "".join(f"  on_{system} do\n{''.join(sorted(systems[system]))}  end\n\n" for system in sorted(systems, reverse=True))
    licences = ", ".join(f'"{licence}"' for licence in licences_of(release))
    formula = f"""class Holdfast < Formula
  desc "{facts.BRIEF}"
  homepage "{release.repository}"
  version "{release.version}"
  license any_of: [{licences}]

{blocks}  def install
    bin.install "holdfast"
    doc.install "LICENSES-THIRD-PARTY.txt"
    bash_completion.install "completions/holdfast.bash" => "holdfast"
    zsh_completion.install "completions/_holdfast"
    fish_completion.install "completions/holdfast.fish"
  end

  test do
    assert_equal "holdfast #{{version}}", shell_output("#{{bin}}/holdfast -V").strip
  end
end
"""
    return formula.encode()


# ---- Scoop ---------------------------------------------------------------------------------------------------------------------------

SCOOP_PROCESSORS = {"x64": "64bit", "arm64": "arm64"}


def scoop(release, windows, sums):
    """On arm64 Scoop takes what is for x64, as long as there is nothing else; Windows runs it."""
    now, later = {}, {}
    for platform in windows:
        processor = SCOOP_PROCESSORS[platform["npm"]["cpu"][0]]
        url, is_sum = archive_of(release, platform, sums)
        now[processor] = {"url": url, "hash": is_sum, "extract_dir": archive_folder(release.version, platform)}
        later[processor] = {key: now[processor][key].replace(release.version, "$version") for key in ("url", "extract_dir")}
    return {
        "version": release.version,
        "description": facts.BRIEF,
        "homepage": release.repository,
        "license": "|".join(licences_of(release)),
        "architecture": now,
        "bin": windows[0]["exe"],
        # For the owner of a bucket, whose tools write the next version's manifest with these.
        "checkver": {"github": release.repository},
        "autoupdate": {"architecture": later, "hash": {"url": "$baseurl/SHA256SUMS"}},
    }


# ---- winget --------------------------------------------------------------------------------------------------------------------------


def winget(release, windows, sums):
    """{what stands between the identifier and `.yaml`: manifest}: winget wants three files."""

    def manifest(kind, values):
        named = {"PackageIdentifier": facts.WINGET_ID, "PackageVersion": release.version}
        return {**named, **values, "ManifestType": kind, "ManifestVersion": WINGET_SCHEMA}

    installers = []
    for platform in windows:
        url, is_sum = archive_of(release, platform, sums)
        nested = {
            "RelativeFilePath": f"{archive_folder(release.version, platform)}\\{platform['exe']}",
            "PortableCommandAlias": platform["exe"].removesuffix(".exe"),
        }
        processor = platform["npm"]["cpu"][0]
        installers.append({"Architecture": processor, "NestedInstallerFiles": [nested], "InstallerUrl": url, "InstallerSha256": is_sum.upper()})
    return {
        "": manifest("version", {"DefaultLocale": LOCALE}),
        ".installer": manifest("installer", {
            "InstallerType": "zip",
            "NestedInstallerType": "portable",
            "Commands": ["holdfast"],
            "Installers": installers,
        }),
        f".locale.{LOCALE}": manifest("defaultLocale", {
            "PackageLocale": LOCALE,
            "Publisher": facts.AUTHORS,
            "PublisherUrl": release.repository,
            "PublisherSupportUrl": f"{release.repository}/issues",
            "PackageName": "holdfast",
            "PackageUrl": release.repository,
            "License": release.crate["license"],
            "LicenseUrl": f"{release.repository}/blob/v{release.version}/LICENSE-MIT",
            "ShortDescription": facts.BRIEF,
            "Description": release.crate["description"],
            "Moniker": "holdfast-mcp",
            "Tags": release.crate["keywords"],
            "ReleaseNotesUrl": f"{release.repository}/releases/tag/v{release.version}",
        }),
    }


# ---- OpenUPM -------------------------------------------------------------------------------------------------------------------------


def openupm(release, package):
    """The page that is proposed once. OpenUPM then builds each tag whose `package.json` has the tag's version."""
    return {
        "name": package["name"],
        "displayName": package["displayName"],
        "description": package["description"],
        "repoUrl": release.repository,
        "parentRepoUrl": None,
        # It has room for one licence of SPDX's list.
        "licenseSpdxId": licences_of(release)[0],
        "licenseName": release.crate["license"],
        "topics": ["ai", "editor-enhancement", "integration"],
        "hunter": release.repository.split("/")[-2],
        "image": "",
        "readme": "main:unity/README.md",
    }


# ---- YAML ----------------------------------------------------------------------------------------------------------------------------


def yaml_bytes(mapping):
    return ("\n".join(_yaml(mapping)) + "\n").encode()


def _yaml(mapping):
    """Lines of YAML for what is used here: mappings, lists, texts and null. A scalar of JSON is one of YAML."""
    lines = []
    for key, value in mapping.items():
        if not isinstance(value, list):
            lines.append(f"{key}: {json.dumps(value, ensure_ascii=False)}")
            continue
        lines.append(f"{key}:")
        for item in value:
            inner = _yaml(item) if isinstance(item, dict) else [json.dumps(item, ensure_ascii=False)]
            lines += [f"  {'- ' if at == 0 else '  '}{line}" for at, line in enumerate(inner)]
    return lines
