#!/usr/bin/env python3
"""one.py BIN_DIR TESTDATA THREADS CASE: runs one golden case, as ctest does (run.py runs several, and rebases)."""

import os
import sys

import case


def main(bin_dir, testdata, threads, path):
    seconds = float(os.environ.get("FUSEFLOW_TEST_TIMEOUT", 120))
    try:
        _, difference = case.run(case.read_case(path)[1], os.path.abspath(bin_dir), os.path.abspath(testdata), seconds,
                                 threads.split(","))
    except case.TimedOut:
        difference = [f"did not end in {seconds:g} s"]
    if difference:
        print(f"FAILED {path}", *difference, sep="\n")
    return 1 if difference else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
