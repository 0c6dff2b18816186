#!/bin/sh
# `make book`: docs/ as a website, in target/book. mdBook is built from crates.io once, into .tools/ (some minutes).
set -eu
cd "$(dirname "$0")/.."
. scripts/lib.sh
need_rust
MDBOOK_VERSION=0.5.4
PATH=$PWD/.tools/bin:$PATH
if [ "$(mdbook --version 2>/dev/null)" != "mdbook v$MDBOOK_VERSION" ]; then
    say "building mdBook $MDBOOK_VERSION"
    fetched mdbook cargo install --quiet --locked --root .tools --version "$MDBOOK_VERSION" --no-default-features --features search mdbook
fi
source=target/book-source
rm -rf "$source"
mkdir -p target
cp -R docs "$source"
# A page of the book links to files outside docs/ where the repository is published.
repository=$(sed -n 's/^git-repository-url = "\(.*\)"/\1/p' docs/book.toml)
find "$source" -name '*.md' -exec sed -i.before -E \
    -e "s#\]\((\.\./)+(src|unity|crates|tests|dashboards|chaos-tests|packaging|scripts|fuzz|\.github|[A-Z]+[-A-Za-z]*\.md)#](${repository}/blob/main/\2#g" {} +
find "$source" -name '*.before' -delete
mdbook build --dest-dir "$PWD/target/book" "$source"
say "the book: target/book/index.html"
