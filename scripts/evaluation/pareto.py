#!/usr/bin/env python3
"""The Pareto front (cycles, energy) of a GCN over schedules and two sizes of `rda`.

    pareto.py --tools DIR [--data DIR] [--out DIR] [--threads N] [-- option of fuseflow-explore...]

Searches GCN with the objectives cycles and energy on `rda` and on a quarter of it: units, scratchpads, links, channels
and what the memory leaks. On Cora where DATA/graphs has it, else on the model `gcn_karate` of testdata. Writes
OUT/pareto_MACHINE_OBJECTIVE.csv (what each search found, ir-spec/csv.md "The Pareto list") and OUT/pareto.csv: the programs
that no other beats on either machine, with what makes them. Simulates, so the same command gives the same bytes.
"""
import argparse
import csv
import io
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)

import programs  # noqa: E402
from harness import Harness  # noqa: E402

SIZES = {"rda": 1, "quarter": 4}
# What there is less of on a smaller machine.
SCALED = re.compile(r"units\.\w+\.count|scratchpad\.(bytes|tiles|bytes_per_cycle|link_bytes_per_cycle)|dram\.channels"
                    r"|energy\.leakage_pj_per_cycle")
COLUMNS = ["model", "size", "objective", "area_mm2", "cycles", "energy_pj", "edp", "dram_bytes", "regions", "points"]


def model_of(h):
    """(name, path of a program of one region a kernel)."""
    if h.data and os.path.exists(os.path.join(h.data, "graphs", "cora.adj.mtx")):
        return "gcn_cora", h.save("pareto_gcn_cora", programs.gcn(h.graph("cora"))[0])
    models = os.path.join(ROOT, "testdata", "models")
    binds = [word for line in open(os.path.join(models, "gcn_karate", "case.txt"))
             if line.startswith("--bind") for word in line.split()]
    binds = [re.sub(r"=", "=" + models + "/", word) if "=" in word else word for word in binds]
    return "gcn_karate", h.save("pareto_gcn_karate",
                                h.run("import", os.path.join(models, "gcn_karate.onnx"), *binds))


def settings(h, divisor):
    """--machine-set words for a machine of 1/divisor of rda."""
    words, section = [], ""
    for line in h.run("sim", "--print-machine", "rda").splitlines():
        if line.startswith("["):
            section = line.strip("[]") + "."
            continue
        key, _, value = line.split("  # ")[0].partition(" = ")
        if divisor > 1 and SCALED.fullmatch(section + key) and float(value) > 0:
            number = float(value) / divisor
            text = f"{number:g}" if "." in value else str(int(number))
            words += ["--machine-set", f"{section}{key}={text}"]
    return words


def area_of(h, words):
    """Square millimetres of a machine: the area that its units and scratchpads have."""
    keys, section = {}, ""
    for line in h.run("sim", "--machine", "rda", *words, "--print-machine").splitlines():
        if line.startswith("["):
            section = line.strip("[]") + "."
            continue
        key, _, value = line.split("  # ")[0].partition(" = ")
        keys[section + key] = value
    area = float(keys["scratchpad.bytes"]) * float(keys["area.scratchpad_um2_per_byte"])
    for key, size in keys.items():
        if key.startswith("area.unit_um2."):
            area += float(size) * float(keys[f"units.{key.rsplit('.', 1)[1]}.count"])
    return area / 1e6


def explore(h, program, size, objective, options):
    words = settings(h, SIZES[size])
    path = os.path.join(h.out, f"pareto_{size}_{objective}.csv")
    command = [h.tool("explore") or "fuseflow-explore", "--machine", "rda", *words, "--no-tiles", "--objective", objective,
               "--pareto", path, "--threads", str(options.threads), "-o", os.path.join(h.work, f"pareto_{size}_{objective}.csv"),
               *options.more, program]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    h.log(f"{size}, {objective}: " + next(line for line in done.stderr.splitlines() if line.startswith("search")))
    with open(path) as file:
        return [{**row, "size": size, "objective": objective, "area_mm2": f"{area_of(h, words):.1f}"}
                for row in csv.DictReader(file)]


def front_of(found):
    """Those that no other beats; of equal ones the first."""
    kept = []
    for row in sorted(found, key=lambda r: (int(r["cycles"]), int(r["energy_pj"]))):
        if not kept or int(row["energy_pj"]) < int(kept[-1]["energy_pj"]):
            kept.append(row)
    return kept


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", required=True, help="directory of the built tools")
    parser.add_argument("--data", default="", help="directory with graphs/cora.adj.mtx, cora.x.mtx")
    parser.add_argument("--out", default="out")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("more", nargs="*", help="options of fuseflow-explore, such as --max-copies 8")
    options = parser.parse_args()
    h = Harness("fast", options.tools, options.data, options.out, 1)
    model, program = model_of(h)
    h.log(f"searching {model}")
    found = [row for size in SIZES for objective in ("cycles", "energy")
             for row in explore(h, program, size, objective, options)]
    text = io.StringIO()
    table = csv.DictWriter(text, COLUMNS, extrasaction="ignore", lineterminator="\n")
    table.writeheader()
    for row in front_of(found):
        table.writerow({**row, "model": model})
    with open(os.path.join(h.out, "pareto.csv"), "w") as file:
        file.write(text.getvalue())
    print(text.getvalue(), end="")


if __name__ == "__main__":
    main()
