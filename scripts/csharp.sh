#!/bin/sh
# The Unity package's C#, without Unity: sh scripts/csharp.sh test
#
#   setup   the toolchain (scripts/csharp-toolchain.sh)
#   check   .meta files, asmdefs, package.json; then build
#   build   compiles package, sample, the code on its pages, stubs, tests and the simulated editor, for every Unity
#           version; warnings are errors
#   test    all of it, then the NUnit tests on Mono and on .NET
#   host    builds, then prints the two commands that start the simulated editor, as a JSON object
set -eu
cd "$(dirname "$0")/.."
. scripts/lib.sh

out=$PWD/.tools/csharp/out
units=

versions='2022.3 6000.0 6000.3 6000.4 6000.5'
# The symbols that an editor of this version defines, as far as sources here may use them.
defines_of() {
    list='UNITY_EDITOR;UNITY_EDITOR_64;UNITY_EDITOR_LINUX;UNITY_INCLUDE_TESTS;HOLDFAST_TEST_FRAMEWORK'
    list="$list;UNITY_2021_3_OR_NEWER;UNITY_2022_1_OR_NEWER;UNITY_2022_2_OR_NEWER;UNITY_2022_3_OR_NEWER"
    case $1 in 6000.*) list="$list;UNITY_2023_1_OR_NEWER;UNITY_2023_2_OR_NEWER;UNITY_2023_3_OR_NEWER;UNITY_6000_0_OR_NEWER" ;; esac
    case $1 in
        6000.3) list="$list;UNITY_6000_1_OR_NEWER;UNITY_6000_2_OR_NEWER;UNITY_6000_3_OR_NEWER;HOLDFAST_TEST_FRAMEWORK_1_4" ;;
        6000.4) list="$list;UNITY_6000_1_OR_NEWER;UNITY_6000_2_OR_NEWER;UNITY_6000_3_OR_NEWER;UNITY_6000_4_OR_NEWER;HOLDFAST_TEST_FRAMEWORK_1_4" ;;
        6000.5) list="$list;UNITY_6000_1_OR_NEWER;UNITY_6000_2_OR_NEWER;UNITY_6000_3_OR_NEWER;UNITY_6000_4_OR_NEWER;UNITY_6000_5_OR_NEWER;HOLDFAST_TEST_FRAMEWORK_1_4" ;;
    esac
    echo "$list"
}

# unit OUTPUT TARGET DEFINES FOLDERS REFERENCES: adds one compilation. FOLDERS and REFERENCES are lists separated by blanks.
unit() {
    unit_rsp=$out/rsp/$(echo "${1#"$out"/}" | tr / _).rsp
    {
        echo "-nologo -nostdlib+ -deterministic+ -debug:portable -optimize+ -langversion:9 -warnaserror+"
        echo "-target:$2 -out:\"$1\""
        [ -z "$3" ] || echo "-define:$3"
        for reference in $5; do echo "-r:\"$reference\""; done
        for folder in $4; do [ ! -d "$folder" ] || find "$folder" -name '*.cs' | sort | sed 's/.*/"&"/'; done
    } >"$unit_rsp"
    grep -q '\.cs"$' "$unit_rsp" || die "there is no source in $4"
    if [ "$CSC_IS_OURS" = yes ]; then units="$units -noconfig @$unit_rsp +"; else units="$units @$unit_rsp"; fi
}

setup() {
    sh scripts/csharp-toolchain.sh
    . .tools/csharp/env.sh
    bcl=
    for assembly in mscorlib System System.Core System.Numerics System.Runtime.Serialization System.Xml System.Xml.Linq \
        Facades/netstandard; do
        bcl="$bcl $MONO_API/$assembly.dll"
    done
}

check_files() {
    need python3 python3
    say "checking the package's files"
    python3 unity/Tests~/tools/package.py unity --check
    # Unity compiles without nullable contexts unless a file asks for one.
    missing=$(find unity/Core unity/Editor unity/TestRunner unity/Tests -name '*.cs' ! -name IsExternalInit.cs -print |
        while read -r file; do head -n 1 "$file" | grep -qx '#nullable enable' || echo "$file"; done)
    [ -z "$missing" ] || die "these files do not begin with #nullable enable: $missing"
    # NUnit names a test by its method. Unity's older copy of NUnit does not know async test methods.
    if grep -rln 'public async Task' unity/Tests/Editor --include='*.cs' | grep -q .; then
        die "a test in unity/Tests/Editor is an async Task, which Unity's older NUnit does not know"
    fi
}

# A hash of everything that decides what is built. With the same hash nothing is built again.
recipe() {
    {
        cat scripts/csharp.sh .tools/csharp/recipe .tools/csharp/env.sh
        pwd
        find unity -type f ! -name '*.meta' -print | LC_ALL=C sort | while read -r file; do echo "$file" && cat "$file"; done
    } | sha256sum | cut -d' ' -f1
}

build() {
    mkdir -p "$out/rsp"
    need python3 python3
    recipe=$(recipe)
    if [ "$(cat "$out/built" 2>/dev/null)" = "$recipe" ]; then
        say "it is built from these sources"
        return 0
    fi
    rm -f "$out/built"
    python3 unity/Tests~/tools/snippets.py "$out/pages" unity/Documentation~/carry-over.md unity/Documentation~/tools.md
    # uielements itself depends on imgui, in every version.
    declared=$(sed -n 's/.*"com\.unity\.modules\.\([a-z0-9]*\)".*/\1/p' unity/package.json | sed 's/^uielements$/& imgui/' | tr '\n' ' ')
    say "compiling for Unity $versions with the modules $declared"
    t=unity/Tests~
    unit "$out/core/Holdfast.Core.dll" library '' unity/Core "$bcl $JSON_DLL"
    core=$out/core/Holdfast.Core.dll
    unit "$out/core/Holdfast.Tests.dll" library "" "unity/Tests/Editor $t/Unit" "$bcl $JSON_DLL $NUNIT_DLL $core"
    unit "$out/core/Runner.exe" exe '' "$t/Runner" "$bcl $NUNIT_DLL"
    for version in $versions; do
        v=$out/$version
        d=$(defines_of "$version")
        modules=$v/UnityEngine.dll
        stubs="$v/UnityEngine.dll $v/UnityEditor.dll"
        unit "$v/UnityEngine.dll" library "$d" "$t/Stubs/UnityEngine" "$bcl"
        for module in imgui uielements imageconversion physics; do
            dll=$v/$(assembly_of "$module").dll
            unit "$dll" library "$d" "$t/Stubs/Modules/$module" "$bcl $modules"
            modules="$modules $dll"
            case " $declared " in *" $module "*) stubs="$stubs $dll" ;; esac
        done
        unit "$v/UnityEditor.dll" library "$d" "$t/Stubs/UnityEditor" "$bcl $modules"
        unit "$v/Holdfast.Editor.dll" library "$d" unity/Editor "$bcl $JSON_DLL $core $stubs"
        unit "$v/UnityEditor.TestRunner.dll" library "$d" "$t/Stubs/TestRunner" "$bcl $NUNIT_DLL $stubs"
        unit "$v/Holdfast.Editor.TestRunner.dll" library "$d" unity/TestRunner \
            "$bcl $JSON_DLL $NUNIT_DLL $core $stubs $v/UnityEditor.TestRunner.dll"
        # Code that users copy. It sees what the asmdef of the sample refers to, and Unity.
        unit "$v/examples/CustomTool.dll" library "$d" unity/Samples~/CustomTool "$bcl $core $stubs"
        unit "$v/examples/CarryOver.dll" library "$d" "$out/pages/carry-over" "$bcl $JSON_DLL $core $stubs"
        unit "$v/examples/Tools.dll" library "$d" "$out/pages/tools" "$bcl $JSON_DLL $core $stubs"
        unit "$v/Holdfast.HostTools.dll" library "$d" "$t/HostTools" "$bcl $JSON_DLL $core $v/Holdfast.Editor.dll $stubs"
        unit "$v/MonoHost.exe" exe "$d" "$t/Host/Common $t/Host/Mono" "$bcl $stubs"
    done
    net=
    for assembly in "$FRAMEWORK"/System*.dll "$FRAMEWORK"/Microsoft*.dll "$FRAMEWORK/mscorlib.dll" "$FRAMEWORK/netstandard.dll"; do
        net="$net $assembly"
    done
    unit "$out/6000.5/CoreClrHost.exe" exe '' "$t/Host/Common $t/Host/CoreClr" "$net $out/6000.5/UnityEngine.dll $out/6000.5/UnityEditor.dll"
    compile
    refuses_undeclared
    rm -rf "$out/mono" "$out/coreclr"
    mkdir -p "$out/mono" "$out/coreclr"
    cp "$out"/core/* "$NUNIT_DLL" "$JSON_DLL" "$out/mono/"
    cp "$out"/core/* "$NUNIT_DLL" "$JSON_DLL_CORECLR" "$out/coreclr/"
    # The simulated editors: one like today's Unity (Mono), one like the next (CoreCLR).
    editor mono 2022.3 MonoHost.exe "$JSON_DLL"
    editor coreclr 6000.5 CoreClrHost.exe "$JSON_DLL_CORECLR"
    echo "$recipe" >"$out/built"
}

# assembly_of MODULE: the name of the assembly of com.unity.modules.MODULE.
assembly_of() {
    case $1 in
        imageconversion) echo UnityEngine.ImageConversionModule ;;
        imgui) echo UnityEngine.IMGUIModule ;;
        uielements) echo UnityEngine.UIElementsModule ;;
        physics) echo UnityEngine.PhysicsModule ;;
        *) die "which assembly is com.unity.modules.$1?" ;;
    esac
}

# A source that uses a module which package.json does not declare must not compile with what the package may use, and for this reason
# alone: with the module it compiles.
refuses_undeclared() {
    mkdir -p "$out/undeclared"
    undeclared="$out/2022.3/$(assembly_of physics).dll"
    may_use=$(echo "$stubs" | sed "s|/$version/|/2022.3/|g")
    units=
    unit "$out/undeclared/With.dll" library '' "$t/Undeclared" "$bcl $may_use $undeclared"
    compile >"$out/undeclared/with.txt" 2>&1 || die "a source does not compile with its module: $(cat "$out/undeclared/with.txt")"
    units=
    unit "$out/undeclared/Without.dll" library '' "$t/Undeclared" "$bcl $may_use"
    if compile >"$out/undeclared/without.txt" 2>&1; then die "a source compiles with a module that package.json does not declare"; fi
    grep -q "CS0234.*'Collider'" "$out/undeclared/without.txt" || die "the compiler says something else: $(cat "$out/undeclared/without.txt")"
}

# Compiles `units`.
compile() {
    if [ "$CSC_IS_OURS" = yes ]; then
        # shellcheck disable=SC2086
        "$DOTNET" exec "$CSC_DLL" ${units% +}
    else
        for one in $units; do "$DOTNET" exec "$CSC_DLL" -noconfig "$one"; done
    fi
}

# editor NAME VERSION HOST JSON: copies everything of a simulated editor into one folder.
editor() {
    rm -rf "$out/editor-$1"
    mkdir -p "$out/editor-$1"
    # The compiler lies where Unity has it: until 6000.3, and since 6000.5.
    case $2 in
        6000.5) compiler=DotNetSdk/sdk/8.0.0/Roslyn/bincore dotnet=DotNetSdk/dotnet ;;
        *) compiler=DotNetSdkRoslyn dotnet=NetCoreRuntime/dotnet ;;
    esac
    for link in "$compiler:$(dirname "$CSC_DLL")" "$dotnet:$DOTNET" "UnityReferenceAssemblies/unity-4.8-api:$MONO_API"; do
        mkdir -p "$(dirname "$out/editor-$1/Contents/${link%%:*}")"
        ln -s "${link#*:}" "$out/editor-$1/Contents/${link%%:*}"
    done
    cp "$core" "$out/$2"/Unity*.dll "$out/$2"/Holdfast.*.dll "$out/$2/$3" "$4" "$NUNIT_DLL" "$out/editor-$1/"
}

# run_tests NAME COMMAND...: runs the tests on one runtime; sets `line` to their result.
run_tests() {
    runtime=$1
    shift
    say "NUnit on $runtime"
    status=0
    case $runtime in
        mono) host="mono|$out/editor-mono/MonoHost.exe|--scripts|$out/editor-mono" ;;
        *) host="$DOTNET|exec|--runtimeconfig|$RUN_CONFIG|$out/editor-coreclr/CoreClrHost.exe|--scripts|$out/editor-coreclr" ;;
    esac
    # This limit ends what hangs, not what is slow: on a busy machine the tests take many times as long.
    HOLDFAST_REPOSITORY=$PWD HOLDFAST_HOST=$host timeout -k 5 1800 "$@" "$out/$runtime/Runner.exe" "$out/$runtime/Holdfast.Tests.dll" \
        "$out/tests-$runtime.xml" >"$out/tests-$runtime.log" 2>&1 </dev/null || status=$?
    line=$(tail -n 1 "$out/tests-$runtime.log")
    grep '^measured: ' "$out/tests-$runtime.log" || true
    if [ "$status" != 0 ]; then
        grep -v '^Passed' "$out/tests-$runtime.log" || true
        failed=1
        case $line in *" passed, "*) ;; *) line="broke off with status $status" ;; esac
    fi
    summary="${summary:+$summary; }$line on $runtime"
}

run_all_tests() {
    failed=0
    summary=
    run_tests mono mono --debug
    run_tests coreclr "$DOTNET" exec --runtimeconfig "$RUN_CONFIG"
    echo "csharp: $summary"
    [ "$failed" = 0 ]
}

case ${1:-} in
    setup) setup ;;
    check)
        setup
        check_files
        build
        ;;
    build) setup && build ;;
    test)
        setup
        check_files
        build
        run_all_tests
        ;;
    host)
        setup && build >&2
        printf '{"mono":["mono","%s","--scripts","%s"],' "$out/editor-mono/MonoHost.exe" "$out/editor-mono"
        printf '"coreclr":["%s","exec","--runtimeconfig","%s","%s","--scripts","%s"]}\n' \
            "$DOTNET" "$RUN_CONFIG" "$out/editor-coreclr/CoreClrHost.exe" "$out/editor-coreclr"
        ;;
    *) die "usage: sh scripts/csharp.sh setup|check|build|test|host" ;;
esac
