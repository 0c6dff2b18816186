#!/bin/sh
# Signs a program for macOS with a Developer ID, and lets Apple notarise it: packaging/sign.sh PROGRAM. For the release, on macOS.
# Without a certificate it says so and changes nothing: the program then keeps the signature without a name that the linker gave it, with
# which it runs everywhere but where Gatekeeper asks for more (docs/install.md).
# Apple's answer cannot be stapled to a bare program, so Gatekeeper asks Apple when it first meets it.
set -eu
program=$1
if [ -z "${APPLE_CERTIFICATE:-}" ]; then
    echo "::notice::$program is not signed for macOS: the secret APPLE_CERTIFICATE is missing (docs/releasing.md)"
    exit 0
fi
: "${APPLE_CERTIFICATE_PASSWORD:?is missing}" "${APPLE_API_KEY:?is missing}" "${APPLE_API_KEY_ID:?is missing}" "${APPLE_API_ISSUER:?is missing}"

umask 077
place=$(mktemp -d)
keychain=$place/release.keychain-db
trap 'security delete-keychain "$keychain" >/dev/null 2>&1 || true; rm -rf "$place"' EXIT
printf %s "$APPLE_CERTIFICATE" | base64 --decode >"$place/certificate.p12"
printf %s "$APPLE_API_KEY" >"$place/key.p8"

# A keychain of its own, which codesign may use without asking anybody.
password=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
security create-keychain -p "$password" "$keychain"
security unlock-keychain -p "$password" "$keychain"
security import "$place/certificate.p12" -k "$keychain" -P "$APPLE_CERTIFICATE_PASSWORD" -T /usr/bin/codesign
security set-key-partition-list -S apple-tool:,apple: -s -k "$password" "$keychain" >/dev/null
security list-keychains -d user -s "$keychain"
identity=$(security find-identity -v -p codesigning "$keychain" | awk '/Developer ID Application/ { print $2; exit }')
[ -n "$identity" ] || { echo "error: APPLE_CERTIFICATE has no Developer ID Application"; exit 1; }

codesign --force --options runtime --timestamp --identifier dev.holdfast.holdfast --sign "$identity" "$program"
codesign --verify --strict "$program"
ditto -c -k "$program" "$place/program.zip"
xcrun notarytool submit "$place/program.zip" --key "$place/key.p8" --key-id "$APPLE_API_KEY_ID" --issuer "$APPLE_API_ISSUER" \
    --wait --timeout 30m --output-format json >"$place/answer" || { cat "$place/answer"; exit 1; }
cat "$place/answer"
grep -q '"status" *: *"Accepted"' "$place/answer" || { echo "error: Apple did not accept $program"; exit 1; }
