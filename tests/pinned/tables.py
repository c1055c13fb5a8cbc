"""Tables of counts: CSV files whose first columns are the key of a row. Reading, comparing, writing, and what moved."""

import csv
import io
import math


class Table:
    """Rows by key, in the order of the file; `columns` has the key's columns first."""

    def __init__(self, columns, keys, rows):
        self.columns, self.keys = list(columns), keys
        self.rows = {tuple(row[:keys]): list(row[keys:]) for row in rows}
        if len(self.rows) != len(rows):
            raise ValueError("two rows have the same key")

    def text(self):
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows([*key, *values] for key, values in self.rows.items())
        return out.getvalue()


def read_table(text, keys):
    rows = list(csv.reader(io.StringIO(text)))
    return Table(rows[0], keys, rows[1:]) if rows else Table([], keys, [])


def number(text):
    try:
        return float(text)
    except ValueError:
        return None


class Changes:
    """What differs between the pinned tables and those of now."""

    def __init__(self):
        self.lines = []  # one a changed, new or missing row
        self.ratios = {}  # (group, column) -> ratios of now to before, where both are numbers above 0
        self.rows = 0

    def __bool__(self):
        return bool(self.lines)

    def compare(self, name, pinned, now, group):
        """`group(key)` says with which rows a row is averaged."""
        self.rows += len(now.rows)
        if pinned.columns != now.columns:
            self.lines.append(f"{name}: columns {','.join(pinned.columns)} -> {','.join(now.columns)}")
        for key in pinned.rows.keys() - now.rows.keys():
            self.lines.append(f"{name}: {','.join(key)}: no longer there")
        for key, values in now.rows.items():
            label = f"{name}: {','.join(key)}"
            if key not in pinned.rows:
                self.lines.append(f"{label}: new")
                continue
            before = dict(zip(pinned.columns[pinned.keys:], pinned.rows[key]))
            after = dict(zip(now.columns[now.keys:], values))
            moved = [c for c in after if c in before and before[c] != after[c]]
            if moved:
                self.lines.append(label + ": " + ", ".join(f"{c} {before[c]} -> {after[c]}" for c in moved))
            for column in after:
                old, new = number(before.get(column, "")), number(after[column])
                if old and new and old > 0 and new > 0:
                    self.ratios.setdefault((group(key), column), []).append((new / old, label))

    def report(self, most=20):
        """The changed rows (at most so many), then a line a group and column that moved."""
        text = self.lines[:most]
        if len(self.lines) > most:
            text.append(f"... and {len(self.lines) - most} more rows")
        for (group, column), ratios in sorted(self.ratios.items()):
            moved = [r for r in ratios if r[0] != 1]
            if not moved:
                continue
            mean = math.exp(sum(math.log(r) for r, _ in ratios) / len(ratios))
            (least, _), (largest, where) = min(moved), max(moved)
            text.append(f"{group}: {column}: {len(moved)} of {len(ratios)} rows moved, geometric mean of all x{mean:.4f}, "
                        f"from x{least:.4f} to x{largest:.4f} ({where})")
        return "\n".join(text)
