#!/bin/sh
# `make fuzz`: libFuzzer over every target (or those in TARGETS), SECONDS for each, with the stable compiler. New inputs go to
# target/fuzz/corpus, an input that breaks a target to fuzz/artifacts.
set -eu
cd "$(dirname "$0")/.."
. scripts/lib.sh
need_rust
need c++ g++

SECONDS_EACH=${1:-60}
host=$(rustc -vV | sed -n 's/^host: //p')
# LLVM's own coverage pass, which does not need nightly. No sanitizer: there is no unsafe code here that one could check.
# `--target` keeps these flags away from build scripts and macros.
coverage="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares"
say "building the fuzzer"
RUSTFLAGS="$coverage -Ccodegen-units=1" cargo build --locked --quiet --release --manifest-path fuzz/Cargo.toml \
    --target "$host" --target-dir target/fuzz
fuzzer=target/fuzz/$host/release/holdfast-fuzz

# Every target, with what it begins from beside its corpus.
seeds=target/fuzz/seeds
rm -rf "$seeds"
HOLDFAST_SEEDS=$seeds "$fuzzer"

failures=
for folder in "$seeds"/*/; do
    name=$(basename "$folder")
    corpus=fuzz/corpus/$name
    [ -d "$corpus" ] || corpus=
    case " ${TARGETS:-$name} " in *" $name "*) ;; *) continue ;; esac
    found=target/fuzz/corpus/$name
    mkdir -p "$found" fuzz/artifacts
    say "fuzzing $name for $SECONDS_EACH s"
    log=target/fuzz/$name.log
    # New inputs go into the first folder. The committed corpus is only read; a new package has none.
    if HOLDFAST_FUZZ=$name "$fuzzer" "$found" "$folder" ${corpus:+"$corpus"} -max_total_time="$SECONDS_EACH" \
        -max_len=4096 -timeout=10 -rss_limit_mb=2048 -artifact_prefix="fuzz/artifacts/$name-" -print_final_stats=1 </dev/null >"$log" 2>&1; then
        begun=$(grep -m 1 'INITED' "$log" | sed 's/.*INITED *//; s/ exec.*//')
        ended=$(grep 'DONE' "$log" | sed 's/.*DONE *//; s/ lim:.*//')
        rate=$(sed -n 's/^stat::average_exec_per_sec: *//p' "$log")
        echo "    $rate executions/s; from $begun to $ended"
    else
        tail -n 30 "$log" >&2
        failures="$failures $name"
    fi
done
if [ -n "$failures" ]; then
    echo "fuzz: BROKEN:$failures; the input is in fuzz/artifacts, how to use it in fuzz/README.md"
    exit 1
fi
echo "fuzz: every target held"
