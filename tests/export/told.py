# SPDX-License-Identifier: Apache-2.0
# What noisectl itself says of a recording: what an export of it has to agree with.
import collections
import json
import os
import resource
import subprocess
import sys
import tempfile

OUTSIDE = ("hypervisor", "hardware", "overhead", "unexplained")


def noisectl(program, *arguments):
    """Its standard output; a failure is ours too."""
    return subprocess.run([program, *arguments], check=True, stdout=subprocess.PIPE).stdout


def full_disk(check, program, form, recording):
    """A limit on the size of files stands for a disk that is full: an error that names the path, and nothing is left."""

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))

    with tempfile.TemporaryDirectory() as directory:
        out = os.path.join(directory, "out")
        done = subprocess.run([program, "export", "--format", form, "-o", out, recording], stderr=subprocess.PIPE,
                              preexec_fn=limit)
        check.equal("exit code where the disk is full", done.returncode, 1)
        check.true(f"the error {done.stderr} names the path", b"cannot write" in done.stderr and
                   out.encode() in done.stderr)
        check.equal("files left where the disk is full", os.listdir(directory), [])


class Told:
    def __init__(self, program, recording):
        self.report = json.loads(noisectl(program, "--replay", recording, "report", "--json"))
        self.cpus = {cpu["cpu"]: cpu for cpu in self.report["cpus"]}
        self.sources = {(source["cpu"], source["kind"] + ":" + source["name"]): (source["count"], source["total_ns"])
                        for source in self.report["sources"]}
        self.intervals = {key: value for key, value in self.sources.items() if key[1].split(":")[0] not in OUTSIDE}
        self.detours = collections.defaultdict(list)
        for line in noisectl(program, "--replay", recording, "detours", "--json").splitlines():
            detour = json.loads(line)
            self.detours[detour["cpu"]].append((detour["start_ns"], detour["duration_ns"], detour["incomplete"]))


class Checks:
    """Compares, and tells what differs; at the end, whether anything did, or nothing was compared."""

    def __init__(self, name):
        self.name = name
        self.compared = 0
        self.wrong = 0

    def equal(self, what, found, expected):
        self.compared += 1
        if found != expected:
            self.wrong += 1
            if self.wrong <= 20:
                print(f"{self.name}: {what}: {str(found)[:300]}, expected {str(expected)[:300]}", file=sys.stderr)

    def true(self, what, found):
        self.equal(what, bool(found), True)

    def finish(self):
        if self.wrong or not self.compared:
            sys.exit(f"{self.name}: {self.wrong} of {self.compared} comparisons failed")
        print(f"good: {self.name}: {self.compared} comparisons")
