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
testdata/. `--threads 1,8` runs the cases that simulate once for each number of threads, all of which must give the same. A section whose text is `...` is not compared. `--rebase` rewrites status, stdout and stderr of
the cases that differ; look at the difference before committing it.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

OUTCOMES = ("status", "stdout", "stderr")


def read_case(path):
    """The comment and the list of (name, argument, text) of a case file."""
    comment, sections = "", []
    for line in path.read_text(encoding="utf-8").splitlines(keepends=True):
        if line.startswith("=== "):
            name, _, argument = line[4:].strip().partition(" ")
            if name not in OUTCOMES + ("command", "file"):
                sys.exit(f"{path}: unknown section '{name}', expected command, file, status, stdout, stderr")
            sections.append([name, argument, ""])
        elif sections:
            sections[-1][2] += line
        else:
            comment += line
    if not any(name == "command" for name, _, _ in sections):
        sys.exit(f"{path}: no command section, expected `=== command`")
    return comment, sections


def simulator_with(threads, bin_dir, folder):
    """Writes a fuseflow-sim to a folder that is the one of bin_dir with --threads."""
    wrapper = pathlib.Path(folder, "fuseflow-sim")
    wrapper.write_text(f'#!/bin/sh\nexec "{bin_dir}/fuseflow-sim" --threads {threads} "$@"\n', encoding="utf-8")
    wrapper.chmod(0o755)


def execute(sections, bin_dir, testdata, timeout, threads=None):
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as wrapped:
        if threads:
            simulator_with(threads, bin_dir, wrapped)
        for name, argument, text in sections:
            if name == "file":
                target = pathlib.Path(folder, argument)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(text, encoding="utf-8")
        command = "".join(text for name, _, text in sections if name == "command")
        env = dict(os.environ, PATH=f"{wrapped}:{bin_dir}:{os.environ['PATH']}", TESTDATA=str(testdata), LC_ALL="C")
        try:
            done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=folder, env=env,
                                  stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout, check=False)
        except subprocess.TimeoutExpired:
            return {"status": "timeout\n", "stdout": "", "stderr": ""}
    decode = lambda data: data.decode("utf-8", errors="backslashreplace")
    return {"status": f"{done.returncode}\n", "stdout": decode(done.stdout), "stderr": decode(done.stderr)}


def compare(sections, outcome):
    """Unified differences; a missing status means 0, a missing text means empty."""
    expected = {"status": "0\n", "stdout": "", "stderr": ""}
    expected.update({name: text for name, _, text in sections if name in OUTCOMES})
    lines = []
    for name in OUTCOMES:
        want, got = expected[name], outcome[name]
        if got and not got.endswith("\n"):
            got += "\n"
        if want.strip() == "..." or want == got:
            continue
        import difflib  # most runs are of one case that is right, and start in less time without
        lines += difflib.unified_diff(want.splitlines(), got.splitlines(), f"expected {name}",
                                      f"actual {name}", lineterm="")
    return lines


def rewrite(path, comment, sections, outcome):
    kept = {name: text for name, _, text in sections if name in OUTCOMES and text.strip() == "..."}
    text = comment
    for name, argument, body in sections:
        if name not in OUTCOMES:
            text += f"=== {name}{' ' + argument if argument else ''}\n{body}"
    for name in OUTCOMES:
        body = kept.get(name, outcome[name])
        if body or name == "status":
            text += f"=== {name}\n{body}" + ("" if body.endswith("\n") else "\n")
    path.write_text(text, encoding="utf-8")


def run_case(path, options):
    comment, sections = read_case(path)
    command = "".join(text for name, _, text in sections if name == "command")
    numbers = options.threads if "fuseflow-sim" in command and "--threads" not in command else []
    for threads in numbers or [None]:
        outcome = execute(sections, options.bin_dir.resolve(), options.testdata.resolve(), options.timeout, threads)
        difference = compare(sections, outcome)
        if difference:
            difference += [f"with {threads} threads"] if threads else []
            break
    if difference and options.rebase:
        rewrite(path, comment, sections, outcome)
    return path, difference


def outcomes(cases, options):
    """(path, difference) of each case, in order."""
    if len(cases) == 1:
        yield run_case(cases[0], options)
        return
    import concurrent.futures
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        yield from pool.map(lambda case: run_case(case, options), cases)


def main():
    here = pathlib.Path(__file__).resolve().parent
    root = here.parent.parent
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", type=pathlib.Path, help="case files (default: all beside this script)")
    parser.add_argument("--bin-dir", type=pathlib.Path, default=root / "build" / "bin", help="folder of the tools")
    parser.add_argument("--testdata", type=pathlib.Path, default=root / "testdata")
    parser.add_argument("--threads", type=lambda text: text.split(","), default=[],
                        help="run simulations with each of these numbers of threads")
    parser.add_argument("--rebase", action="store_true", help="write what the tools give into the case files")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=float(os.environ.get("FUSEFLOW_TEST_TIMEOUT", 120)), help="seconds a case may take")
    options = parser.parse_args()
    cases = options.cases or sorted(here.glob("**/*.case"))
    if not cases:
        sys.exit("no cases found")
    failures = 0
    for path, difference in outcomes(cases, options):
        if difference:
            failures += 1
            print(f"{'REBASED' if options.rebase else 'FAILED'} {path}", *difference, sep="\n")
    print(f"{len(cases) - failures} of {len(cases)} golden cases as expected")
    sys.exit(1 if failures and not options.rebase else 0)


if __name__ == "__main__":
    main()
