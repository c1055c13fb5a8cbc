#!/usr/bin/env python3
"""Runs the demo (scripts/demo_run) and compares its table with the one that README.md shows."""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def table(text):
    """The lines from the heading of the demo's table on, without indentation."""
    lines = [line.strip() for line in text.splitlines()]
    start = next((i for i, line in enumerate(lines) if line.startswith("fusion ")), None)
    return [] if start is None else lines[start : start + 5]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", required=True, help="folder of the tools")
    options = parser.parse_args()
    models = ROOT / "testdata" / "models"
    environment = dict(os.environ, PATH=f"{options.tools}:{os.environ['PATH']}")
    with tempfile.TemporaryDirectory() as folder:
        ran = subprocess.run(
            [ROOT / "scripts" / "demo_run", models / "gcn_karate.onnx", ROOT / "testdata" / "karate.adj.mtx",
             models / "gcn_karate" / "x.mtx", models / "gcn_karate" / "y.npy", folder],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    shown, printed = table((ROOT / "README.md").read_text(encoding="utf-8")), table(ran.stdout)
    if ran.returncode == 0 and shown and shown == printed:
        print("demo: the table of README.md is what the demo prints")
        return 0
    print(f"demo: status {ran.returncode}; README.md shows\n" + "\n".join(shown) + "\nthe demo prints\n" + ran.stdout)
    return 1


if __name__ == "__main__":
    sys.exit(main())
