#!/usr/bin/env python3
"""Compares the table of keys in ir-spec/machines.md with what `fuseflow-sim --print-machine` says of an empty file.

Name, default and meaning of every key come from src/machine; --rebase writes them into the table.
"""

import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BEGIN, END = "<!-- machine keys -->\n", "<!-- end of machine keys -->\n"
UNIT = re.compile(r"(?<=units\.)\w+(?=\.)|(?<=(?:_pj|um2)\.)(?!\w+_(?:8|16|32))\w+")


def rows_of(toml):
    """The rows of the table: `units.*` once for all classes."""
    section, rows = "", {}
    for line in toml.splitlines():
        line = line.removeprefix("# ")
        if found := re.fullmatch(r"\[([\w.]+)\]", line):
            section = found[1] + "."
        elif found := re.fullmatch(r'(\w+) = ("[^"]*"|\S+)  # (.*)', line):
            name = UNIT.sub("CLASS", section + found[1])
            rows[name] = f"| `{name}` | {default(name, found[2])} | {found[3]} |\n"
    return ["| key | default | meaning |\n", "|---|---|---|\n", *rows.values()]


def default(name, value):
    return {"name": "the file's name", "description": ""}.get(name, f"`{value}`")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin-dir", required=True, type=pathlib.Path)
    parser.add_argument("--rebase", action="store_true", help="write the table")
    arguments = parser.parse_args()
    toml = subprocess.run([arguments.bin_dir.resolve() / "fuseflow-sim", "--print-machine", "-"],
                          check=True, capture_output=True, text=True, input="name = \"empty\"\n").stdout
    rows = "".join(rows_of(toml))
    path = ROOT / "ir-spec" / "machines.md"
    text = path.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    table, after = rest.split(END)
    if table == rows:
        print(f"machine keys: {rows.count(chr(10)) - 2} rows")
        return 0
    if arguments.rebase:
        path.write_text(before + BEGIN + rows + END + after, encoding="utf-8")
        return 0
    for line in sorted(set(rows.splitlines()) ^ set(table.splitlines())):
        print("expected" if line in rows else "found   ", line)
    print("machine keys: ir-spec/machines.md differs; tests/structure/machine_keys.py --rebase --bin-dir build/bin")
    return 1


if __name__ == "__main__":
    sys.exit(main())
