#!/usr/bin/env python3
"""Runs a tutorial: every command of it, in the order of the text, compared with what the text shows.

`run.py [--tools DIR] [--examples DIR] TUTORIAL.md`. Fenced blocks say by their first line what they are:

    ```sh                  commands, run by bash -e in one folder for the whole text
    ```output              what the commands before print on both outputs; a line `...` stands for any lines
    ```LANGUAGE file=NAME  a file that the text shows
    ```sh torch=NAME       commands that need PyTorch: run where /usr/bin/python3 has it. What they make is then
                           replaced by $EXAMPLES/tutorial/NAME, as other versions name values otherwise
    ```sh slurm            commands for a cluster: not run

`--rebase` writes what the commands print into the text; look at the difference before committing it.
"""
import argparse
import difflib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

PYTHON = "/usr/bin/python3"


class Block:
    def __init__(self, head, first):
        words = head.split()
        self.kind = words[0] if words else ""
        self.words = words[1:]
        self.first = first  # number of the line after the head
        self.lines = []

    @property
    def text(self):
        return "".join(line + "\n" for line in self.lines)

    def value(self, key):
        """VALUE of a word KEY=VALUE after the kind; None where there is none."""
        return next((word[len(key) + 1:] for word in self.words if word.startswith(key + "=")), None)


def read_blocks(lines):
    blocks, inside = [], False
    for number, line in enumerate(lines):
        if not line.startswith("```"):
            if inside:
                blocks[-1].lines.append(line)
        elif inside:
            inside = False
        else:
            blocks.append(Block(line[3:], number + 1))
            inside = True
    return blocks


def matches(shown, printed):
    """Whether the lines are those shown, where `...` is any number of lines."""
    pattern = "".join("(?:.*\n)*" if line.strip() == "..." else re.escape(line) + "\n" for line in shown)
    return re.fullmatch(pattern, "".join(line + "\n" for line in printed)) is not None


class Tutorial:
    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.failures = []
        self.printed = []
        self.rebased = []  # (block, lines)
        self.environment = dict(os.environ, LC_ALL="C", EXAMPLES=str(options.examples),
                                PATH=f"{options.tools}:{os.environ['PATH']}")
        self.has_torch = subprocess.run([PYTHON, "-c", "import torch, numpy"], stderr=subprocess.DEVNULL,
                                        check=False).returncode == 0

    def fail(self, block, text):
        self.failures.append(f"line {block.first}: {text}")

    def execute(self, block):
        done = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", block.text], cwd=self.folder, env=self.environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=self.options.timeout, check=False)
        self.printed = done.stdout.rstrip("\n").split("\n")
        if done.returncode != 0:
            self.fail(block, f"status {done.returncode}:\n{block.text}{done.stdout}")

    def run_torch(self, block):
        if self.has_torch:
            self.execute(block)
        else:
            print("not run, PyTorch is missing:", block.text.strip())
        for made in sorted((self.options.examples / "tutorial" / block.value("torch")).iterdir()):
            if self.has_torch and not (self.folder / made.name).exists():
                self.fail(block, f"{made.name} was not made")
            shutil.copy(made, self.folder)

    def compare(self, block):
        if matches(block.lines, self.printed):
            return
        self.rebased.append((block, self.printed))
        difference = difflib.unified_diff(block.lines, self.printed, "shown", "printed", lineterm="")
        self.fail(block, "\n".join(difference))

    def run(self, blocks):
        for block in blocks:
            if block.value("file"):
                (self.folder / block.value("file")).write_text(block.text, encoding="utf-8")
            elif block.kind == "output":
                self.compare(block)
            elif block.kind == "sh" and "slurm" not in block.words:
                (self.run_torch if block.value("torch") else self.execute)(block)


def made_examples(root, folder):
    """What cmake/package.cmake installs as examples, as far as a tutorial needs it."""
    for name in ("testdata/karate.adj.mtx", "scripts/explore.slurm"):
        shutil.copy(root / name, folder)
    shutil.copytree(root / "testdata" / "tutorial", pathlib.Path(folder, "tutorial"))
    return pathlib.Path(folder)


def rebase(path, lines, changes):
    for block, printed in reversed(changes):
        lines[block.first:block.first + len(block.lines)] = printed
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main():
    root = pathlib.Path(__file__).resolve().parent.parent.parent
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=pathlib.Path)
    parser.add_argument("--tools", type=pathlib.Path, default=root / "build" / "bin")
    parser.add_argument("--examples", type=pathlib.Path,
                        help="the folder that the text calls $EXAMPLES, as it is installed (default: made of this tree)")
    parser.add_argument("--timeout", type=float, default=float(os.environ.get("FUSEFLOW_TEST_TIMEOUT", 120)),
                        help="seconds a block may take")
    parser.add_argument("--rebase", action="store_true")
    options = parser.parse_args()
    options.tools = options.tools.resolve()
    lines = options.text.read_text(encoding="utf-8").rstrip("\n").split("\n")
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as examples:
        options.examples = options.examples.resolve() if options.examples else made_examples(root, examples)
        tutorial = Tutorial(options, pathlib.Path(folder))
        tutorial.run(read_blocks(lines))
    if options.rebase:
        rebase(options.text, lines, tutorial.rebased)
    for failure in tutorial.failures:
        print("FAILED", failure)
    return 1 if tutorial.failures else 0


if __name__ == "__main__":
    sys.exit(main())
