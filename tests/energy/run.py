#!/usr/bin/env python3
"""Energy of the frozen graphs of tests/pinned, worked out a second time from the CSVs and the machine's prices.

`run.py --tools DIR [GRAPH...]`. For each graph and machine:
- the energy of all nodes, of memory, loading and leakage add up to energy_pj, of each region and of the program;
- each part of a node's energy is its counts times their prices (ir-spec/energy.md), and memory's is its bytes in bursts
  times theirs; leakage is cycles times its price and area;
- the actions of --actions times their prices are the program's energy;
- two threads and the naive executor print the same bytes.
"""
import argparse
import collections
import csv
import math
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
GRAPHS = ROOT / "tests" / "pinned" / "graphs"
SET = "--machine-set"
# Prices unlike each other, so that a count under another's price is noticed.
ODD = [word for setting in (
    "fifo_pj_per_word=1.7", "buffer_pj_per_byte=2.3", "scratchpad_pj_per_byte=3.1", "link_pj_per_byte=4.3",
    "dram_burst_pj=517", "leakage_pj_per_cycle=19", "leakage_pj_per_cycle_per_mm2=23", "step_pj.repeat=0.7",
    "step_pj.alu=0.9", "step_pj.root=1.1", "step_pj.reduce=1.3") for word in (SET, "energy." + setting)]
MACHINES = {"ideal": ["--machine", "ideal"], "odd": ["--machine", "rda", SET, "dram.model=none", *ODD],
            "rda": ["--machine", "rda"], "banked": ["--machine", "rda", SET, "dram.model=banked"]}
TILES = {"h100": ["--machine", "h100"]}
FREE_MEMORY = {"ideal", "odd"}  # the naive executor has no model of memory
PARTS = ["operator_pj", "step_pj", "fifo_pj", "buffer_pj", "scratchpad_pj", "link_pj", "register_pj"]
UNIT = {"intersect": "join", "intersect_words": "join", "unite": "join", "leftjoin": "join", "align": "join",
        "gallop": "locate",
        "map": "alu", "coordinate": "alu", "pad": "alu", "drop": "filter", "write_level": "write",
        "write_values": "write", "convert": "write", "parallelize": "split", "serialize": "split"}


class Wrong(Exception):
    pass


def expect(holds, text):
    if not holds:
        raise Wrong(text)


def close(a, b, parts=1):
    """Equal but for three decimals of each part, and for sums in another order."""
    return abs(a - b) <= 0.0005 * (parts + 1) + 1e-9 * max(abs(a), abs(b))


def run(tools, graph, words, folder):
    nodes, actions = folder / "nodes.csv", folder / "actions.yaml"
    done = subprocess.run([tools / "fuseflow-sim", graph.name, "--nodes", nodes, "--actions", actions, *words],
                          cwd=graph.parent, capture_output=True, text=True)
    expect(done.returncode == 0, done.stderr)
    return done.stdout, nodes.read_text(), actions.read_text()


def keys_of(tools, words):
    done = subprocess.run([tools / "fuseflow-sim", *words, "--print-machine"], capture_output=True, text=True, check=True)
    keys, section = collections.defaultdict(float), ""
    for line in done.stdout.splitlines():
        line = line.removeprefix("# ")
        if line.startswith("["):
            section = line.strip("[]") + "."
        elif " = " in line:
            key, value = line.split("  # ")[0].split(" = ", 1)
            try:
                keys[section + key] = float(value)
            except ValueError:
                keys[section + key] = value
    return keys



def check_node(row, keys, blocks, tiles, on_chip):
    """What follows from the columns of one node of a graph of streams without blocks."""
    name = f"node {row['node']} ({row['kind']})"
    total = sum(float(row[part]) for part in PARTS)
    expect(close(float(row["energy_pj"]), total, len(PARTS)), f"{name}: the parts are {total}, not {row['energy_pj']}")
    if tiles or blocks:
        return
    words, flops = float(row["tokens_in"]), float(row["flops"])
    step = keys["energy.step_pj." + UNIT.get(row["kind"], row["kind"])] * float(row["steps"])
    held = 0.0
    if row["kind"] == "buffer":
        held = 8 * words
    if row["kind"] == "accumulate":
        held = 8 * flops + 4 * float(row["tokens_out"])
    bytes_on_chip = float(row["read_bytes"]) + float(row["write_bytes"]) if row["tensor"].split(".")[0] in on_chip else 0
    share = (keys["scratchpad.tiles"] - 1) / keys["scratchpad.tiles"]
    wanted = {"step_pj": step, "fifo_pj": keys["energy.fifo_pj_per_word"] * words,
              "buffer_pj": keys["energy.buffer_pj_per_byte"] * held,
              "scratchpad_pj": keys["energy.scratchpad_pj_per_byte"] * bytes_on_chip,
              "link_pj": keys["energy.link_pj_per_byte"] * bytes_on_chip * share, "register_pj": 0}
    if row["kind"] == "convert":  # the bytes of its counters are in the region's row alone
        wanted = {part: value for part, value in wanted.items() if part not in ("scratchpad_pj", "link_pj")}
    for part, value in wanted.items():
        expect(close(float(row[part]), value), f"{name}: {part} is {row[part]}, its counts give {value}")
    simple = {"add": "add_32", "sub": "add_32", "mul": "mul_32", "relu": "compare_32", "sum": "add_32", "max": "compare_32"}
    if row["function"] in simple:
        value = flops * keys["energy.operator_pj." + simple[row["function"]]]
        expect(close(float(row["operator_pj"]), value), f"{name}: operators are {row['operator_pj']}, FLOPs give {value}")
    expect(flops > 0 or float(row["operator_pj"]) == 0, f"{name}: operators without FLOPs")


def check_region(row, nodes, keys, machine):
    name = f"region @{row['region']}"
    number = {key: float(row[key]) for key in ("energy_pj", "memory_pj", "loading_pj", "leakage_pj", "edp", "seconds")}
    total = sum(float(n["energy_pj"]) for n in nodes) + number["memory_pj"] + number["loading_pj"] + number["leakage_pj"]
    expect(close(number["energy_pj"], total, len(nodes) + 3), f"{name}: parts add up to {total}, not {row['energy_pj']}")
    delay = number["energy_pj"] * 1e-12 * number["seconds"]
    expect(math.isclose(number["edp"], delay, rel_tol=2e-5, abs_tol=1e-30), f"{name}: edp is {row['edp']}, not {delay}")
    if machine in ("ideal", "odd", "h100"):
        moved = int(row["dram_read_bytes"]) + int(row["dram_write_bytes"])
        bursts = math.ceil(moved / keys["dram.burst_bytes"])
        each = keys["energy.dram_burst_pj"] + keys["energy.dram_activations_per_burst"] * keys["energy.dram_activation_pj"]
        expect(close(number["memory_pj"], bursts * each), f"{name}: memory is {row['memory_pj']}, bytes give {bursts * each}")


def check_program(regions, nodes, keys, machine, actions):
    total = {key: float(regions[-1][key]) for key in ("energy_pj", "memory_pj", "loading_pj", "leakage_pj")}
    for key in ("memory_pj", "loading_pj"):
        parts = sum(float(row[key]) for row in regions[:-1])
        expect(close(total[key], parts, len(regions)), f"total: {key} is {total[key]}, regions give {parts}")
    spent = sum(float(n["energy_pj"]) for n in nodes) + sum(total[k] for k in ("memory_pj", "loading_pj", "leakage_pj"))
    expect(close(total["energy_pj"], spent, len(nodes) + 3), f"total: {spent} spent, {total['energy_pj']} printed")
    area = keys["scratchpad.bytes"] * keys["area.scratchpad_um2_per_byte"] + keys["core.count"] * keys["area.core_um2"]
    for key in list(keys):
        if key.startswith("area.unit_um2."):
            area += keys[key] * keys["units." + key.rsplit(".", 1)[1] + ".count"]
    leak = keys["energy.leakage_pj_per_cycle"] + keys["energy.leakage_pj_per_cycle_per_mm2"] * area / 1e6
    bounded = keys["scratchpad.bytes"] > 0 or machine == "h100"
    wanted = leak * float(regions[-1]["cycles"])
    if bounded or keys["energy.leakage_pj_per_cycle_per_mm2"] == 0:
        # `root` has no limit on rda: what regions take of it is not in this area, 11 um2 each.
        expect(abs(total["leakage_pj"] - wanted) <= 1e-6 * wanted + 0.001, f"total: leakage is {total['leakage_pj']}, not {wanted}")
    priced, component = 0.0, ""
    named = {"fifo.word": "fifo_pj_per_word", "buffer_memory.byte": "buffer_pj_per_byte",
             "scratchpad.read_byte": "scratchpad_pj_per_byte", "scratchpad.write_byte": "scratchpad_pj_per_byte",
             "link.byte": "link_pj_per_byte", "registers.byte": "register_pj_per_byte", "dram.burst": "dram_burst_pj",
             "dram.activation": "dram_activation_pj"}
    slack, seen = 0.0, set()
    for line in actions.splitlines():
        if match := re.fullmatch(r"    - name: fuseflow\.(\w+)", line):
            component = match[1]
            expect(component not in seen, f"the component {component} occurs twice")
            seen.add(component)
        elif match := re.fullmatch(r"        - name: (\w+)", line):
            action = match[1]
        elif match := re.fullmatch(r"          counts: (\d+)", line):
            count = int(match[1])
            if component == "machine":
                expect(count == int(regions[-1]["cycles"]), "leaks are not the cycles")
                continue
            key = ("operator_pj." + action if component == "operators" else
                   "step_pj." + component if action == "step" else named[f"{component}.{action}"])
            priced += count * keys["energy." + key]
            slack += 0.5 * keys["energy." + key] if f"{component}.{action}" in ("link.byte", "dram.activation") else 0
    dynamic = total["energy_pj"] - total["leakage_pj"]
    expect(abs(priced - dynamic) <= slack + 0.001 + 1e-9 * dynamic, f"actions cost {priced}, not {dynamic}")


def check(tools, graph, machine, words):
    text = graph.read_text()
    keys = keys_of(tools, words)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        first = run(tools, graph, words, folder)
        for execution in [["--threads", "2"]] + ([["--executor", "naive"]] if machine in FREE_MEMORY else []):
            expect(run(tools, graph, [*words, *execution], folder) == first, f"{' '.join(execution)} gives other bytes")
    regions, nodes = list(csv.DictReader(first[0].splitlines())), list(csv.DictReader(first[1].splitlines()))
    for row in regions[:-1]:
        mine = [n for n in nodes if n["region"] == row["region"]]
        check_region(row, mine, keys, machine)
    # Per region: `scratchpad %a, %b` in its graph.
    bodies = dict(re.findall(r"^region @\"?([^\"{\n]*?)\"? *\{?\n(.*?)^\}", text, re.M | re.S))
    for n in nodes:
        body = bodies.get(n["region"].strip(), text)
        on_chip = set(re.findall(r"%\"?([\w./]+)\"?", " ".join(re.findall(r"^ *scratchpad (.*)$", body, re.M))))
        check_node(n, keys, "block" in text, "tiles [" in text, on_chip)
    check_program(regions, nodes, keys, machine, first[2])
    return len(nodes)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", required=True, type=pathlib.Path)
    parser.add_argument("graphs", nargs="*")
    options = parser.parse_args()
    failures, cases, seen = 0, 0, 0
    for graph in sorted(GRAPHS.glob("*.ff")):
        if options.graphs and graph.stem not in options.graphs:
            continue
        for machine, words in (TILES if "tiles [" in graph.read_text() else MACHINES).items():
            try:
                seen += check(options.tools.resolve(), graph, machine, words)
                cases += 1
            except Wrong as wrong:
                failures += 1
                print(f"FAILED {graph.stem} on {machine}: {wrong}")
    print(f"{cases} runs, {seen} nodes, {failures} failures")
    return 1 if failures or cases == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
