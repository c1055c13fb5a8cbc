#!/usr/bin/env python3
"""What the planner plans can be built: every kernel of tiles that it makes is generated as it is planned, or refused for
what is not generated yet; none is refused, or changed, because of what the chip has.

The chains are those of the workloads and others whose extents are odd, small or no multiples of 8.
"""

import argparse
import csv
import pathlib
import re
import subprocess
import sys
import tempfile

WORKLOADS = [f"--workload {letter}{i}" for letter, count in (("G", 10), ("C", 8), ("S", 8)) for i in range(1, count + 1)]
ODD = [
    "--gemm-chain 1,64,48,32", "--gemm-chain 1,1,1,1", "--gemm-chain 7,33,65,17,relu", "--gemm-chain 20,100,60,12,gelu",
    "--gemm-chain 129,257,31,63,tanh", "--gemm-chain 1,1000,300,200,silu", "--gemm-chain 100,130,1000,10,relu",
    "--gated-ffn 1,96,64", "--gated-ffn 5,77,33", "--gated-ffn 50,200,96", "--conv-chain 3,9,9,5,3,1",
    "--conv-chain 16,12,12,20,3,1",
]
# In elements of one byte, too, whose products sum 32 at a time.
BYTES = ["--gemm-chain 64,256,128,96,relu", "--gemm-chain 16,48,16,16", "--gemm-chain 7,33,65,17,relu", "--gated-ffn 50,200,96"]
NOT_YET = ["not generated", "products are generated for f16", "kernels are generated for dense tensors"]
EFFORT = "20000"


def run(command, text=None, statuses=(0,)):
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode not in statuses:
        sys.exit(f"{' '.join(map(str, command))}: status {done.returncode}\n{done.stderr}")
    return done.stdout


def kernels(tools, chain, strategy, folder, element="f16"):
    program = run([tools / "fuseflow-cluster", *chain.split(), "--program", "-q"]).replace("f16", element)
    planned = run([tools / "fuseflow-cluster", *strategy, "--effort", EFFORT, "-q"], program)
    run([tools / "fuseflow-cuda", "-d", folder, "-q"], planned, (0, 1, 4))  # all, none, some have kernels
    with open(folder / "plan.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", required=True, type=pathlib.Path)
    parser.add_argument("--workloads", action="store_true", help="those alone")
    options = parser.parse_args()
    wrong, built = [], 0
    # As one kernel, however slow, and (of few) as kernels apart.
    plans = [(chain, ["--accept-slower"], "f16") for chain in (WORKLOADS if options.workloads else ODD)]
    if not options.workloads:
        plans += [(chain, ["--strategy=none"], "f16") for chain in ODD]
        plans += [(chain, [strategy], "f8e4m3") for chain in BYTES for strategy in ("--accept-slower", "--strategy=none")]
    for chain, strategy, element in plans:
        with tempfile.TemporaryDirectory() as folder:
            for row in kernels(options.tools, chain, strategy, pathlib.Path(folder), element):
                built += not row["refused"]
                if row["refused"] and not any(reason in row["refused"] for reason in NOT_YET):
                    wrong.append(f"{chain}: {row['kernel']} is refused: {row['refused']}")
                if re.search(r"\d copies for \d", row["fitted"]):
                    wrong.append(f"{chain}: {row['kernel']} is not built as planned: {row['fitted']}")
    if built < 10:
        wrong.append(f"{built} kernels were built, expected more")
    print("\n".join(wrong) or f"{built} kernels as planned")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
