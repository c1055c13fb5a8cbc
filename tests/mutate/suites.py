"""The suites that faults are shown to: entries of ctest, what each costs, and which faults it reaches."""

import json
import os
import resource
import subprocess
import tempfile
import threading

# Entries whose names begin so. Left out is what takes minutes and shows little more, what reads the text of the sources, and
# what tests scripts alone.
PREFIXES = ("pinned.", "golden.", "unit.", "property.", "exchange.", "energy.", "cluster.", "report.", "manners.", "docs.",
            "explore.", "models.", "cuda.", "verdict.", "machines.", "structure.machine_keys")
LEFT_OUT = ("property.broken_rule", "models.threads", "explore.objectives")
SLOW = 12  # times the processor time that an entry takes without a fault, and 20 seconds at least: it hangs
THOROUGH = 20  # times as long at most, where all cases are drawn
ALL_CASES_ALONE = "fails with all the cases of scripts/property, not with those of the suite"


class Entry:
    """One test: its command, and what it takes and reaches without any fault."""

    def __init__(self, name, command, properties):
        self.name, self.command = name, command
        self.folder = properties.get("WORKING_DIRECTORY")
        self.skip = properties.get("SKIP_RETURN_CODE")
        self.seconds, self.reached = 0.0, set()  # processor time; faults by number
        self.lock = threading.Lock()  # an entry may write files of its own: it never runs twice at a time

    def run(self, fault=None, reached=None, limit=600, thorough=False):
        """None where it passes, else why not. `limit`: seconds of processor time of a process, and a tenth of the wait.
        `thorough`: with all the cases that scripts/property draws."""
        env = {k: v for k, v in os.environ.items() if not k.startswith("FUSEFLOW_MUTANT")}
        if thorough:
            env["FUSEFLOW_THOROUGH"] = "1"
        if fault is not None:
            env["FUSEFLOW_MUTANT"] = str(fault)
        if reached:
            env["FUSEFLOW_MUTANT_REACHED"] = reached
        # What started this run may ignore signals (nohup), which tests of Ctrl-C would inherit.
        limited = ["env", "--default-signal", "prlimit", f"--cpu={int(limit)}:{int(limit) + 5}", "--", *self.command]
        with self.lock:
            process = subprocess.Popen(limited, cwd=self.folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                       stderr=subprocess.STDOUT, start_new_session=True)
            try:
                output, _ = process.communicate(timeout=10 * limit)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)  # its own session: nothing else is in it
                process.communicate()
                return "hangs"
        if process.returncode in (0, self.skip):
            return None
        return output.decode(errors="replace").strip() or f"status {process.returncode}"


def load_entries(build, only):
    """The entries of ctest that faults are shown to, of names that begin with `only`."""
    text = subprocess.run(["ctest", "--test-dir", str(build), "--show-only=json-v1"], check=True, capture_output=True).stdout
    entries = []
    for test in json.loads(text)["tests"]:
        name = test["name"]
        if name.startswith(PREFIXES) and name.startswith(only) and not name.startswith(LEFT_OUT) and "command" in test:
            entries.append(Entry(name, test["command"], {p["name"]: p["value"] for p in test.get("properties", [])}))
    return entries


def measure(entries, say):
    """Runs every entry without a fault, fills in what it costs and reaches; returns those that pass."""
    passing = []
    for number, entry in enumerate(entries):
        with tempfile.NamedTemporaryFile(mode="r") as file:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            wrong = entry.run(reached=file.name)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            entry.seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            entry.reached = {int(line) for line in file.read().split()}
        if wrong:
            say(f"{entry.name} is left out: it fails without any fault:\n{wrong[-2000:]}")
        else:
            passing.append(entry)
        if number % 50 == 49:
            say(f"{number + 1} of {len(entries)} entries measured")
    return passing


def first_to_notice(fault, entries, reaching=True):
    """(entry, why) of the first entry that fails with the fault on, the cheapest first; None if none does. Where none does,
    those that draw cases by FUSEFLOW_THOROUGH (unit tests) are run with all of them."""
    mine = sorted([e for e in entries if not reaching or fault.id in e.reached], key=lambda e: e.seconds)
    drawing = [e for e in mine if reaching and e.name.startswith("unit.")]  # else all would be run for minutes
    for entry, thorough in [(e, False) for e in mine] + [(e, True) for e in drawing]:
        limit = max(20.0, SLOW * entry.seconds * (THOROUGH if thorough else 1))
        why = entry.run(fault.id if reaching else None, limit=limit, thorough=thorough)
        if why:
            return entry, (ALL_CASES_ALONE if thorough else why)
    return None
