# Rust for targets that rustup's installation may not have: Debian's compiler, and its sources of the standard library, which is
# built along. Source it with the working directory at the root of the repository, after scripts/lib.sh.
#
# The product's own builds stay with rustup. What is built here is for trying the other systems' code on a Linux machine.

# As rust-version in Cargo.toml.
CROSS_RUST_MIN=1.89

# need_cross [PACKAGE...]: Debian's cargo and rustc, new enough, and what else of Debian a target needs.
need_cross() {
    [ "$(uname -s)" = Linux ] && command -v apt-get >/dev/null 2>&1 ||
        die "this needs Debian or Ubuntu: its packages hold the compilers for the other systems"
    cross_packages="rustc-web cargo-web rust-web-src $*"
    cross_is_whole() {
        # shellcheck disable=SC2086
        dpkg-query -W -f '${Status}\n' $cross_packages 2>/dev/null | grep -vq '^install ok installed$' && return 1
        # shellcheck disable=SC2086
        [ "$(dpkg-query -W $cross_packages 2>/dev/null | wc -l)" = "$(echo $cross_packages | wc -w)" ] || return 1
        cross_version=$(/usr/bin/rustc --version 2>/dev/null | cut -d' ' -f2)
        [ "$(printf '%s\n' "$CROSS_RUST_MIN" "$cross_version" | sort -V | head -n 1)" = "$CROSS_RUST_MIN" ]
    }
    if ! cross_is_whole; then
        say "installing $cross_packages"
        apt_update || true
        # shellcheck disable=SC2086
        as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $cross_packages </dev/null >/dev/null ||
            die "Debian's packages $cross_packages could not be installed"
        cross_is_whole || die "Debian's rustc is $cross_version, and $CROSS_RUST_MIN is needed"
    fi
}

# cross TARGET CARGO-COMMAND [ARGUMENT...]: Debian's cargo for a target. The target folder is one of its own: two compilers in
# one would build everything again in turns. What is built here is run by scripts only, so that nobody needs its debug information.
cross() {
    cross_target=$1
    shift
    cross_command=$1
    shift
    env -u RUSTUP_TOOLCHAIN -u RUSTC_WRAPPER PATH="/usr/bin:$PATH" RUSTC_BOOTSTRAP=1 RUSTC=/usr/bin/rustc RUSTDOC=/usr/bin/rustdoc \
        CARGO_TARGET_DIR="$PWD/target/cross" CARGO_PROFILE_DEV_DEBUG=0 \
        CARGO_TARGET_X86_64_PC_WINDOWS_GNU_LINKER=x86_64-w64-mingw32-gcc \
        CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
        /usr/bin/cargo "$cross_command" -Zbuild-std=std,panic_unwind --locked --target "$cross_target" "$@" </dev/null
}
