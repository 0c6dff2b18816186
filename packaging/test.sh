#!/bin/sh
# Makes every package from $HOLDFAST_BIN, looks at them with the official tools, installs each into an empty place without a
# network, and lets an official MCP client drive it. A suite of `make test-all`, for Linux.
set -eu
cd "$(dirname "$0")/.."
. scripts/lib.sh
[ -n "${HOLDFAST_BIN:-}" ] || die "HOLDFAST_BIN is not set; \`make test-all\` builds the binary and sets it"
[ -x "$HOLDFAST_BIN" ] || die "HOLDFAST_BIN=$HOLDFAST_BIN is not an executable file"
need_rust
need_venv
need_npm
need_node
need strip binutils
NPM=$(command -v npm)
export NODE NPM

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
step() { # step WHAT COMMAND...
    what=$1
    shift
    if "$@" >"$work/out" 2>&1; then echo "ok   $what"; else
        cat "$work/out"
        echo "FAIL $what"
        failed=$((failed + 1))
    fi
}

official_bundle() {
    mkdir -p "$work/bundle"
    mcpb="$NODE $validators/node_modules/@anthropic-ai/mcpb/dist/cli/cli.js"
    $mcpb unpack "$work"/dist/*.mcpb "$work/bundle" && $mcpb validate "$work/bundle/manifest.json"
}
official_registry() {
    "$validators/venv/bin/python" - "$work/dist/server.json" <<'EOF'
import importlib.util, json, pathlib, sys, jsonschema
entry = json.load(open(sys.argv[1], encoding="utf-8"))
schemas = pathlib.Path(importlib.util.find_spec("skillsaw").origin).parent / "schemas" / "mcp_registry"
known = {schema["$id"]: schema for schema in (json.loads(path.read_text()) for path in schemas.glob("*/server.schema.json"))}
assert entry["$schema"] == max(known), f"the newest is {max(known)}"
jsonschema.Draft7Validator(known[entry["$schema"]]).validate(entry)
EOF
}
# The clients' own validators are hundreds of megabytes; see README.md.
skill_lint() {
    mkdir -p "$work/plugin" "$work/extension" &&
        python3 -m zipfile -e "$work"/dist/holdfast-claude-code-plugin-*.zip "$work/plugin" &&
        python3 -m zipfile -e "$work"/dist/holdfast-gemini-extension-*.zip "$work/extension" &&
        "$validators/venv/bin/skillsaw" lint "$work/plugin" && "$validators/venv/bin/skillsaw" lint "$work/extension/holdfast"
}
# The probe against a server that breaks one promise: it has to fail, and at the check that watches this promise.
probe_notices() { # probe_notices MODE CHECK
    if "$NODE" packaging/probe.mjs --version 0.0.0 --large 1000 -- "$NODE" packaging/broken_server.mjs "$1" >"$work/probe" 2>&1; then return 1; fi
    grep -q "^FAIL $2:" "$work/probe" || { cat "$work/probe"; return 1; }
}
# The two that follow build in the place of the debug build, so that they need not build what that stands on.
bare_install() {
    cargo install --path . --locked --offline --debug --no-default-features --root "$work/bare" --target-dir "${CARGO_TARGET_DIR:-$PWD/target}" --no-track &&
        "$NODE" packaging/probe.mjs --version "$version" -- "$work/bare/bin/holdfast" || return 1
    "$work/bare/bin/holdfast" --help >"$work/help" || return 1
    if grep -w 'demo\|fake-unity' "$work/help"; then echo "its help names what it has not"; return 1; fi
}
# The crates as they are published, each built from what was packed. None is on a registry and one stands on the others, so they are
# packed in one go, which cargo can since 1.90.
crates() (
    packed=$(python3 packaging/crates.py names) && python3 packaging/crates.py stage "$work/tree" || return 1
    for name in $packed; do set -- "$@" --package "$name"; done
    program=${name:?is the last}
    built=${CARGO_TARGET_DIR:-$PWD/target}
    cd "$work/tree" || return 1
    # Cargo unpacks what it has packed into a registry without a host, and never again as long as the version stays the same. An earlier
    # run's would be built here, and hide what is missing in this one's.
    for name in $packed; do rm -rf "${CARGO_HOME:-$HOME/.cargo}"/registry/src/-*/"$name-$version"; done
    cargo package "$@" --locked --allow-dirty --offline --target-dir "$built" || return 1
    # Cargo makes these by itself; everything else is known to git.
    git ls-files --cached --others --exclude-standard >"$work/known" || return 1
    for name in $packed; do
        folder=
        [ "$name" = "$program" ] || folder=crates/${name#holdfast-}/
        cargo package --list --package "$name" --allow-dirty --offline >"$work/listed" || return 1
        if grep -vx '\.cargo_vcs_info\.json\|Cargo\.toml\.orig\|Cargo\.lock' "$work/listed" | sed "s,^,$folder," | grep -vxFf "$work/known"; then
            echo "these are not in git, and would be in the crate $name"
            return 1
        fi
    done
    cargo package --list --package "$program" --allow-dirty --offline >"$work/listed" || return 1
    for file in build.rs Cargo.lock LICENSE-MIT LICENSE-APACHE README.md unity/package.json src/cli/unity/placed.rs; do
        grep -qx "$file" "$work/listed" || { echo "$file would not be in the crate"; return 1; }
    done
    # What the build script embeds, of which one file too few would only be missed in a project.
    embedded=$(cd unity && find . -type f | sed 's,^\./,,' | grep -v '^Tests\(~\|\.meta\|/\)' | grep -vc '/\.\|^\.')
    [ "$(grep -c '^unity/' "$work/listed")" = "$embedded" ] || { echo "the crate would not have the $embedded files of unity/"; return 1; }
)

version=$(python3 packaging/make.py version)
target=$(python3 packaging/make.py host)
# Its names for the debugger are nine tenths of it, and every package would carry them.
strip -o "$work/holdfast" "$HOLDFAST_BIN"

step "what every package promises, for all platforms" python3 -m unittest discover packaging
for pair in initialize:initialize version:version tools:tools status:status large:large stdout:stdout lingers:end orphan:end; do
    step "the probe notices a server that breaks: ${pair%%:*}" probe_notices "${pair%%:*}" "${pair##*:}"
done
step "the packages of this platform" python3 packaging/make.py make --stand-in --out "$work/dist" --program "$target=$work/holdfast"
need_validators
step "the official tool takes the bundle" official_bundle
step "the plugin, the extension and the skill have no fault that a linter knows" skill_lint
step "server.json is valid by the registry's newest schema" official_registry
python3 packaging/try_packages.py "$work/dist" || failed=$((failed + 1))
# `cargo install` without this flag would build what all other suites run. What stands in cargo's folder before is put back after.
built=${CARGO_TARGET_DIR:-$PWD/target}/debug/holdfast
[ ! -f "$built" ] || cp "$built" "$work/built"
step "cargo install without the demo" bare_install
step "the crates carry what their builds need, and are built from it" crates
# It is removed first, because it is a hard link to what cargo keeps of the last build.
[ ! -f "$work/built" ] || { rm -f "$built" && cp "$work/built" "$built"; }
if [ "$failed" = 0 ]; then echo "packages: every one was installed and driven"; else
    echo "packages: $failed FAILED"
    exit 1
fi
