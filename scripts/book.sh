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
# In the book a link out of docs/ leads to where the repository is published, and the page of a README.md is called index.
repository=$(sed -n 's/^git-repository-url = "\(.*\)"/\1/p' docs/book.toml)
outside='src|unity|crates|tests|dashboards|chaos-tests|packaging|scripts|fuzz|\.github|[A-Z]+[-A-Za-z]*\.md'
find "$source" -name '*.md' ! -name SUMMARY.md -exec sed -i.before -E \
    -e "s#\]\((\.\./)+($outside)#](${repository}/blob/main/\2#g" -e 's#\]\(([a-z./]*/)?README\.md#](\1index.md#g' {} +
find "$source" -name '*.before' -delete
mdbook build --dest-dir "$PWD/target/book" "$source"
say "the book: target/book/index.html"
