#!/bin/sh
# `make test-arm64`: builds the program for Linux on arm64, and runs the smoke part with it under qemu (scripts/smoke.py).
set -eu
cd "$(dirname "$0")/.."
. scripts/lib.sh
. scripts/cross.sh
target=aarch64-unknown-linux-gnu
need_cross "$target"
need aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu libc6-dev-arm64-cross
[ -f /usr/aarch64-linux-gnu/include/stdio.h ] || apt_install libc6-dev-arm64-cross || die "libc6-dev-arm64-cross could not be installed"
need qemu-aarch64-static qemu-user-static
say "building for $target"
cross "$target" build --bin holdfast
# The program can start itself again only where the kernel runs arm64 programs with qemu.
python3 scripts/smoke.py --runner "qemu-aarch64-static -L /usr/aarch64-linux-gnu" --no-children "$PWD/target/cross/$target/debug/holdfast"
