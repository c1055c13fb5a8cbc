#!/usr/bin/env python3
"""Lines of prose in the documents have at most 100 columns, and words that only their authors understand are not used.

Tables, code and links may be longer, and documents that the tools print. --rebase fills the paragraphs that are too wide again.
WORDS lists words with what to write instead; code spans may contain them.
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
WORDS = {r"(?<!leaves )(?<!left )behind": "after", r"rooms": "folders", r"what comes of": "the result of",
         r"where it stands": "where it is", r"is told so": "the error names", r"as ever": "as usual", r"seed's": "Comal's, SAM's",
         r"(stands?|stood) twice": "occurs twice", r"oftener": "more often", r"in vain": "needlessly",
         r"taken for granted": "assumed", r"walks? apart": "separate", r"whoever": "the reader", r"paths? (hold|held)": "paths start at"}
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


def wrong_words(line):
    """(word, what to write instead) for each word of the line outside of code spans that is not to be used."""
    text = re.sub(r"`[^`]*`", "``", line)
    return [(found[0], say) for word, say in WORDS.items() for found in re.finditer(rf"\b{word}\b", text, re.I)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rebase", action="store_true", help="fill the paragraphs that are too wide")
    arguments = parser.parse_args()
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md"], cwd=ROOT, check=True,
                           capture_output=True, text=True).stdout.split()
    wide = wrong = 0
    for name in sorted(set(names) - PRINTED):
        path = ROOT / name
        lines = path.read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines, 1):
            for word, say in wrong_words(line):
                wrong += 1
                print(f"prose: {name}:{number}: '{word}': write '{say}'")
        found = list(blocks(lines))
        bad = [block for prose, block in found if prose and too_wide(block)]
        wide += len(bad)
        if arguments.rebase and bad:
            lines = [line for prose, block in found
                     for line in (filled(block) if prose and too_wide(block) else block)]
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        else:
            for block in bad:
                print(f"prose: {name}: over {WIDTH} columns: {block[0].strip()[:60]} ...")
    print(f"prose: {len(names)} documents, {wide} wide paragraphs{' filled' if arguments.rebase else ''}, {wrong} words")
    return 1 if wrong or (wide and not arguments.rebase) else 0


if __name__ == "__main__":
    sys.exit(main())
