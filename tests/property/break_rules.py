#!/usr/bin/env python3
"""Writes sources of src/lower in which the rules of broken_rules.txt can be broken at run time (broken_rule.h)."""

import argparse
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
RULE = re.compile(r"(\d+) \| (\S+) \| (.*?)\[\[(.*?)\]\](.*) \| (.*)")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path, help="where the sources are written")
    folder = parser.parse_args().folder
    sources = {}
    for line in (ROOT / "tests/property/broken_rules.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        number, name, before, text, behind, broken = RULE.fullmatch(line).groups()
        source = sources.get(name) or (ROOT / "src/lower" / name).read_text(encoding="utf-8")
        if source.count(before + text + behind) != 1:
            raise SystemExit(f"broken_rules.txt: {name} has not once: {before}{text}{behind}")
        choice = f"(fuseflow::testing::breaks({number}) ? {broken} : ({text}))"
        sources[name] = source.replace(before + text + behind, before + choice + behind)
    folder.mkdir(parents=True, exist_ok=True)
    for name, source in sources.items():
        (folder / name).write_text(f'#include "property/broken_rule.h"\n{source}', encoding="utf-8")


if __name__ == "__main__":
    main()
