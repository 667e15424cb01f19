# SPDX-License-Identifier: Apache-2.0
# Is a bulk-synchronous program slowed as noised says from a recording of the same CPUs? Noise is injected, and recorded
# in turn with the program's runs, for the loop cannot run while the program does, and a host has its moods.
import contextlib
import json
import os
import random
import statistics
import subprocess
import time

from bulk_statistics import of_phases, of_projection, ratio, undisturbed
from machine import Daemon, fail, output_of, quiet, running, say

GRAINS = (100_000, 1_000_000)
RANKS = (1, 2, 8, 32, 128)  # that take turns
NOISE_NS = 300_000
ROUNDS = 3
REPLAYED_S = 120  # longer than the runs beside it take
PERIODS_US = (19_300, 23_900)  # no multiple of the timer tick: they are to fall on it as often as chance has it
MPIRUN = ("env", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "mpirun", "--quiet", "--oversubscribe",
          "--bind-to", "none", "--mca", "mpi_yield_when_idle", "0", "--mca", "btl", "self,vader", "-n", "2")


class Bulk:
    def __init__(self, build, cpus, directory):
        self.build = build
        self.directory = directory
        self.cpus = (cpus[0], cpus[-1])
        self.both = f"{cpus[0]},{cpus[-1]}"  # for those that look where they may run: we may be kept off one of them
        self.program = f"{build}/tests/bench/bulk_synchronous"
        if not os.path.exists(self.program):
            fail("bulk needs MPI: packaging/install-dependencies --all, then try again")
        self.recordings = 0

    @contextlib.contextmanager
    def noise(self, cpus):
        """A task that wakes up on each of these CPUs, for as long as the block lasts."""
        with contextlib.ExitStack() as stack:
            makers = [stack.enter_context(running(
                "taskset", "-c", self.both, f"{self.build}/tests/noise/noise", "task", "--cpu", cpu, "--period",
                f"{period_us}us", "--work", f"{NOISE_NS}ns", "--duration", "10m", stdout=subprocess.DEVNULL))
                for cpu, period_us in zip(cpus, PERIODS_US)]
            time.sleep(0.5)
            if any(maker.poll() is not None for maker in makers):
                fail("the noise ended early")
            yield

    @contextlib.contextmanager
    def replayed_noise(self, cpus):
        """Detours of exponential lengths at random times, as often as those of noise(), made by noisectl replay-noise."""
        chance = random.Random(7)
        path = f"{self.directory}/exponential"
        with open(f"{path}.csv", "w", encoding="ascii") as file:
            file.write("cpu,start_ns,duration_ns\n")
            for cpu, period_us in zip(cpus, PERIODS_US):
                at = 0.0
                while at < REPLAYED_S * 1e9:
                    at += chance.expovariate(1 / (period_us * 1e3))
                    length = 50e3 + chance.expovariate(1 / (NOISE_NS - 50e3))
                    file.write(f"{cpu},{at:.0f},{length:.0f}\n")
                    at += length
        noisectl = f"{self.build}/src/noisectl/noisectl"
        output_of(noisectl, "import", f"{path}.csv", "-o", f"{path}.noise")
        with running("taskset", "-c", self.both, noisectl, "replay-noise", f"{path}.noise", "--cpus", self.both,
                     stdout=subprocess.DEVNULL) as maker:
            time.sleep(1)
            yield
            if maker.poll() is not None:
                fail("the noise ended early")

    def record(self, cpu, seconds):
        """The path of a recording of one CPU, with the loop of noised on it."""
        self.recordings += 1
        path = f"{self.directory}/{self.recordings}.noise"
        daemon = Daemon(self.build, cpu, self.directory)
        say(f"recording CPU {cpu} for {seconds} s")
        report = json.loads(output_of("taskset", "-c", self.both, *daemon.command, "--duration", f"{seconds}s",
                                      "--record", path, "--report", "json"))
        [seen] = report["cpus"]
        most = [f"{source['name']} {source['total_ns'] / seen['observed_ns']:.2%}" for source in report["sources"][:3]]
        say(f"{seen['detour_ns'] / seen['observed_ns']:.2%} stolen, {seen['max_detour_ns'] / 1e6:.1f} ms at once; "
            + ", ".join(most))
        return path

    def project(self, grain, ranks, cpus):
        """By size of the job, of a node with these CPUs, of each of which there are some recordings: what noisectl
        project says, what it were if phases began anywhere, and a job that is played over the detours."""
        lists = [",".join(paths) for paths in cpus]
        lines = output_of(f"{self.build}/tests/bench/bench_bulk_project", grain, ",".join(map(str, ranks)), *lists)
        projection, anywhere, played = map(json.loads, lines.splitlines())
        return [(size["slowdown"], *others) for size, *others in zip(projection["sizes"], anywhere, played)]

    # -- ranks that take turns on one CPU

    def take_turns(self, grain, seconds):
        say(f"turns of {grain / 1e3:.0f} us on CPU {self.cpus[1]} for {seconds} s")
        run = json.loads(output_of(self.program, "turns", seconds, grain, self.cpus[1]))
        if run["late"]:
            say(f"{run['late']} of {len(run['phases_ns'])} turns began late: the one before had not ended")
        return run

    def turns(self):
        cpu = self.cpus[1]
        paths, runs = [], {grain: [] for grain in GRAINS}
        with quiet(self.build, cpu), self.noise([cpu]):
            for _ in range(ROUNDS):
                paths.append(self.record(cpu, 14))
                for grain, seconds in zip(GRAINS, (5, 8)):
                    runs[grain].append(self.take_turns(grain, seconds))
        rows = []
        for grain in GRAINS:
            sizes = list(zip(RANKS, self.project(grain, RANKS, [paths])))
            # Turns begin when they were drawn to, inside of detours too: they are compared with phases that do.
            rows += [compared("turns", grain, ranks, *measured(runs[grain], ranks), anywhere)
                     for ranks, (_, anywhere, _) in sizes]
            rows += [compared("played", grain, ranks, of_projection(played), None, projected)
                     for ranks, (projected, _, played) in sizes]
        return rows

    # -- two ranks, each on a CPU of its own

    def meet(self, grain, seconds):
        say(f"Open MPI: two ranks, phases of {grain / 1e3:.0f} us, for {seconds} s")
        run = json.loads(output_of(*MPIRUN, self.program, "barrier", seconds, grain, *self.cpus))
        say(f"a barrier alone takes {run['barrier_ns']} ns")
        return run

    def barrier(self, name, noise):
        paths, runs = {cpu: [] for cpu in self.cpus}, {grain: [] for grain in GRAINS}
        with noise(self.cpus):
            for _ in range(ROUNDS):
                for cpu in self.cpus:
                    paths[cpu].append(self.record(cpu, 8))
                for grain, seconds in zip(GRAINS, (4, 6)):
                    runs[grain].append(self.meet(grain, seconds))
        rows = []
        for grain in GRAINS:
            [(projected, _, played)] = self.project(grain, [1], paths.values())
            # Its ranks did meet: each of its phases is the longest of theirs already.
            rows.append(compared(name, grain, 2, *measured(runs[grain], 1), projected))
            rows.append(compared("played", grain, 2, of_projection(played), None, projected))
        return rows


# -- side by side


def measured(runs, ranks):
    """What phases take beyond their work, the longest of so many; and by how much the processor's clock was slower than
    in its fastest tenth, which is not in it."""
    alone = [base for run in runs for base in undisturbed(run)]
    grain_ns = statistics.fmean(alone)
    took = [phase - run.get("barrier_ns", 0) for run in runs for phase in run["phases_ns"]]
    excess = [phase - base for phase, base in zip(took, alone)]
    return of_phases(excess, grain_ns, ranks), round(grain_ns / statistics.quantiles(alone, n=10)[0] - 1, 5)


def compared(program, grain, ranks, found, clock, predicted):
    expected = of_projection(predicted)
    row = {"program": program, "grain_ns": grain, "ranks": ranks, "found": shown(found, 1),
           "predicted": shown(expected, 1), "ratio": None, "agrees": None, "clock": clock}
    if all(each is not None and each.known() for each in (found, expected)):
        off = ratio(found, expected)
        low, high = off.interval()
        row |= {"ratio": shown(off, 0), "agrees": low <= 1 <= high}
    return row


def shown(excess, base):
    if excess is None or not excess.known():
        return None
    low, high = excess.interval()
    return {"value": round(base + excess.value, 5), "low": round(base + low, 5), "high": round(base + high, 5)}


def in_words(figure):
    if figure is None:
        return "needs more time"
    return f"{figure['value']:.3f} ({figure['low']:.3f} to {figure['high']:.3f})"


def bulk(build, cpus, directory):
    bench = Bulk(build, cpus, directory)
    rows = bench.turns() + bench.barrier("Open MPI", bench.noise) + bench.barrier("replayed", bench.replayed_noise)
    print("bulk: slowdown of phases of fixed work that end at a barrier, with 95% intervals;\n"
          f"  a task of {NOISE_NS / 1e3:.0f} us every {PERIODS_US[0] / 1e3} ms (Open MPI: on either CPU, every "
          f"{PERIODS_US[1] / 1e3} ms on the second)\n"
          f"  {'':9}{'grain':>7}{'ranks':>6}  {'found':23} {'predicted':23} {'found/predicted, above 1':24} {'agree':5}"
          f"{'clock':>6}")
    for row in rows:
        off = "-" if row["ratio"] is None else "{value:.3f} ({low:.3f} to {high:.3f})".format(**row["ratio"])
        clock = "" if row["clock"] is None else f"{row['clock']:+6.1%}"
        verdict = {True: "yes", False: "no", None: "-"}[row["agrees"]]
        print(f"  {row['program']:9}{row['grain_ns'] / 1e3:4.0f} us{row['ranks']:6}  {in_words(row['found']):23} "
              f"{in_words(row['predicted']):23} {off:24} {verdict:5}{clock}")
    print("  turns: ranks that take turns on one CPU and begin at times drawn beforehand, beside a projection of such.\n"
          "  Open MPI: two ranks that meet, beside noisectl's projection of a node with their two CPUs.\n"
          "  replayed: the same, with detours of exponential lengths that noisectl replay-noise makes.\n"
          "  played: a job over the recorded detours, whose ranks wait for one another, beside noisectl's projection.\n"
          "  clock: how much slower the processor's was than it can be. That is no noise, and not in what was found.\n")
    return {"bulk": rows}
