#!/usr/bin/env python3
"""The memory model `banked` beside Ramulator 2: the same traces through both, open loop, with the same
timings. `dram.py --tools DIR --ramulator DIR [--out DIR] [--accesses N] [MEMORY...]` prints a table
(Markdown) and keeps traces, configurations and dram.csv in --out. How to get and build Ramulator:
scripts/README.md, "DRAM"."""
import argparse
import csv
import json
import os
import random
import subprocess
import sys
import tomllib

HERE = os.path.dirname(os.path.abspath(__file__))

# For each memory: the preset that it is made of, changes of it, its clock, what it is in Ramulator. HBM3 has
# no preset of ours: Ramulator's HBM3_6400Mbps, one timing for both directions and all groups as we have it.
CLOCK = 625  # picoseconds
MEMORIES = {
    "hbm2": {"preset": "hbm2e", "clock": CLOCK, "ranks": 1},
    "hbm3": {"preset": "hbm2e", "clock": CLOCK, "ranks": 2, "ticks": 2, "set": {
        "timing.read_latency_ps": 20 * CLOCK, "timing.write_latency_ps": 10 * CLOCK,
        "timing.row_to_column_ps": 31 * CLOCK, "timing.precharge_ps": 26 * CLOCK,
        "timing.row_active_ps": 45 * CLOCK, "timing.read_to_precharge_ps": 9 * CLOCK,
        "timing.write_recovery_ps": 33 * CLOCK, "timing.write_to_read_ps": 10 * CLOCK,
        "timing.activate_to_activate_ps": 5 * CLOCK, "timing.four_activations_ps": 24 * CLOCK,
        "timing.refresh_ps": 320 * CLOCK}},
    "ddr4": {"preset": "ddr4", "clock": CLOCK, "ranks": 1},
    "lpddr5": {"preset": "lpddr5", "clock": 2 * CLOCK, "ranks": 1},
}


def run(*command, text=None):
    done = subprocess.run([str(word) for word in command], input=text, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stderr}")
    return done.stdout


class Memory:
    """One memory in both simulators, its timings in whole clocks."""

    def __init__(self, name, tools, out):
        self.name, self.tools, self.out = name, tools, out
        said = MEMORIES[name]
        self.clock, self.ranks, self.ticks = said["clock"], said["ranks"], said.get("ticks", 1)
        settings = [f"dram.preset={said['preset']}"]
        settings += [f"dram.{key}={value}" for key, value in said.get("set", {}).items()]
        self.settings = [word for s in settings for word in ("--machine-set", s)]
        text = run(f"{tools}/fuseflow-sim", "--print-machine", "rda", *self.settings)
        self.dram = tomllib.loads(text)["dram"]
        timing = self.dram["timing"]
        self.n = {key[:-3]: -(-timing[key] // self.clock) for key in timing}  # clocks, rounded up
        self.peak = self.dram["channels"] * self.dram["burst_bytes"] / self.n["burst"]  # bytes a clock

    def machine(self, refresh):
        """Ours, as a file: clocks are Ramulator's, nothing between the port and the queue but a cycle."""
        dram = dict(self.dram, latency_cycles=1)
        timing = {key + "_ps": value * self.clock for key, value in self.n.items()}
        if not refresh:  # a picosecond in a millisecond
            timing.update(refresh_interval_ps=1_000_000_000, refresh_ps=1)
        dram["timing"] = timing
        path = f"{self.out}/{self.name}{'' if refresh else '_no_refresh'}.toml"
        with open(path, "w") as file:
            file.write(f"clock_gigahertz = {1000 / self.clock}\n[dram]\n")
            for key, value in dram.items():
                if key != "timing":
                    file.write(f"{key} = {json.dumps(value)}\n")
            file.write("[dram.timing]\n" + "".join(f"{k} = {v}\n" for k, v in timing.items()))
        return path

    def ours(self, trace, refresh):
        text = run(f"{self.tools}/fuseflow-dram", trace, "--machine", self.machine(refresh))
        row = next(csv.DictReader(text.splitlines()))
        return int(row["cycles"]), float(row["mean_latency_cycles"])

    def standard(self, ramulator):
        """The device with our timings and the controller that Ramulator has for it."""
        n, dram = self.n, self.dram
        banks = dram["bank_groups"] * dram["banks_per_group"]
        same = {"nCL": n["read_latency"], "nCWL": n["write_latency"], "nRP": n["precharge"],
                "nRAS": n["row_active"], "nRC": n["row_active"] + n["precharge"],
                "nWR": n["write_recovery"], "nCCDS": n["burst"], "nCCDL": n["same_group"],
                "nRRDS": n["activate_to_activate"], "nRRDL": n["activate_to_activate"],
                "nWTRS": n["write_to_read"], "nWTRL": n["write_to_read"],
                "nFAW": n["four_activations"], "nREFI": n["refresh_interval"], "tCK_ps": self.clock,
                "bankgroup": dram["bank_groups"], "bank": dram["banks_per_group"]}
        hbm = dict(same, nBL=n["burst"], nRCDRD=n["row_to_column"], nRCDWR=n["row_to_column"],
                   nRFCpb=n["refresh"], nREFIpb=n["refresh_interval"] // banks, pseudochannel=1)
        if self.name == "hbm2":
            made = ramulator.dram.HBM2(org_preset="HBM2_8Gb", timing_preset="HBM2_2000Mbps",
                                       nRTPL=n["read_to_precharge"], **hbm)
            return made, ramulator.controller.HBM12, "PerBank"
        if self.name == "hbm3":
            made = ramulator.dram.HBM3(org_preset="HBM3_4Gb", timing_preset="HBM3_6400Mbps",
                                       nRTP=n["read_to_precharge"], **hbm)
            return made, ramulator.controller.HBM34, "HBM34PerBankRefresh"
        if self.name == "ddr4":
            made = ramulator.dram.DDR4(org_preset="DDR4_8Gb_x8", timing_preset="DDR4_3200AA",
                                       nBL=n["burst"], nRCD=n["row_to_column"], nRFC=n["refresh"],
                                       nRTP=n["read_to_precharge"], **same)
            return made, ramulator.controller.GenericDDR, "AllBank"
        made = ramulator.dram.LPDDR5(org_preset="LPDDR5_8Gb_x16", timing_preset="LPDDR5_6400",
                                     nBL_min=n["burst"], nBL_max=n["same_group"],
                                     nRCD=n["row_to_column"], nRPab=n["precharge"],
                                     nCCDS_WR=n["burst"], nCCDL_WR=n["same_group"],
                                     nRFCpb=n["refresh"], nREFIpb=n["refresh_interval"] // banks,
                                     nRTP=n["read_to_precharge"], **same)
        return made, ramulator.controller.LPDDR5, "PerBank"

    def configuration(self, ramulator, refresh):
        dram, controller, manager = self.standard(ramulator)
        managers = ramulator.refresh_manager
        more = {"wck_sync_mode": "always_on"} if self.name == "lpddr5" else {}
        one = controller(
            dram=dram, scheduler=ramulator.scheduler.FRFCFSRowHit(),
            refresh_manager=getattr(managers, manager)() if refresh else managers.NoRefresh(),
            row_policy=ramulator.row_policy.Open(),
            addr_mapper=ramulator.addr_mapper.PassThroughAddrMapper(),
            read_buffer_size=self.dram["queue_depth"], write_buffer_size=self.dram["queue_depth"],
            **more)
        system = ramulator.memory_system.GenericDRAM(
            clock_ratio=1, controllers=[one] * self.dram["channels"],
            channel_mapper=ramulator.channel_mapper.PassThroughChannelMapper())
        path = f"{self.out}/{self.name}{'' if refresh else '_no_refresh'}.yaml"
        with open(path, "w") as file:  # JSON is YAML
            json.dump({"frontend": ramulator.frontend.External(clock_ratio=1).to_config(),
                       "memory_system": system.to_config()}, file)
        return path

    def theirs(self, ramulator, program, trace, refresh):
        d = self.dram
        line = run(program, self.configuration(ramulator, refresh), trace, d["channels"],
                   d["burst_bytes"], d["interleave_bytes"], d["bank_groups"], d["banks_per_group"],
                   d["row_bytes"], self.ranks, self.ticks,
                   (self.n["write_latency"] + self.n["burst"]) * self.ticks)
        cycles, latency = line.split()
        return int(cycles), float(latency)


def sparse(name, seed, n=1024):
    return (f"input %{name}: f32[{n},{n}] dense,compressed facts(finite) = "
            f"uniform(density=0.01,values=uniform(0,1),seed={seed})\n")


# Programs whose accesses are recorded.
KERNELS = {
    "spmm": "fuseflow 1\n" + sparse("a", 1) + """
input %x: f32[1024,32] dense,dense facts(finite) = dense(values=uniform(0,1),seed=2)
result %y: f32[1024,32] dense,dense
region @y {
  %y[i,j] = sum(k) %a[i,k] * %x[k,j]
}
""",
    "spmspm": "fuseflow 1\n" + sparse("a", 3) + sparse("b", 4) + """
result %y: f32[1024,1024] dense,compressed
region @y {
  %y[i,j] = sum(k) %a[i,k] * %b[k,j]
}
""",
}


def recorded(memory, name, text):
    """What the kernel asks memory for on `rda` with this memory."""
    path = f"{memory.out}/{memory.name}_{name}.trace"
    run(f"{memory.tools}/fuseflow-sim", "-o", os.devnull, "--machine", "rda", *memory.settings,
        "--dram-trace", path, text=text)
    with open(path) as file:
        lines = [line.split() for line in file if not line.startswith("#")]
    return [(int(cycle), kind, int(address, 16)) for cycle, kind, address in lines]


def generated(memory, accesses):
    """Name to addresses: bursts, asked for as fast as the bus could bring them."""
    burst, draw = memory.dram["burst_bytes"], random.Random(1)
    row = memory.dram["row_bytes"] * memory.dram["channels"]
    near, far = 5 * burst, row + burst
    return {
        "stream": [burst * i for i in range(accesses)],
        f"stride {near} B": [near * i for i in range(accesses)],
        f"stride {far} B": [far * i for i in range(accesses)],
        "random": [burst * draw.randrange((1 << 30) // burst) for _ in range(accesses)],
    }


def packed(trace, step):
    """The accesses of a trace, no further apart than the bus could bring them."""
    factor = min(1, step * len(trace) / max(1, trace[-1][0] - trace[0][0]))
    return [(int((cycle - trace[0][0]) * factor), kind, address) for cycle, kind, address in trace]


def traces(memory, accesses):
    """(name, kind, trace) of all that is compared: read-only, write-only, mixed."""
    step = memory.dram["burst_bytes"] / memory.peak  # clocks
    for name, addresses in generated(memory, accesses).items():
        for kind, letter in (("reads", "R"), ("writes", "W"), ("mixed", "RRW")):
            yield name, kind, [(int(i * step), letter[i % len(letter)], address)
                               for i, address in enumerate(addresses)]
    for name, text in KERNELS.items():
        trace = recorded(memory, name, text)
        for kind, letters in (("reads", "R"), ("writes", "W"), ("mixed", "RW")):
            some = [access for access in trace if access[1] in letters]
            yield name, kind, some
            yield name + ", packed", kind, packed(some, step)


def table(lines):
    """Markdown: cycles and their ratio where only scheduling differs, ratios of the other runs."""
    found = {(m, t, k, r): (ours, theirs) for m, t, k, r, _, ours, theirs, *_ in lines}

    def ratio(*key):
        return f"{found[key][0] / found[key][1]:.2f}"

    text = ("| memory | trace | reads | Ramulator | ratio | writes | Ramulator | ratio | mixed | "
            "reads, refreshed | writes, refreshed | mixed, refreshed |\n" + "|---" * 12 + "|\n")
    for memory, trace in dict.fromkeys(line[:2] for line in map(tuple, lines)):
        cells = [memory, trace]
        for kind in ("reads", "writes"):
            cells += [*found[memory, trace, kind, "no"], ratio(memory, trace, kind, "no")]
        cells.append(ratio(memory, trace, "mixed", "no"))
        cells += [ratio(memory, trace, kind, "yes") for kind in ("reads", "writes", "mixed")]
        text += "| " + " | ".join(map(str, cells)) + " |\n"
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", required=True, help="directory of the built tools")
    parser.add_argument("--ramulator", required=True, help="its folder, with libramulator.so")
    parser.add_argument("--out", default="out/dram")
    parser.add_argument("--accesses", type=int, default=40000, help="of a generated trace")
    parser.add_argument("memories", nargs="*", help=", ".join(MEMORIES))
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    sys.path.insert(0, os.path.join(options.ramulator, "python"))
    import ramulator

    program = f"{options.out}/ramulator_trace"
    run("c++", "-std=c++20", "-O2", f"{HERE}/ramulator_trace.cpp", "-o", program,
        f"-I{options.ramulator}/src", f"-L{options.ramulator}", "-lramulator", "-lyaml-cpp", "-lfmt",
        f"-Wl,-rpath,{os.path.abspath(options.ramulator)}")
    lines = []
    for name in options.memories or MEMORIES:
        memory = Memory(name, options.tools, options.out)
        for shape, kind, accesses in traces(memory, options.accesses):
            path = f"{options.out}/current.trace"
            with open(path, "w") as file:
                file.writelines(f"{cycle} {k} {address:#x}\n" for cycle, k, address in accesses)
            for refresh in (False, True):
                ours = memory.ours(path, refresh)
                theirs = memory.theirs(ramulator, program, path, refresh)
                lines.append([name, shape, kind, "yes" if refresh else "no", len(accesses), ours[0],
                              theirs[0], f"{ours[0] / theirs[0]:.3f}", ours[1], theirs[1]])
                print(*lines[-1], sep=",", file=sys.stderr, flush=True)
    with open(f"{options.out}/dram.csv", "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["memory", "trace", "accesses_are", "refresh", "accesses", "ours", "ramulator",
                         "ratio", "our_latency", "their_latency"])
        writer.writerows(lines)
    print(table(lines), end="")


if __name__ == "__main__":
    main()
