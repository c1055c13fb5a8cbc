#!/usr/bin/env python3
"""Lines of prose in the documents have at most 100 columns.

Tables, code and links may be longer, and documents that the tools print. --rebase fills the paragraphs that are too wide again.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]
WIDTH = 100
ITEM = re.compile(r"(\s*)([-*] |\d+\. )")
PRINTED = {"ir-spec/operators.md"}
SPECIAL = re.compile(r"\s*(\||#|<!--|```|\[[^]]+\]: |> )")


def blocks(lines):
    """(is prose, lines): paragraphs and list items are prose; tables, headings and code are not."""
    block, fenced, in_item = [], False, False

    def flush():
        nonlocal block
        if block:
            yield True, block
        block = []

    for line in lines:
        fence = line.lstrip().startswith("```")
        if fenced or fence or not line.strip() or SPECIAL.match(line):
            yield from flush()
            yield False, [line]
            fenced = fenced != fence
            if line.strip() and not line.startswith(" "):
                in_item = False
            continue
        if not block and line.startswith("    ") and not in_item:
            yield False, [line]  # code
            continue
        if ITEM.match(line):
            yield from flush()
            in_item = True
        elif not block and not line.startswith(" "):
            in_item = False
        block.append(line)
    yield from flush()


def filled(block):
    """The block in lines of at most WIDTH; a code span is not broken inside."""
    item = ITEM.match(block[0])
    first = item[0] if item else re.match(r"\s*", block[0])[0]
    rest = " " * len(first)
    text = " ".join(line.strip() for line in block)[len(first.strip()):].strip()
    text = re.sub(r"`[^`]*`", lambda span: span[0].replace(" ", "\0"), text)
    lines = textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False,
                          break_on_hyphens=False)
    return [line.replace("\0", " ") for line in lines]


def too_wide(block):
    return any(len(line) > WIDTH for line in block) and filled(block) != block


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rebase", action="store_true", help="fill the paragraphs that are too wide")
    arguments = parser.parse_args()
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md"], cwd=ROOT, check=True,
                           capture_output=True, text=True).stdout.split()
    wide = 0
    for name in sorted(set(names) - PRINTED):
        path = ROOT / name
        found = list(blocks(path.read_text(encoding="utf-8").splitlines()))
        bad = [block for prose, block in found if prose and too_wide(block)]
        wide += len(bad)
        if arguments.rebase and bad:
            lines = [line for prose, block in found
                     for line in (filled(block) if prose and too_wide(block) else block)]
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        else:
            for block in bad:
                print(f"prose: {name}: over {WIDTH} columns: {block[0].strip()[:60]} ...")
    print(f"prose: {len(names)} documents, {wide} wide paragraphs{' filled' if arguments.rebase else ''}")
    return 1 if wide and not arguments.rebase else 0


if __name__ == "__main__":
    sys.exit(main())
