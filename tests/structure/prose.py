#!/usr/bin/env python3
"""Lines of prose in the documents have at most 100 columns, and words that only their authors understand are not used.

Tables, code and links may be longer, and documents that the tools print. --rebase fills the paragraphs that are too wide again.
WORDS lists words with what to write instead; code spans may contain them. They are looked for in documents, and in the
comments and string literals of src and tools.
"""

import argparse
import fnmatch
import pathlib
import re
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
ORDINARY = {r"seed's"}  # words that sources use in another sense: the seeds of a search
SOURCES = ["src/*.h", "src/*.cpp", "tools/*.h", "tools/*.cpp", "cuda/*.h"]
# What a source is made of: comments, string literals, characters (a digit separator is none).
PARTS = re.compile(r"""//(?P<line>[^\n]*) | /\*(?P<block>.*?)\*/
                       | R"(?P<mark>[^(\s]*)\((?P<raw>.*?)\)(?P=mark)" | "(?P<text>(?:[^"\\\n]|\\.)*)"
                       | (?<!\w)'(?:[^'\\\n]|\\.)+'""", re.S | re.X)
SPECIAL = re.compile(r"\s*(\||#|<!--|```|\[[^]]+\]: |> )")


def blocks(lines):
    """(is prose, lines): paragraphs and list items are prose; tables, headings and code are not."""
    block, fenced, in_item, code_from = [], False, False, 4

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
        if not block and line.startswith(" " * (code_from if in_item else 4)):
            yield False, [line]  # code
            continue
        if item := ITEM.match(line):
            yield from flush()
            in_item, code_from = True, len(item[0]) + 4  # by four more than the text of the item
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


def wrong_words(name, numbered, words):
    """Prints each word that is not to be used, outside of code spans of the (number, line) of a file; how many."""
    wrong = 0
    for number, line in numbered:
        text = re.sub(r"`[^`]*`", "``", line)
        for word, say in words.items():
            for found in re.finditer(rf"\b{word}\b", text, re.I):
                wrong += 1
                print(f"prose: {name}:{number}: '{found[0]}': write '{say}'")
    return wrong


def words_of_source(text):
    """(number, line) of what a source says in comments and string literals."""
    for part in PARTS.finditer(text):
        for name in ("line", "block", "raw", "text"):
            if part[name]:
                first = text.count("\n", 0, part.start(name)) + 1
                yield from enumerate(part[name].split("\n"), first)


def walk(folder):
    """All files below, but for those of hidden folders and of builds."""
    for entry in sorted(folder.iterdir()):
        if entry.is_symlink() or entry.name.startswith(".") or (entry / "CMakeCache.txt").exists():
            continue
        if entry.is_dir():
            yield from walk(entry)
        else:
            yield entry.relative_to(ROOT).as_posix()


def files(*patterns):
    """The project's files of these names. (A machine that only builds and tests need not have git.)"""
    return [name for name in walk(ROOT) if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rebase", action="store_true", help="fill the paragraphs that are too wide")
    arguments = parser.parse_args()
    wide = wrong = 0
    private = {word: say for word, say in WORDS.items() if word not in ORDINARY}
    some = re.compile("|".join(private), re.I)
    sources = files(*SOURCES)
    for name in sources:
        text = (ROOT / name).read_text(encoding="utf-8")
        if some.search(text):
            wrong += wrong_words(name, words_of_source(text), private)
    names = files("*.md")
    for name in sorted(set(names) - PRINTED):
        path = ROOT / name
        lines = path.read_text(encoding="utf-8").splitlines()
        wrong += wrong_words(name, enumerate(lines, 1), WORDS)
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
    print(f"prose: {len(names)} documents, {len(sources)} sources, "
          f"{wide} wide paragraphs{' filled' if arguments.rebase else ''}, {wrong} words")
    return 1 if wrong or (wide and not arguments.rebase) else 0


if __name__ == "__main__":
    sys.exit(main())
