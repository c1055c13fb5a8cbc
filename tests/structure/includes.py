#!/usr/bin/env python3
"""Compares what the folders of src include with the table of folders in src/README.md.

A row is `| FOLDER | what it holds | the folders that it uses |`, lowest first. It is an error where
  - a folder has no row, or a row no folder;
  - a file includes a folder that its row does not name;
  - a row names a folder that no file includes, or one further down (dependencies point one way);
  - a file of src includes one of tools or tests.
"""

import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def read_table(text):
    """Folder -> folders that it may use, in the order of the rows."""
    table = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        name = re.fullmatch(r"`([a-z_/]+)`", cells[0])
        if line.startswith("|") and name and len(cells) == 3:
            table[name[1]] = re.findall(r"`([a-z_/]+)`", cells[2])
    return table


def folder_of(path, folders):
    """The row that a file belongs to: the longest that its folder begins with."""
    parts = pathlib.PurePosixPath(path).parent.parts
    for n in range(len(parts), 0, -1):
        if "/".join(parts[:n]) in folders:
            return "/".join(parts[:n])
    return None


def used_folders(src, folders):
    """(folder, folder it includes) -> the first file that does."""
    used, errors = {}, []
    for path in sorted(src.rglob("*")):
        if path.suffix not in (".cpp", ".h"):
            continue
        name = path.relative_to(src).as_posix()
        mine = folder_of(name, folders)
        if mine is None:
            errors.append(f"src/{name}: its folder has no row")
            continue
        for included in INCLUDE.findall(path.read_text(encoding="utf-8")):
            other = folder_of(included, folders)  # a generated header has a folder, too
            if other is None:
                errors.append(f"src/{name}: includes \"{included}\", which no row has")
                continue
            if other != mine:
                used.setdefault((mine, other), f"src/{name}")
    return used, errors


def compare(table, src):
    used, errors = used_folders(src, table)
    order = list(table)
    for folder, allowed in table.items():
        if not (src / folder).is_dir():
            errors.append(f"'{folder}' has a row, but there is no folder src/{folder}")
        for other in allowed:
            if other not in table:
                errors.append(f"'{folder}': uses '{other}', which has no row")
            elif order.index(other) > order.index(folder):
                errors.append(f"'{folder}': uses '{other}', which stands further down")
            elif (folder, other) not in used:
                errors.append(f"'{folder}': no file includes '{other}' any more; take it out of the row")
    errors += [f"{file}: includes '{other}', which the row of '{folder}' does not name"
               for (folder, other), file in sorted(used.items()) if other not in table[folder]]
    return errors


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--print", action="store_true", help="print what is used, as rows")
    arguments = parser.parse_args()
    table = read_table((ROOT / "src" / "README.md").read_text(encoding="utf-8"))
    if arguments.print:
        used, _ = used_folders(ROOT / "src", table)
        for folder in table:
            print(f"| `{folder}` | {', '.join(f'`{o}`' for o in table if (folder, o) in used)} |")
        return 0
    errors = compare(table, ROOT / "src") if table else ["src/README.md has no table of folders"]
    for error in errors:
        print(f"includes: {error}")
    print(f"includes: {len(table)} folders, {len(errors)} errors")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
