"""The scripts of the release that need a key, with stand-ins for what they call: python3 -m unittest discover packaging"""

import base64
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import facts

# Far above what anything here needs; only something broken meets it.
PATIENCE_S = 120
# A tool that notes how it was called, and answers as the real one would.
STAND_IN = """#!/bin/sh
echo "$(basename "$0") $*" >>"$CALLS"
case "$(basename "$0") $1" in
    "security find-identity") echo "  1) 0123ABCD \\"Developer ID Application: Somebody (TEAM)\\"" ;;
    "codesign --force") echo signed >>"$9" ;;
    "xcrun notarytool") [ ! -e "$CALLS.refused" ] && echo '{"status":"Accepted"}' || echo '{"status":"Invalid"}' ;;
esac
"""
APPLE = {
    "APPLE_CERTIFICATE": base64.b64encode(b"certificate").decode(),
    "APPLE_CERTIFICATE_PASSWORD": "of-the-certificate",
    "APPLE_API_KEY": "of-the-api",
    "APPLE_API_KEY_ID": "ID",
    "APPLE_API_ISSUER": "ISSUER",
}


@unittest.skipIf(os.name == "nt", "a shell's scripts, for Linux and macOS")
class Sign(unittest.TestCase):
    def setUp(self):
        self.place = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.place)
        for tool in ("security", "codesign", "ditto", "xcrun"):
            (self.place / tool).write_text(STAND_IN)
            (self.place / tool).chmod(0o755)
        (self.place / "tmp").mkdir()
        self.program = self.place / "holdfast"
        self.program.write_text("program\n")
        self.calls = self.place / "calls"
        self.calls.touch()

    def sign(self, keys):
        environment = {"PATH": f"{self.place}:{os.environ['PATH']}", "TMPDIR": str(self.place / "tmp"), "CALLS": str(self.calls), **keys}
        words = ["sh", facts.HERE / "sign.sh", self.program]
        done = subprocess.run(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE_S)
        self.assertEqual(list((self.place / "tmp").iterdir()), [], "a key was left")
        return done.returncode, done.stdout

    def test_without_a_certificate_it_says_so_and_changes_nothing(self):
        code, said = self.sign({})
        self.assertEqual((code, self.calls.read_text(), self.program.read_text()), (0, "", "program\n"))
        self.assertTrue(said.startswith("::notice::") and "APPLE_CERTIFICATE is missing" in said, said)

    def test_a_key_that_is_missing_is_an_error_and_is_named(self):
        for name in list(APPLE)[1:]:
            code, said = self.sign({key: value for key, value in APPLE.items() if key != name})
            self.assertNotEqual(code, 0)
            self.assertIn(f"{name}: is missing", said)
        self.assertEqual(self.program.read_text(), "program\n")

    def test_it_signs_and_lets_apple_look_at_it(self):
        code, said = self.sign(APPLE)
        self.assertEqual(code, 0, said)
        calls = self.calls.read_text().splitlines()
        order = [next(at for at, call in enumerate(calls) if part in call) for part in
                 ("create-keychain", "security import", "codesign --force", "codesign --verify", "ditto", "notarytool submit", "delete-keychain")]
        self.assertEqual(order, sorted(order))
        self.assertIn("--options runtime --timestamp", calls[order[2]])
        self.assertIn("--sign 0123ABCD", calls[order[2]])
        self.assertIn("--key-id ID --issuer ISSUER", calls[order[5]])
        self.assertNotIn("of-the-api", "".join(calls) + said)

    def test_what_apple_refuses_stops_the_release(self):
        Path(f"{self.calls}.refused").touch()
        code, said = self.sign(APPLE)
        self.assertEqual(code, 1)
        self.assertIn("Apple did not accept", said)


@unittest.skipIf(os.name == "nt", "a shell's scripts, for Linux and macOS")
class List(unittest.TestCase):
    def setUp(self):
        self.place = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.place)
        self.origin = self.place / "owner/tap.git"
        self.git("init", "--quiet", "--bare", "--initial-branch=main", self.origin)
        self.file = self.place / "holdfast.rb"

    def git(self, *words):
        return subprocess.run(["git", *words], check=True, stdout=subprocess.PIPE, text=True, timeout=PATIENCE_S).stdout

    def push(self, text, token="secret-token"):
        self.file.write_text(text)
        environment = {**os.environ, "LISTS_TOKEN": token, "LISTS_AT": self.place.as_uri(), "GITHUB_ACTOR": "somebody"}
        words = ["sh", facts.HERE / "list.sh", "owner/tap", "Formula", self.file, "1.2.3"]
        done = subprocess.run(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertNotIn("secret-token", done.stdout)
        return done.stdout

    def commits(self):
        return self.git("-C", self.origin, "log", "--all", "--format=%s by %an").splitlines()

    def test_the_file_is_committed_once_also_into_a_list_that_is_empty(self):
        self.assertIn("has now", self.push("first\n"))
        self.assertNotIn("has now", self.push("first\n"))
        self.assertEqual(self.commits(), ["holdfast 1.2.3 by somebody"])
        self.push("second\n")
        self.assertEqual(self.git("-C", self.origin, "show", "HEAD:Formula/holdfast.rb"), "second\n")
        self.assertEqual(len(self.commits()), 2)

    def test_without_a_token_it_says_what_to_do_by_hand(self):
        said = self.push("first\n", token="")
        self.assertTrue(said.startswith("::notice::") and "LISTS_TOKEN" in said and "holdfast.rb" in said and "Formula" in said, said)
        self.assertEqual(self.commits(), [])


if __name__ == "__main__":
    unittest.main()
