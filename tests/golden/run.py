#!/usr/bin/env python3
"""Runs golden cases: each *.case file is one command over the built tools and what it must give.

A case file is a sequence of sections, each begun by a line `=== NAME [ARGUMENT]`:

    === command
    fuseflow-fuse --strategy=full in.ff | fuseflow-dot
    === file in.ff
    fuseflow 1
    ...
    === status
    0
    === stdout
    ...
    === stderr
    ...

Text before the first section is a comment. `file` may be repeated. The command is run by bash (with
pipefail) in an empty folder that holds the files, with the tools first in PATH and $TESTDATA naming
testdata/. `--threads 1,8` runs the cases that simulate once for each number of threads, all of which must give the same.
A section whose text is `...` is not compared. `--rebase` rewrites status, stdout and stderr of
the cases that differ; look at the difference before committing it. A case that does not end in time fails, and is not
rewritten. Without cases all are run, but those of tools that are not built.
"""

import argparse
import concurrent.futures
import os
import pathlib
import sys

import case

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def rewritten(comment, sections, given):
    """The text of a case with what it gave."""
    kept = {name: text for name, _, text in sections if name in case.OUTCOMES and text.strip() == "..."}
    text = comment
    for name, argument, body in sections:
        if name not in case.OUTCOMES:
            text += f"=== {name}{' ' + argument if argument else ''}\n{body}"
    for name in case.OUTCOMES:
        body = kept.get(name, given[name])
        if body or name == "status":
            text += f"=== {name}\n{body}" + ("" if body.endswith("\n") else "\n")
    return text


def run_case(path, options):
    """(word, difference) of a case: "" where it is as expected."""
    comment, sections = case.read_case(path)
    try:
        given, difference = case.run(sections, options.bin_dir.resolve(), options.testdata.resolve(), options.timeout,
                                     options.threads)
    except case.TimedOut:
        return "FAILED", [f"did not end in {options.timeout:g} s"]
    if difference and options.rebase:
        path.write_text(rewritten(comment, sections, given), encoding="utf-8")
    return "" if not difference else "REBASED" if options.rebase else "FAILED", difference


def all_cases(bin_dir):
    """All cases but those of fuseflow-mlir where it is not built."""
    cases = sorted(HERE.glob("**/*.case"))
    if (bin_dir / "fuseflow-mlir").exists():
        return cases
    built = [path for path in cases if path.parent.name != "mlir" and path.stem != "mlir"]
    print(f"{len(cases) - len(built)} cases of fuseflow-mlir are left out: it is not built")
    return built


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", type=pathlib.Path, help="case files (default: all beside this script)")
    parser.add_argument("--bin-dir", type=pathlib.Path, default=ROOT / "build" / "bin", help="folder of the tools")
    parser.add_argument("--testdata", type=pathlib.Path, default=ROOT / "testdata")
    parser.add_argument("--threads", type=lambda text: text.split(","), default=[],
                        help="run simulations with each of these numbers of threads")
    parser.add_argument("--rebase", action="store_true", help="write what the tools give into the case files")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=float(os.environ.get("FUSEFLOW_TEST_TIMEOUT", 120)), help="seconds a case may take")
    options = parser.parse_args()
    cases = options.cases or all_cases(options.bin_dir)
    if not cases:
        sys.exit("no cases found")
    words = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for path, (word, difference) in zip(cases, pool.map(lambda path: run_case(path, options), cases)):
            words.append(word)
            if word:
                print(f"{word} {path}", *difference, sep="\n")
    print(f"{words.count('')} of {len(cases)} golden cases as expected")
    sys.exit(1 if "FAILED" in words else 0)


if __name__ == "__main__":
    main()
