#!/usr/bin/env python3
"""Runs every exported model of testdata/models through the whole pipe and checks it against PyTorch.

A case is NAME.onnx with NAME/case.txt (its --bind and --expect options). For each fusion strategy:
fuseflow-import | fuseflow-fuse --strategy=S | fuseflow-sim --check --expect. A case fails unless the
pipe ends with status 0. The strategy `cluster` is fuseflow-cluster in the place of fuseflow-fuse, on the
machine h100; cases named chain_* must be planned. The strategy `tiles` is the same with --dense
--strategy=tiles; nothing may be left to streams, which the h100 has not. The strategy `rewrite` is
fuseflow-rewrite --allow-reassociation there, for the machine comal: what PyTorch computes is compared with
other statements; `rewrite-apart` does not ask what fusion makes of them, and is 20 times as quick. gaps.txt lists what is known to fail and why; a listed case that passes is a failure too,
so that the list stays true.
"""

import argparse
import concurrent.futures
import fnmatch
import os
import pathlib
import subprocess
import sys

from variants import is_variant

ROOT = pathlib.Path(__file__).resolve().parents[2]


def read_options(case_file):
    """The --bind and --expect options of a case, in order."""
    bind, expect = [], []
    for line in case_file.read_text().splitlines():
        words = line.split(None, 1)
        if not words or words[0].startswith("#"):
            continue
        (bind if words[0] == "--bind" else expect).extend(words)
    return bind, expect


def read_gaps(path):
    """Lines `STRATEGY PATTERN  reason`; STRATEGY may be `*`."""
    gaps = []
    for line in path.read_text().splitlines():
        words = line.split(None, 2)
        if words and not words[0].startswith("#"):
            gaps.append((words[0], words[1], words[2] if len(words) > 2 else ""))
    return gaps


def known_gap(gaps, strategy, name):
    return any(fnmatch.fnmatch(strategy, s) and fnmatch.fnmatch(name, p) for s, p, _ in gaps)


def run_case(arguments, name, strategy):
    """Returns (ok, message). The three tools run as one pipe, in the models' folder."""
    models = pathlib.Path(arguments.models).resolve()
    bind, expect = read_options(models / name / "case.txt")
    tools = pathlib.Path(arguments.tools).resolve()
    middle = [tools / "fuseflow-fuse", f"--strategy={strategy}"]
    machine = []
    if strategy == "cluster":
        middle, machine = [tools / "fuseflow-cluster"], ["--machine", "h100"]
    if strategy == "tiles":
        middle = [tools / "fuseflow-cluster", "--dense", "--strategy=tiles"]
        machine = ["--machine", "h100"]
    if strategy.startswith("rewrite"):
        apart = ["--apart"] if strategy == "rewrite-apart" else []
        middle = [tools / "fuseflow-rewrite", "--allow-reassociation", "--machine", "comal", *apart]
    stages = [
        [tools / "fuseflow-import", f"{name}.onnx", *bind],
        middle,
        [tools / "fuseflow-sim", "--check", *machine, *expect, *arguments.sim],
    ]
    text = b""
    for stage in stages:
        try:
            done = subprocess.run([str(word) for word in stage], input=text, cwd=models,
                                  capture_output=True, timeout=arguments.timeout)
        except subprocess.TimeoutExpired:
            return False, f"{stage[0].name}: no answer in {arguments.timeout} s"
        if done.returncode != 0:
            error = done.stderr.decode(errors="replace").strip().splitlines()
            return False, f"{stage[0].name}: status {done.returncode}: {' | '.join(error[-3:])}"
        text = done.stdout
        if stage[0].name == "fuseflow-cluster" and name.startswith("chain_") and b"tiles [" not in text:
            return False, "no chain was planned"
        if strategy == "tiles" and b" is left to streams: " in done.stderr:
            return False, done.stderr.decode(errors="replace").strip()
    return True, text.decode().strip().splitlines()[-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tools", required=True, help="folder of the built tools")
    parser.add_argument("--models", default=str(ROOT / "testdata" / "models"))
    parser.add_argument("--strategy", action="append", help="none, layer, full, auto, cluster, tiles, rewrite or rewrite-apart; repeatable")
    parser.add_argument("--filter", default="*", help="pattern of case names")
    parser.add_argument("--no-variants", action="store_true", help="leave out other exports of the same model")
    parser.add_argument("--gaps", default=str(pathlib.Path(__file__).with_name("gaps.txt")))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=float(os.environ.get("FUSEFLOW_TEST_TIMEOUT", 300)))
    parser.add_argument("--sim", action="append", default=[], help="further option of fuseflow-sim")
    parser.add_argument("-v", "--verbose", action="store_true", help="print passing cases too")
    arguments = parser.parse_args()

    gaps = read_gaps(pathlib.Path(arguments.gaps))
    names = sorted(path.parent.name for path in pathlib.Path(arguments.models).glob("*/case.txt")
                   if fnmatch.fnmatch(path.parent.name, arguments.filter))
    if arguments.no_variants:
        names = [name for name in names if not is_variant(name, names)]
    jobs = [(name, strategy) for strategy in arguments.strategy or ["none"] for name in names]
    if not jobs:
        sys.exit("no case matches")
    passed = failed = skipped = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        results = pool.map(lambda job: run_case(arguments, *job), jobs)
        for (name, strategy), (ok, message) in zip(jobs, results):
            expected = not known_gap(gaps, strategy, name)
            if ok and expected:
                passed += 1
                if arguments.verbose:
                    print(f"ok    {strategy} {name}: {message}")
            elif not ok and not expected:
                skipped += 1
                if arguments.verbose:
                    print(f"gap   {strategy} {name}: {message}")
            else:
                failed += 1
                why = message if expected else "passes now: remove it from gaps.txt"
                print(f"FAIL  {strategy} {name}: {why}", flush=True)
    print(f"models: {passed} passed, {failed} failed, {skipped} known gaps")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
