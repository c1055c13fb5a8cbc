"""A copy of the tree outside of the repository, with faults, and its build."""

import os
import pathlib
import re
import subprocess

SWITCH = "fuseflow_mutants.h"


class Scratch:
    """The copy at `folder` of the tree at `root`. Faults are switchable (all in one build) or applied one at a time."""

    def __init__(self, root, folder, jobs):
        self.root, self.folder, self.jobs = root, folder, jobs
        self.build = folder / "build"
        if folder.exists() and any(folder.iterdir()) and not (folder / "src" / SWITCH).exists():
            raise SystemExit(f"mutate: --folder {folder} holds something else, which would be deleted; expected a new folder, "
                             f"or one of an earlier run")
        names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=root, check=True, capture_output=True)
        self.names = [name for name in names.stdout.decode().split("\n") if name and (root / name).is_file()]
        # A copy of the tree as it is now: it may be edited while faults are shown.
        self.original = {name: (root / name).read_bytes() for name in self.names}

    def source(self, name):
        return self.original[name].decode()

    def write(self, name, data):
        """Only what differs is written, so that little is built again."""
        path = self.folder / name
        if path.exists() and path.read_bytes() == data:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        path.chmod(0o755 if os.access(self.root / name, os.X_OK) else 0o644)

    def remove_others(self):
        """What the copy has of an older tree, which the build would take for sources."""
        known = {self.folder / name for name in self.names} | {self.folder / "src" / SWITCH}
        for path in self.folder.rglob("*"):
            if path.is_file() and path not in known and self.build not in path.parents:
                path.unlink()

    def apply(self, switched, applied=None):
        """The copy with all of `switched` and, unswitchably, `applied`."""
        self.remove_others()
        self.write(f"src/{SWITCH}", self.original["tests/mutate/switch.h"])
        edits = {}
        for fault in switched:
            edits.setdefault(fault.path, []).append((fault.start, fault.end, fault.switched.format(id=fault.id)))
            edits[fault.path] += self.not_constexpr(fault)
        if applied:
            edits.setdefault(applied.path, []).append((applied.start, applied.end, applied.after))
        for name in self.names:
            data = self.original[name]
            if name in edits:
                text = data.decode()
                for start, end, after in sorted(set(edits[name]), reverse=True):
                    text = text[:start] + after + text[end:]
                data = f'#include "{SWITCH}"\n{text}'.encode()
            self.write(name, data)

    def not_constexpr(self, fault):
        """A constant whose value is chosen at run time is no constexpr."""
        text = self.source(fault.path)
        start = max(text.rfind(c, 0, fault.start) for c in ";{}") + 1
        found = re.search(r"\bconstexpr\b", text[start:fault.start])
        return [(start + found.start(), start + found.end(), "const")] if found else []

    def configure(self):
        if not (self.build / "build.ninja").exists():
            self.command(["cmake", "-S", self.folder, "-B", self.build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                          "-DFUSEFLOW_FIRST_BUILD=ON", "-Wno-dev"])

    def make(self, targets):
        """Builds; the text of the compiler's errors, empty when it went well."""
        done = self.command(["cmake", "--build", self.build, "--", "-k", "0", "-j", str(self.jobs), *targets], check=False)
        return "" if done.returncode == 0 else done.stdout.decode(errors="replace") or "failed"

    def command(self, words, check=True):
        env = dict(os.environ, CCACHE_BASEDIR=str(self.folder), LC_ALL="C")
        done = subprocess.run([str(w) for w in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=env)
        if check and done.returncode != 0:
            raise SystemExit(f"mutate: {' '.join(map(str, words))}:\n{done.stdout.decode(errors='replace')[-3000:]}")
        return done

    def blamed(self, errors, switched):
        """The faults in whose files' lines (one further down than the original's) the compiler finds errors."""
        places = {(str(pathlib.PurePath(m[1]).name), int(m[2]) - 1) for m in re.finditer(r"([\w./+-]+):(\d+):\d+:", errors)}
        near = [f for f in switched
                if any((pathlib.PurePath(f.path).name, line) in places
                       for line in range(f.line, f.line + f.before.count("\n") + 1))]
        files = {name for name, _ in places}
        here = [f for f in switched if pathlib.PurePath(f.path).name in files]
        # A constant of a header is missed where a constexpr of another file uses it.
        headers = [f for f in switched if f.path.endswith(".h")]
        beside = [f for f in headers if f"{pathlib.PurePath(f.path).parent}/" in errors]
        return near or here or beside or headers
