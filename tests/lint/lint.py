# SPDX-License-Identifier: GPL-2.0-or-later
"""What the lints share: the files of the tree, and the frame every lint runs in.

A lint is a function check(files) -> list of (path, line, what). It gets a Files object, so that
its self-test can feed it samples: each sample is made to pass through the same function first,
since a lint that can't fail is worth nothing.
"""

import os
import re
import subprocess
import sys

TOP = os.environ.get("CW_SRCDIR") or os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
SKIP_DIRS = {".git", "autom4te.cache", "__pycache__"}
# Made by autotools, or the text of the licence.
GENERATED = re.compile(r"^(aclocal\.m4|configure~?|COPYING|Makefile(\.in)?|config\..*|"
                       r"build[^/]*/(?!strongswan-version).*|causeway-.*)$")


class Files:
    """Paths from the top of the tree, and their text."""

    def __init__(self, texts=None):
        self.texts = texts
        self.paths = sorted(texts) if texts is not None else tree_files()

    def match(self, pattern):
        """The paths that match a regular expression from their beginning."""
        return [path for path in self.paths if re.match(pattern, path)]

    def lines(self, path):
        """Yields (number, line) of a file."""
        if self.texts is not None:
            text = self.texts[path]
        else:
            with open(os.path.join(TOP, path), encoding="utf-8", errors="replace") as file:
                text = file.read()
        return enumerate(text.split("\n"), 1)

    def code(self, path):
        """Yields (number, line) with C comments and the insides of strings blanked."""
        inside = False
        for number, line in self.lines(path):
            out = ""
            for token in re.findall(r'/\*|\*/|//.*|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|.', line):
                if inside:
                    inside = token != "*/"
                elif token == "/*":
                    inside = True
                elif token.startswith('"') and not line.lstrip().startswith("#"):
                    out += '""'
                elif not token.startswith("//"):
                    out += token
            yield number, out


def tree_files():
    """What git tracks; in an unpacked tarball, all files but those that are made."""
    git = subprocess.run(["git", "-C", TOP, "ls-files", "-z"], check=False,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    if git.returncode == 0 and os.path.exists(os.path.join(TOP, ".git")):
        paths = [p for p in git.stdout.decode().split("\0") if p]
    else:
        paths = []
        for folder, dirs, names in os.walk(TOP):
            dirs[:] = [d for d in dirs if d not in SKIP_DIRS and not d.startswith("_")]
            paths += [os.path.relpath(os.path.join(folder, name), TOP) for name in names]
    return sorted(p for p in paths if not GENERATED.match(p) and
                  os.path.isfile(os.path.join(TOP, p)))


def run(check, bad, good):
    """Runs a lint: first on its samples, then on the tree. Returns an exit code.

    bad is a list of (what it shows, {path: text}); every one must be complained about, and only
    on lines that hold the word BAD, where there is such a line. good is {path: text}.
    """
    failed = 0
    for title, texts in bad:
        found = check(Files(texts))
        marked = {(path, number) for path in texts
                  for number, line in enumerate(texts[path].split("\n"), 1) if "BAD" in line}
        if not found:
            print("self-test: not noticed: %s" % title)
            failed = 1
        elif marked and {(path, number) for path, number, _ in found} != marked:
            print("self-test: %s: noticed %s, expected %s" % (title, found, sorted(marked)))
            failed = 1
    found = check(Files(good))
    if found:
        print("self-test: wrongly noticed: %s" % found)
        failed = 1
    if failed:
        return 1
    found = check(Files())
    for path, number, what in sorted(set(found)):
        print("%s:%d: %s" % (path, number, what))
    return 1 if found else 0


def main(check, bad, good):
    """The end of every lint."""
    sys.exit(run(check, bad, good))
