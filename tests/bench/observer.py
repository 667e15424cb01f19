# SPDX-License-Identifier: Apache-2.0
# What it costs an application to be watched: by noised, and by its peers on the same tracepoints.
import contextlib
import json
import os
import random
import shutil
import statistics
import subprocess
import time

from machine import output_of, quiet, running, say

ROUNDS = int(os.environ.get("NOISED_BENCH_ROUNDS", "20"))
# perf and bpftrace do not tell when they have attached everything. How long they take was not measured: a peer that takes
# longer than this and the 150 ms before bench_work counts is shown as cheaper than it is.
SETTLE_S = 1.0


# tracefs and debugfs need not be mounted; bpftrace 0.17 looks for tracepoints below debugfs only.
MOUNTED = """for fs in tracefs:/sys/kernel/tracing debugfs:/sys/kernel/debug; do
    mountpoint -q "${fs#*:}" || mount -t "${fs%:*}" none "${fs#*:}"
done; exec "$@\""""


def mounted(*command):
    """A command with both mounted, for itself alone."""
    return ("unshare", "-m", "sh", "-c", MOUNTED, "sh", *command)


def tracepoints(names):
    """group:name of those of our programs that run on a tracepoint of the same name, and that perf may sample: of the
    irq_work vector it may not, since it raises that itself."""
    groups = output_of(*mounted("sh", "-c", "cd /sys/kernel/tracing/events && ls -d */*/")).split("/\n")
    by_name = {path.rpartition("/")[2]: path.replace("/", ":") for path in groups}
    return [by_name[name] for name in names if name in by_name and not name.startswith("irq_work_")]


def bpftrace_script(events, cpu):
    """For each pair of tracepoints a histogram of the time between them; the others are counted."""
    lines = []
    for event in events:
        begun = event.removesuffix("_exit") + "_entry"
        key = event.replace(":", "_").removesuffix("_entry").removesuffix("_exit")
        if event.endswith("_entry"):
            action = f"@at_{key} = nsecs;"
        elif event.endswith("_exit") and begun in events:
            action = f"@{key} = hist(nsecs - @at_{key});"
        else:
            action = f"@{key} = count();"
        lines.append(f"tracepoint:{event} /cpu == {cpu}/ {{ {action} }}")
    return "\n".join(lines)


class Observers:
    """Each as a context: whoever is watching the CPU, while the block runs."""

    def __init__(self, program, cpu, directory):
        self.program = program
        self.cpu = cpu
        self.directory = directory
        with self.noised() as names:
            self.events = tracepoints(names)
        self.script = f"{directory}/observer.bt"
        with open(self.script, "w", encoding="ascii") as file:
            file.write(bpftrace_script(self.events, cpu))

    @contextlib.contextmanager
    def nobody(self):
        yield

    @contextlib.contextmanager
    def noised(self):
        with running(self.program, self.cpu, stdout=subprocess.PIPE, text=True) as process:
            yield process.stdout.readline().split()

    @contextlib.contextmanager
    def started(self, program, *arguments):
        with open(f"{self.directory}/peer.log", "w+", encoding="utf-8") as log:
            with running(program, *arguments, stdout=log, stderr=log) as process:
                time.sleep(SETTLE_S)
                if process.poll() is not None:
                    log.seek(0)
                    raise RuntimeError(f"it ended early: {' '.join(log.read().split())[:200]}")
                yield

    def perf(self):
        events = [word for event in self.events for word in ("-e", event)]
        return self.started(*mounted("perf", "record", "-q", "-C", self.cpu, "-o", f"{self.directory}/perf.data", *events))

    def bpftrace(self):
        return self.started(*mounted("bpftrace", self.script))

    def peers(self):
        """Those that run here, by name."""
        usable = {}
        for name, watch in (("perf", self.perf), ("bpftrace", self.bpftrace)):
            try:
                if shutil.which(name) is None:
                    raise RuntimeError("not installed")
                with watch():
                    usable[name] = watch
            except RuntimeError as reason:
                say(f"{name} is left out: {reason}")
        return usable


def median_interval(values):
    """The median, and the interval that holds it in 95% of 2000 resamplings."""
    chance = random.Random(1)
    medians = sorted(statistics.median(chance.choices(values, k=len(values))) for _ in range(2000))
    return statistics.median(values), medians[50], medians[1949]


def measure(build, cpu, directory):
    """Rounds of the same work, watched by each in turn, each in turn the first; and nobody in every round."""
    observers = Observers(f"{build}/tests/bench/bench_observer", cpu, directory)
    watchers = {"nobody": observers.nobody, "noised": observers.noised} | observers.peers()
    added = {name: [] for name in watchers if name != "nobody"}
    rates = []
    with quiet(cpu):
        for number in range(ROUNDS):
            took = {}
            names = list(watchers)
            for name in names[number % len(names):] + names[:number % len(names)]:
                with watchers[name]():
                    result = json.loads(output_of(f"{build}/tests/bench/bench_work", cpu))
                took[name] = result["taken_ns"]
                rates.append(result["timer_interrupts_per_second"])
            for name, shares in added.items():
                shares.append(took[name] - took["nobody"])
            with contextlib.suppress(FileNotFoundError):
                os.remove(f"{directory}/perf.data")
    return added, statistics.median(rates), len(observers.events)


def observer(build, cpu, directory):
    added, rate, events = measure(build, cpu, directory)
    print(f"observer: added to what a timer that wakes a task takes from work on CPU {cpu}, {rate:.0f} interrupts a second;"
          f"\n  {events} tracepoints (noised: also the two of irq_work), {ROUNDS} interleaved rounds, median and its 95% interval")
    shares = {}
    for name, values in added.items():
        ns, low, high = median_interval(values)
        shares[name] = [value * rate / 1e9 for value in (ns, low, high)]
        print(f"  {name:9}{ns:7.0f} ns an interrupt, {low:.0f} to {high:.0f}; of the CPU {shares[name][0]:.3%}"
              + (" (aim: below 0.05%)" if name == "noised" else ""))
    print()
    share, low, high = shares["noised"]
    peers = {f"{name}_added_share": round(shares[name][0], 6) if name in shares else None
             for name in ("perf", "bpftrace")}
    return {"observer": {"added_share": round(share, 6), "ci95_low": round(low, 6), "ci95_high": round(high, 6),
                         "interrupts_per_second": round(rate)} | peers}
