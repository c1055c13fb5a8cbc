#!/usr/bin/env python3
"""Follows verdicts: each change that `fuseflow-sim -v` and `fuseflow-estimate -v` name is made and simulated.

`run.py --tools DIR [CASE...]`. A case is a program, a machine, and what must limit it. The first change that is named
must help; of each, the cycles of the region must fall by at least half of what was said. Both must be the same on one
thread and on two.
"""
import argparse
import csv
import io
import pathlib
import re
import subprocess
import sys
import tempfile

HEAD = 'fuseflow 1\nprogram "p"\n'
PRODUCT = HEAD + """input %a: f32[64, 64] dense,compressed = uniform(density=0.2, seed=1)
input %b: f32[64, 64] dense,compressed = uniform(density=0.2, seed=2)
result %y: f32[64, 64] dense,dense
region @y {
  %y[i, j] = sum(k) %a[i, k] * %b[k, j]
}
"""
COPY = HEAD + """input %a: f32[64, 64] dense,dense = uniform(density=1, seed=1)
result %y: f32[64, 64] dense,dense
region @y {
  %y[i, j] = relu(%a[i, j])
}
"""
VECTOR = HEAD + """input %a: f32[64] dense = uniform(density=1, seed=1)
result %y: f32[64] dense
region @y {
  %y[i] = relu(%a[i])
}
"""
SOFTMAX = HEAD + """input %a: f32[40, 60] dense,dense = uniform(density=1, seed=1)
temp %m: f32[40] dense assume(finite)
temp %e: f32[40, 60] dense,dense
temp %s: f32[40] dense assume(finite, nonzero)
result %y: f32[40, 60] dense,dense
region @y {
  %m[i] = max(j) %a[i, j]
  %e[i, j] = exp(%a[i, j] - %m[i])
  %s[i] = sum(j) %e[i, j]
  %y[i, j] = %e[i, j] / %s[i]
}
"""
GATE = HEAD + """input %a: f32[64, 64] dense,compressed = uniform(density=0.5, seed=1)
result %y: f32[64, 64] dense,compressed
region @y {
  %y[i, j] = %a[i, j] * exp(%a[i, j])
}
"""
PHASES = HEAD + """input %a: f32[48, 48] dense,dense = uniform(density=1, seed=1)
input %b: f32[48, 48] dense,dense = uniform(density=1, seed=2)
temp %t: f32[48, 48] dense,dense
result %y: f32[48, 48] dense,dense
region @y {
  %t[i, j] = sum(k) %a[i, k] * %b[k, j]
  %y[i, j] = sum(k) %t[i, k] * %t[k, j]
  place %t = scratchpad
  barriers
}
"""
LOADED = HEAD + """input %a: f32[64, 64] dense,dense place(scratchpad) = uniform(density=1, seed=1)
result %y: f32[64] dense
region @y {
  %y[i] = sum(j:16) %a[i, j]
}
"""
CHAIN = HEAD + """input %a: f32[4, 4] dense,dense = uniform(density=1, seed=1)
result %y: f32[4] dense
region @y {
  %y[i] = sum(j) exp(%a[i, j])
}
"""
FIXED = ["dram.model=fixed"]
CASES = {  # name: program, machine, settings, what limits
    "reader": (PRODUCT, "ideal", [], "one reader, node"),
    "operator": (GATE, "ideal", ["operators.exponential.interval_cycles=4"], "compute of node"),
    "writer": (COPY, "ideal", ["units.write.interval_cycles=4"], "one writer"),
    "bandwidth": (COPY, "ideal", [*FIXED, "dram.bandwidth_gigabytes_per_second=0.8"], "memory bandwidth"),
    "channels": (COPY, "ideal", [*FIXED, "dram.channels=1", "dram.interval_cycles=100"], "memory bandwidth"),
    "one_channel": (VECTOR, "ideal", [*FIXED, "dram.interval_cycles=100"], "memory bandwidth of the few channels"),
    "latency": (PRODUCT, "ideal", [*FIXED, "fifo_depth=8", "dram.latency_cycles=200"], "memory latency"),
    "outstanding": (PRODUCT, "ideal", [*FIXED, "dram.outstanding=2", "dram.latency_cycles=200"], "memory latency"),
    "fifo": (GATE, "ideal", ["fifo_depth=4", "operators.exponential.interval_cycles=1",
                             "operators.exponential.latency_cycles=30"], "FIFO of one stream"),
    "loading": (LOADED, "rda", ["dram.outstanding=16"], "loading the scratchpad"),
    "phases": (PHASES, "ideal", [], "serial phases"),
    "start": (CHAIN, "ideal", ["units.alu.latency_cycles=30", "units.reduce.latency_cycles=30"],
              "steps that wait for each other"),
}
LEAST_KEPT = 0.5


class Wrong(Exception):
    pass


def run(words, folder, stdin=None):
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, input=stdin)
    if done.returncode != 0:
        raise Wrong(f"{' '.join(map(str, words))}: {done.stderr}")
    return done


def cycles_of(tools, program, machine, folder):
    rows = csv.DictReader(io.StringIO(run([tools / "fuseflow-sim", "-q", *machine], folder, program).stdout))
    return next(int(row["cycles"]) for row in rows if row["region"] == "y")


def tries_of(text):
    """(command, cycles said) of the verdict's third line."""
    return [(command, float(cycles)) for command, cycles in
            re.findall(r"`([^`]+)` \((?:about )?(\d+) cycles", text)]


def follow(tools, program, machine, command, folder):
    words = command.split()
    if words[0] == "--machine-set":
        return cycles_of(tools, program, [*machine, *words], folder)
    changed = run([tools / words[0], "-q", *words[1:]], folder, program).stdout
    return cycles_of(tools, changed, machine, folder)


def check(tools, name, folder):
    text, machine, settings, kind = CASES[name]
    machine = ["--machine", machine] + [word for setting in settings for word in ("--machine-set", setting)]
    before = cycles_of(tools, text, machine, folder)
    verdicts = [run([tools / "fuseflow-sim", "-v", "-j", threads, *machine], folder, text).stderr
                for threads in ("1", "2")]
    verdicts = ["".join(verdict.splitlines(keepends=True)[:3]) for verdict in verdicts]
    if verdicts[0] != verdicts[1]:
        raise Wrong(f"two threads say otherwise:\n{verdicts[0]}{verdicts[1]}")
    if f"limited by" not in verdicts[0] or kind not in verdicts[0]:
        raise Wrong(f"expected `{kind}`, found\n{verdicts[0]}")
    estimate = run([tools / "fuseflow-estimate", "-v", *machine], folder, text).stderr
    for tool, verdict in (("sim", verdicts[0]), ("estimate", estimate)):
        tries = tries_of(verdict)
        if not tries:
            raise Wrong(f"{tool}: nothing to try in\n{verdict}")
        first = float(re.search(r"@y: (\d+) cycles", verdict)[1])
        for command, said in tries:
            after = follow(tools, text, machine, command, folder)
            print(f"{name:12} {tool:9} {before:8} {command}: said {said:.0f} of {first:.0f}, is {after}")
            if before - after < LEAST_KEPT * (first - said) * before / first:
                raise Wrong(f"{tool}: `{command}`: {said:.0f} of {first:.0f} cycles were said, {before} became {after}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", type=pathlib.Path, required=True)
    parser.add_argument("cases", nargs="*")
    options = parser.parse_args()
    failed = 0
    for name in options.cases or CASES:
        with tempfile.TemporaryDirectory() as folder:
            try:
                check(options.tools.resolve(), name, folder)
            except Wrong as wrong:
                failed += 1
                print(f"FAILED {name}: {wrong}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
