# Compiles Rust for other systems than this one, to try their code here. Source it after scripts/lib.sh, with the working
# directory at the root of the repository.
#
# rustup provides the standard library of a target. Where rustup cannot fetch it, Debian's compiler is used for these targets
# only: its packages contain the sources of the standard library, which is then compiled too.

# The same as rust-version in Cargo.toml.
CROSS_RUST_MIN=1.89

# need_cross TARGET: makes sure of the compiler and of the target's standard library; sets CROSS_BY.
need_cross() {
    need_rust clippy
    CROSS_BY=rustup
    rustup target add "$1" >/dev/null 2>&1 && return 0
    command -v apt-get >/dev/null 2>&1 || die "rustup could not add the target $1, and there are no packages of Debian to take its place"
    CROSS_BY=debian
    cross_packages="rustc-web cargo-web rust-web-src rust-web-clippy"
    cross_is_whole() {
        # shellcheck disable=SC2086
        [ "$(dpkg-query -W -f '${Status}\n' $cross_packages 2>/dev/null | grep -c '^install ok installed$')" = "$(echo $cross_packages | wc -w)" ] ||
            return 1
        cross_version=$(/usr/bin/rustc --version 2>/dev/null | cut -d' ' -f2)
        [ "$(printf '%s\n' "$CROSS_RUST_MIN" "$cross_version" | sort -V | head -n 1)" = "$CROSS_RUST_MIN" ]
    }
    cross_is_whole && return 0
    say "rustup could not add the target $1; installing $cross_packages"
    # shellcheck disable=SC2086
    cross_apt() { apt_update || true; as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $cross_packages </dev/null >/dev/null; }
    fetched "Debian's Rust" cross_apt ||
        die "Debian's packages $cross_packages could not be installed (other distributions lack them); with rustup they are not needed: https://rustup.rs"
    cross_is_whole || die "Debian's rustc is ${cross_version:-unknown}, and $CROSS_RUST_MIN is needed"
}

# cross TARGET CARGO-COMMAND [ARGUMENT...]: runs cargo for a target, with a target folder of its own, because two compilers in one
# folder would build everything again in turns. Without debug information: only scripts run what is built here.
cross() {
    cross_target=$1
    shift
    cross_command=$1
    shift
    if [ "$CROSS_BY" = debian ]; then
        # cargo finds its own subcommands, such as clippy, by the PATH.
        set -- env -u RUSTUP_TOOLCHAIN PATH="/usr/bin:$PATH" RUSTC_BOOTSTRAP=1 RUSTC=/usr/bin/rustc RUSTDOC=/usr/bin/rustdoc \
            /usr/bin/cargo "$cross_command" -Zbuild-std=std,panic_unwind --locked --target "$cross_target" "$@"
    else
        set -- cargo "$cross_command" --locked --target "$cross_target" "$@"
    fi
    env -u RUSTC_WRAPPER CARGO_TARGET_DIR="$PWD/target/cross" CARGO_PROFILE_DEV_DEBUG=0 \
        CARGO_TARGET_X86_64_PC_WINDOWS_GNU_LINKER=x86_64-w64-mingw32-gcc \
        CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
        "$@" </dev/null
}
