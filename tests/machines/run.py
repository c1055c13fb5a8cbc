#!/usr/bin/env python3
"""A machine with more of something is never slower, and neither is a choice among more: fuse chooses on a machine, on
larger ones, and without some of its moves.

`run.py --tools DIR [--jobs N] [--verbose] [--all] [PROGRAM.ff...]` (without programs: those below). Each is fused on
each base machine, and on machines that differ from it in one constant, which is better there: more memory on chip, more
units, longer FIFOs, more bandwidth. Simulated, what fuse chooses for a larger machine may take at most 2% more cycles
than what it chooses for the base, and what it chooses with all moves may take at most 2% more than without some.
"""
import argparse
import concurrent.futures
import pathlib
import subprocess
import sys
import tempfile

MOST = 1.02
HEAD = 'fuseflow 1\nprogram "p"\n'
PROGRAMS = {
    "gat": HEAD + """input %a: f32[90, 90] dense,compressed = uniform(density=0.1,values=ones,seed=1)
input %x: f32[90, 60] dense,compressed = uniform(density=0.2,values=ones,seed=2)
const %w: f32[60, 8] dense,dense = uniform(density=1,seed=3)
const %u: f32[8] dense = uniform(density=1,seed=4)
const %v: f32[8] dense = uniform(density=1,seed=5)
temp %h: f32[90, 8] dense,dense
temp %d: f32[90] dense
temp %s: f32[90] dense
temp %e: f32[90, 90] dense,compressed fill(-inf)
temp %m: f32[90] dense assume(finite)
temp %p: f32[90, 90] dense,compressed
temp %q: f32[90] dense assume(finite, nonzero)
result %y: f32[90, 8] dense,dense
region @h { %h[i, j] = sum(k) %x[i, k] * %w[k, j] }
region @d { %d[i] = sum(j) %h[i, j] * %u[j] }
region @s { %s[i] = sum(j) %h[i, j] * %v[j] }
region @e { %e[i, j] = where(%a[i, j] > 0, leaky_relu(%d[i] + %s[j], 0.2), -inf) }
region @m { %m[i] = max(j) %e[i, j] }
region @p { %p[i, j] = exp(%e[i, j] - %m[i]) }
region @q { %q[i] = sum(j) %p[i, j] }
region @y { %y[i, j] = sum(k) %p[i, k] / %q[i] * %h[k, j] }
""",
    "gcn": HEAD + """input %a: f32[120, 120] dense,compressed = uniform(density=0.04,seed=1)
input %x: f32[120, 80] dense,compressed = uniform(density=0.1,seed=2)
const %v: f32[80, 16] dense,dense = uniform(density=1,seed=3)
const %w: f32[16, 8] dense,dense = uniform(density=1,seed=4)
temp %b: f32[120, 16] dense,dense
temp %c: f32[120, 16] dense,dense
temp %d: f32[120, 8] dense,dense
result %y: f32[120, 8] dense,dense
region @b { %b[i, j] = sum(k) %x[i, k] * %v[k, j] }
region @c { %c[i, j] = relu(sum(k) %a[i, k] * %b[k, j]) }
region @d { %d[i, j] = sum(k) %c[i, k] * %w[k, j] }
region @y { %y[i, j] = sum(k) %a[i, k] * %d[k, j] }
""",
    "mttkrp": HEAD + """input %t: f32[20, 25, 30] compressed,compressed,compressed = uniform(density=0.04,seed=1)
input %b: f32[25, 8] dense,dense = uniform(density=1,seed=2)
input %c: f32[30, 8] dense,dense = uniform(density=1,seed=3)
temp %u: f32[20, 25, 8] dense,compressed,dense
result %m: f32[20, 8] dense,dense
result %n: f32[20, 8] dense,dense
region @m { %m[i, r] = sum(j, k) %t[i, j, k] * %b[j, r] * %c[k, r] }
region @u { %u[i, j, r] = sum(k) %t[i, j, k] * %c[k, r] }
region @n { %n[i, r] = sum(j) %u[i, j, r] * %b[j, r] }
""",
    "mlp": HEAD + """input %x: f32[48, 40] dense,dense = uniform(density=1,seed=1)
const %v: f32[40, 64] dense,dense = uniform(density=1,seed=2)
const %w: f32[64, 24] dense,dense = uniform(density=1,seed=3)
temp %h: f32[48, 64] dense,dense
temp %o: f32[48, 24] dense,dense
temp %m: f32[48] dense assume(finite)
result %y: f32[48, 24] dense,dense
region @h { %h[i, j] = relu(sum(k) %x[i, k] * %v[k, j]) }
region @o { %o[i, j] = sum(k) %h[i, k] * %w[k, j] }
region @m { %m[i] = max(j) %o[i, j] }
region @y { %y[i, j] = exp(%o[i, j] - %m[i]) }
""",
}
GRAPH = """input %a: f32[2708, 2708] dense,compressed = uniform(density=0.00144,values=ones,seed=1)
input %x: f32[2708, 1433] dense,compressed = uniform(density=0.01268,values=ones,seed=2)
temp %g: bool[2708, 2708] dense,compressed
temp %z: f32[2708, 16] dense,dense
region @g { %g[i, j] = %a[i, j] > 0 }
region @z { %z[i, j] = elu(%y1[i, j], 1) }
"""
LAYER = """const %w{n}: f32[{k}, {j}] dense,dense = uniform(density=1,seed=3)
const %u{n}: f32[{j}] dense = uniform(density=1,seed=4)
const %v{n}: f32[{j}] dense = uniform(density=1,seed=5)
temp %h{n}: f32[2708, {j}] dense,dense assume(finite)
temp %d{n}: f32[2708] dense
temp %s{n}: f32[2708] dense
temp %b{n}: f32[2708, 2708] dense,dense
temp %c{n}: f32[2708, 2708] dense,dense
temp %e{n}: f32[2708, 2708] dense,compressed fill(-inf)
temp %m{n}: f32[2708] dense assume(finite)
temp %p{n}: f32[2708, 2708] dense,compressed
temp %q{n}: f32[2708] dense assume(finite, nonzero)
temp %r{n}: f32[2708, 2708] dense,compressed
{kind} %y{n}: f32[2708, {j}] dense,dense
region @h{n} {{ %h{n}[i, j] = sum(k) %{x}[i, k] * %w{n}[k, j] }}
region @d{n} {{ %d{n}[i] = sum(j) %h{n}[i, j] * %u{n}[j] }}
region @s{n} {{ %s{n}[i] = sum(j) %h{n}[i, j] * %v{n}[j] }}
region @e{n} {{ %b{n}[i, j] = %d{n}[i] + %s{n}[j]; %c{n}[i, j] = leaky_relu(%b{n}[i, j], 0.2); %e{n}[i, j] = where(%g[i, j], %c{n}[i, j], -inf) }}
region @r{n} {{ %m{n}[i] = max(j) %e{n}[i, j]; %p{n}[i, j] = exp(%e{n}[i, j] - %m{n}[i]); %q{n}[i] = sum(j) %p{n}[i, j]; %r{n}[i, j] = %p{n}[i, j] / %q{n}[i] }}
region @y{n} {{ %y{n}[i, j] = sum(k) %r{n}[i, k] * %h{n}[k, j] }}
"""


def gat_layers():
    """Two layers of attention on a graph, in 14 regions; declarations come before regions, and these in order."""
    lines = [line.replace("; ", "\n") for text in (GRAPH, LAYER.format(n=1, k=1433, j=16, x="x", kind="temp"),
             LAYER.format(n=2, k=16, j=7, x="z", kind="result")) for line in text.splitlines()]
    order = ["@h1", "@d1", "@s1", "@g ", "@e1", "@r1", "@y1", "@z "]
    place = {line: next((i for i, name in enumerate(order, 1) if name in line), len(order) + 1) if line.startswith("region") else 0
             for line in lines}
    return HEAD + "\n".join(sorted(lines, key=place.get)) + "\n"


PROGRAMS["gat_layers"] = gat_layers()
EDGE = """name = "edge"
clock_gigahertz = 0.5
fifo_depth = 16
[units.alu]
latency_cycles = 3
count = 16
[units.scan]
latency_cycles = 2
count = 32
[units.array]
latency_cycles = 2
count = 32
[units.accumulate]
count = 8
[units.reduce]
count = 8
[scratchpad]
bytes = 8192
bytes_per_cycle = 16
[dram]
preset = "lpddr5"
model = "banked"
"""
# Still slower: for --all. Each is another optimum that the search ends in, or an estimate that is off.
SLOWER = {("mlp", "edge", "outstanding 256")}
REFUSED, NO_ROOM = 1, ", machine "  # status, and what a refusal for want of room says: "needs N units, machine M has K"
FEWER_MOVES = {"no kernels for cores": ["--no-tiles"], "no copies": ["--max-copies", "1"]}
COUNTED = ["alu", "scan", "array", "accumulate", "reduce"]
# The effort of a search does not suffice for all regions of this one: it has a base of its own, which no other has.
ONLY = {"gat_layers": "large edge"}
# The base machine's settings, and what is better, by name: settings that replace some of it.
BASES = {
    "edge": ("edge.toml", [], {
        "scratchpad 16 KiB": ["scratchpad.bytes=16384"],
        "scratchpad 64 KiB": ["scratchpad.bytes=65536"],
        "scratchpad without limit": ["scratchpad.bytes=0"],
        "fifo_depth 64": ["fifo_depth=64"],
        "units twice": [f"units.{u}.count={2 * c}" for u, c in zip(COUNTED, (16, 32, 32, 8, 8))],
        "outstanding 256": ["dram.outstanding=256"],
        "scratchpad bandwidth": ["scratchpad.bytes_per_cycle=64"],
    }),
    "large edge": ("edge.toml", ["scratchpad.bytes=524288", "scratchpad.bytes_per_cycle=64"], {
        "scratchpad 1 MiB": ["scratchpad.bytes=1048576"],
    }),
    "rda": ("rda", ["fifo_depth=32", "scratchpad.bytes=32768"], {
        "scratchpad 128 KiB": ["scratchpad.bytes=131072"],
        "scratchpad without limit": ["scratchpad.bytes=0"],
        "fifo_depth 128": ["fifo_depth=128"],
        "alu 1024": ["units.alu.count=1024", "units.array.count=512"],
        "channels 32": ["dram.channels=32"],
    }),
}


def is_base_of(base, program):
    return base == ONLY[program] if program in ONLY else base not in ONLY.values()


def cycles(tools, program, machine, settings, moves=()):
    """What fuse's choice takes as simulated; None where the machine has no room for it. Nothing else may go wrong."""
    options = ["--machine", machine]
    for setting in settings:
        options += ["--machine-set", setting]
    fused = subprocess.run([tools / "fuseflow-fuse", program, *options, *moves], capture_output=True)
    run = subprocess.run([tools / "fuseflow-sim", "-q", *options], input=fused.stdout, capture_output=True)
    if fused.returncode != 0:
        raise SystemExit(f"fuseflow-fuse {program.stem}: status {fused.returncode}\n{fused.stderr.decode()}")
    if run.returncode == REFUSED and NO_ROOM in run.stderr.decode():
        return None
    if run.returncode != 0:
        raise SystemExit(f"fuseflow-sim {program.stem}: status {run.returncode}\n{run.stderr.decode()}")
    rows = [line.split(",") for line in run.stdout.decode().splitlines()]
    return int(rows[-1][rows[0].index("cycles")])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tools", type=pathlib.Path, required=True)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--all", action="store_true", help="also what is known to be slower")
    parser.add_argument("programs", nargs="*", type=pathlib.Path)
    args = parser.parse_args()
    tools = args.tools.resolve()
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        machine = pathlib.Path(folder) / "edge.toml"
        machine.write_text(EDGE)
        programs = args.programs
        if not programs:
            programs = [pathlib.Path(folder) / f"{name}.ff" for name in PROGRAMS]
            for path in programs:
                path.write_text(PROGRAMS[path.stem])
        runs = {}
        fewer = {}
        for path in programs:
            for base, (preset, settings, better) in BASES.items():
                if not args.programs and not is_base_of(base, path.stem):
                    continue
                preset = machine if preset.endswith(".toml") else preset
                for what, more in {"": [], **better}.items():
                    if not args.all and (path.stem, base, what) in SLOWER:
                        continue
                    changed = {setting.split("=")[0] for setting in more}
                    kept = [setting for setting in settings if setting.split("=")[0] not in changed]
                    runs[path, base, what] = pool.submit(cycles, tools, path, preset, kept + more)
                for what, moves in FEWER_MOVES.items():
                    fewer[path, base, what] = pool.submit(cycles, tools, path, preset, settings, moves)
        failed = 0
        for (path, base, what), run in fewer.items():
            with_all, with_fewer = runs[path, base, ""].result(), run.result()
            if with_fewer is None or (with_all is not None and with_all <= MOST * with_fewer):
                continue
            failed += 1
            print(f"{path.stem} on {base}: {with_all} cycles, {with_fewer} with {what}")
        for (path, base, what), run in runs.items():
            before, after = runs[path, base, ""].result(), run.result()
            if before is None:
                continue
            if after is None:
                failed += 1
                print(f"{path.stem} on {base}, {what}: does not run, {before} cycles with less")
                continue
            slower = after > MOST * before
            failed += slower
            if slower or args.verbose:
                print(f"{path.stem} on {base}, {what or 'as it is'}: {after} cycles, {before} with less "
                      f"({after / before:.3f})")
    print(f"machines: {len(runs) + len(fewer)} programs fused, {failed} slower with more")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
