#!/bin/sh
# Puts a file into the repository of a package manager's list: packaging/list.sh REPOSITORY FOLDER FILE VERSION. For the release.
# LISTS_TOKEN may write there; without it this says what to do by hand, and ends well. What is there already is not committed again.
set -eu
repository=$1 folder=$2 file=$3 version=$4
name=$(basename "$file")
if [ -z "${LISTS_TOKEN:-}" ]; then
    echo "::notice::$repository was not told of $version: the secret LISTS_TOKEN is missing. Put $name of the release into its folder $folder (docs/releasing.md)"
    exit 0
fi
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
# Not in the address, which git prints. GIT_CONFIG_* reaches git alone, and no list of processes.
GIT_CONFIG_COUNT=1
GIT_CONFIG_KEY_0=http.https://github.com/.extraheader
GIT_CONFIG_VALUE_0="Authorization: Basic $(printf 'x-access-token:%s' "$LISTS_TOKEN" | base64 | tr -d '\n')"
export GIT_CONFIG_COUNT GIT_CONFIG_KEY_0 GIT_CONFIG_VALUE_0
git clone --quiet --depth 1 "${LISTS_AT:-https://github.com}/$repository.git" "$place/list"
mkdir -p "$place/list/$folder"
cp "$file" "$place/list/$folder/$name"
cd "$place/list"
git add "$folder/$name"
if git diff --cached --quiet; then
    echo "$repository has $name of $version"
    exit 0
fi
git -c user.name="${GITHUB_ACTOR:-holdfast}" -c user.email="${GITHUB_ACTOR:-holdfast}@users.noreply.github.com" commit --quiet -m "holdfast $version"
git push --quiet origin HEAD
echo "$repository has now $name of $version"
