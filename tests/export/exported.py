# SPDX-License-Identifier: Apache-2.0
"""What noisectl exports of a recording as CSV, and its report, for tests that compare."""

import csv
import json
import os
import subprocess
import sys


def fail(text):
    sys.exit(f"{os.path.basename(sys.argv[0])}: {text}")


def expect_equal(what, found, expected):
    if found != expected:
        fail(f"{what}: {str(found)[:500]}, expected {str(expected)[:500]}")


def arguments():
    if len(sys.argv) != 3:
        sys.exit(f"usage: {sys.argv[0]} RECORDING NOISECTL")
    return sys.argv[1], sys.argv[2]


def export(noisectl, recording, form, out):
    subprocess.run([noisectl, "export", "--format", form, "-o", out, recording], check=True)


class Csv:
    """The tables of `export --format csv`; each row a dictionary, numbers as integers."""

    def __init__(self, directory):
        self.directory = directory
        self.intervals = self.table("intervals.csv")
        self.detours = self.table("detours.csv")
        self.entries = self.table("entries.csv")
        self.not_observed = self.table("not_observed.csv")
        self.sources = self.table("sources.csv")

    def table(self, name):
        with open(os.path.join(self.directory, name), newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file, strict=True))
        for row in rows:
            if None in row or None in row.values():
                fail(f"{name}: a row has not as many fields as the first: {row}")
            for key, value in row.items():
                if value.isdigit():
                    row[key] = int(value)
        return rows


def report(noisectl, recording):
    answer = subprocess.run([noisectl, "--replay", recording, "report", "--json"], check=True, capture_output=True)
    return json.loads(answer.stdout)
