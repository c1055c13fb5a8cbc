#!/usr/bin/env python3
"""Checks that no two files define a type or a shared constant of one name in one namespace, and no two that are compiled
together one name for themselves.

The compiler does not see the first, and the linker keeps one of them for both. Types of a file's own belong
into its unnamed namespace. The second: sources of a folder and those of a test program are compiled together
(cmake/first_build.cmake), so that their unnamed namespaces are one. Functions may be overloaded there.
"""

import collections
import functools
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("src", "tools", "tests")
OPENED = re.compile(r"(?:inline )?namespace\s*([\w:]*)\s*\{$")
CLOSED = re.compile(r"\}  // namespace")
TYPE = re.compile(r"(?:struct|class|union|enum(?: class)?)\s+(?:alignas\([^)]*\)\s+)?(\w+)\b(?!::)(?![\w\s:<>,]*;)")


OWN = re.compile(r"(?:using\s+(\w+)\s*=|(?:inline |static )*constexpr\s+[\w:<>\s,]+?[\s*&](\w+)\s*(?:=|\{|\[))")


SHARED = re.compile(r"inline constexpr\s+[\w:<>\s,]+?[\s*&](\w+)\s*(?:=|\{|\[)")


def declarations(path):
    """The lines of a file that stand in namespaces, each with the names of these; unnamed: ""."""
    spaces = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if opened := OPENED.match(line):
            spaces.append(opened[1])
        elif CLOSED.match(line):
            spaces.pop()
        elif spaces:
            yield spaces, line


def own_names(path):
    """Types and constants of a file's own unnamed namespace."""
    for spaces, line in declarations(path):
        if spaces[-1] == "" and (found := TYPE.match(line) or OWN.match(line)):
            yield "::".join([*spaces[:-1], next(name for name in found.groups() if name)])


def types_of(path):
    """Qualified names of the types and inline constants that a file defines at the level of a namespace that has a name."""
    for spaces, line in declarations(path):
        if "" not in spaces and (found := TYPE.match(line) or SHARED.match(line)):
            yield "::".join([*spaces, found[1]])


def compiled_with(path, root):
    """What names the sources that a source may be compiled together with; none if it is compiled alone."""
    if path.suffix != ".cpp":
        return None
    if path.is_relative_to(root / "src"):
        return path.parent
    if path.parent == root / "tests" / "unit" and path.stem.endswith("_test"):
        return path.parent / programs(path.parent)[path]
    return None


@functools.cache
def programs(folder):
    """The test program of each source of tests/unit: the longest NAME of tests/CMakeLists.txt that it begins with."""
    names = re.findall(r"^fuseflow_test\((\w+)", (folder.parent / "CMakeLists.txt").read_text(encoding="utf-8"), re.M)
    return {path: max((n for n in names if path.stem.startswith(n + "_")), key=len, default="")
            for path in folder.glob("*_test.cpp")}


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT
    files = [p for folder in FOLDERS for p in sorted((root / folder).rglob("*")) if p.suffix in (".cpp", ".h")]
    defined = collections.defaultdict(set)
    for path in files:
        for name in types_of(path):
            defined[name].add(path.relative_to(root).as_posix())
    twice = {name: sorted(paths) for name, paths in defined.items() if len(paths) > 1}
    own = collections.defaultdict(set)
    for path in files:
        if group := compiled_with(path, root):
            for name in own_names(path):
                own[group, name].add(path.relative_to(root).as_posix())
    twice.update((f"{name} (unnamed)", sorted(paths)) for (_, name), paths in own.items() if len(paths) > 1)
    for name, paths in sorted(twice.items()):
        print(f"types: {name} is defined in {' and '.join(paths)}, expected one of them under another name")
    print(f"types: {len(defined)} types and constants of {len(files)} files, {len(twice)} defined twice")
    return 1 if twice or not defined else 0


if __name__ == "__main__":
    sys.exit(main())
