# SPDX-License-Identifier: Apache-2.0
# The benchmarks themselves, one function each, and their tables. Called by tests/bench/run.
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

from bulk import bulk
from loaded import loaded
from machine import Daemon, exit_on_signals, fail, online_cpus, output_of, quiet, running, say
from observer import observer
from park import park
from watch import watch

LOADS = [("faults", tasks, "faulting tasks") for tasks in (1, 8)] + [
    ("timers", timers, "timers at 1 kHz") for timers in (300, 500, 600)]
GAPS = ("hypervisor", "hardware", "overhead", "unexplained")  # kinds of the report that are not intervals
# Programs that run where something is caused, most often on other CPUs; no interval counts their runs.
ORIGINS = ("sched_waking", "sched_wakeup_new", "sched_migrate_task", "csd_queue_cpu", "ipi_send_cpu", "ipi_send_cpumask")

# What is aimed at: the path of a result, whether it is to be at most or at least so much, and how it is shown.
AIMS = [
    (("loop", "noised_over_bare"), "at most", 1.05, "{:.3f}"),
    (("loop", "noised_over_oslat"), "at most", 0.5, "{:.3f}"),
    (("bpf_mean_ns",), "at most", 100, "{:.1f} ns"),
    (("pipeline", "intervals_per_second"), "at least", 5e6, "{:.0f}"),
    (("pipeline", "sustained_events_per_second"), "at least", 1e6, "{:.0f}"),
    (("daemon", "cpu_share"), "at most", 0.005, "{:.4%}"),
    (("daemon", "rss_bytes"), "at most", 32 * 2**20, "{:.0f} bytes"),
    (("scrape", "p99_ns"), "at most", 10e6, "{:.0f} ns"),
    (("replay", "intervals_per_second"), "at least", 5e6, "{:.0f}"),
    (("observer", "watched_timer_added_ns"), "at most", 1000, "{:.0f} ns"),
    (("observer", "causing_caller_added_ns"), "at most", 200, "{:.0f} ns"),
    (("observer", "other_tick_added_ns"), "at most", 100, "{:.0f} ns"),
    (("park", "p99_ns"), "at most", 1e6, "{:.0f} ns"),
]


def compare_with_aims(result):
    """A table of what was measured beside what is aimed at; nothing fails by it, for machines differ."""
    rows = []
    for path, sense, aim, form in AIMS:
        value = result
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if value is not None:
            met = value <= aim if sense == "at most" else value >= aim
            rows.append({"what": ".".join(path), "aim": aim, "sense": sense, "value": value, "met": met})
            print(f"  {'.'.join(path):40}{form.format(value):>16}   {sense} {form.format(aim):>14}   "
                  f"{'met' if met else 'NOT MET'}")
    if rows:
        print(f"aims: {sum(row['met'] for row in rows)} of {len(rows)} met\n")
    return {"aims": rows} if rows else {}


def intervals(report):
    return [source for source in report["sources"] if source["kind"] not in GAPS]


class Bench:
    def __init__(self, build, directory):
        self.build = build
        self.directory = directory
        self.cpus = online_cpus()
        self.cpu = self.cpus[-1]
        self.daemon = Daemon(build, self.cpu, directory)

    def program(self, name):
        return f"{self.build}/tests/bench/{name}"

    # -- loop

    def oslat_ns(self, ticks_per_second):
        """Nanoseconds per iteration of oslat, as it was when nothing interrupted it.

        oslat sorts every iteration into one bucket, by its length in whole microseconds; so the sum of the buckets is
        the number of iterations, and those of the first bucket are the ones that were not interrupted. The time of
        the others (their average is given over all, rounded up to microseconds) comes off the duration, which oslat
        derives from ticks by its own whole MHz ("freq").
        """
        path = f"{self.directory}/oslat.json"
        output_of("oslat", "-q", "-c", self.cpu, "-C", self.cpus[0], "-D", 1, "-b", 1024, f"--json={path}")
        with open(path, encoding="ascii") as file:
            thread = json.load(file)["thread"]["0"]
        buckets = {float(length): count for length, count in thread["histogram"].items()}
        shortest = min(buckets)
        iterations = sum(buckets.values())
        interrupted = iterations - buckets[shortest]
        interrupted_us = thread["avg"] * iterations - shortest * buckets[shortest] - interrupted / 2
        duration_us = thread["duration"] * thread["freq"] * 1e12 / ticks_per_second
        return (duration_us - interrupted_us) * 1e3 / buckets[shortest]

    def loop(self):
        rounds = []
        for _ in range(5):
            loops = json.loads(output_of(self.program("bench_loop"), self.cpu))
            rounds.append((loops["noised_ns"], loops["bare_ns"], self.oslat_ns(loops["ticks_per_second"])))
        noised, bare, oslat = map(statistics.median, zip(*rounds))
        over_bare = statistics.median(round[0] / round[1] for round in rounds)
        over_oslat = statistics.median(round[0] / round[2] for round in rounds)
        print(f"loop: ns per uninterrupted iteration on CPU {self.cpu}, median of {len(rounds)} interleaved rounds\n"
              f"  noised  {noised:8.2f}\n"
              f"  bare    {bare:8.2f}   noised/bare  {over_bare:.3f} (aim: at most 1.05)\n"
              f"  oslat   {oslat:8.2f}   noised/oslat {over_oslat:.3f} (aim: at most 0.5)\n")
        return {"loop": {"noised_ns": round(noised, 3), "bare_ns": round(bare, 3), "oslat_ns": round(oslat, 3),
                         "noised_over_bare": round(over_bare, 4), "noised_over_oslat": round(over_oslat, 4)}}

    # -- marks

    def marks(self):
        directory = os.path.join(self.directory, "marks")
        os.makedirs(directory, exist_ok=True)
        program = self.program("bench_marks")
        rounds = []
        for _ in range(5):
            on = json.loads(output_of("taskset", "-c", self.cpu, "env", "NOISED_MARKS=" + directory, program))
            off = json.loads(output_of("taskset", "-c", self.cpu, "env", "-u", "NOISED_MARKS", program))
            rounds.append((on["mark_ns"], off["mark_ns"], on["counter_ns"]))
        mark, off, counter = map(statistics.median, zip(*rounds))
        print(f"marks: ns per mark of noised/mark.h on CPU {self.cpu}, median of {len(rounds)} interleaved rounds\n"
              f"  into a ring           {mark:8.2f}\n"
              f"  the counter alone     {counter:8.2f}\n"
              f"  without NOISED_MARKS  {off:8.2f}\n")
        return {"marks": {"mark_ns": round(mark, 3), "counter_ns": round(counter, 3), "off_ns": round(off, 3)}}

    # -- bpf

    def edge(self):
        """Runs and run time of each program, and counted intervals by kind and by source, until now."""
        status, report = (self.daemon.answer(what) for what in ("status", "report"))
        counts = {}
        for source in intervals(report):
            for key in (source["kind"], source["kind"] + ":" + source["name"]):
                counts[key] = counts.get(key, 0) + source["count"]
        return {program["name"]: program for program in status["programs"]}, counts

    def bpf(self):
        load = (self.program("bench_load"), "mixture", self.cpu)
        with quiet(self.build, self.cpu), self.daemon.running(), running(*load, stdout=subprocess.PIPE, text=True) as process:
            compared = [process.stdout.readline().strip() for _ in range(2)]
            time.sleep(1)
            programs_before, counts_before = self.edge()
            time.sleep(10)
            programs, counts = self.edge()
            if process.poll() is not None:
                fail("the load ended early")
            shown = [json.loads(output_of("bpftool", "--json", "prog", "show", "id", each)) for each in compared]
        rows = []
        for name, program in programs.items():
            runs = program["runs"] - programs_before[name]["runs"]
            run_ns = program["run_ns"] - programs_before[name]["run_ns"]
            if runs == 0:
                continue
            key = watched_key(name, program["kind"])
            counted = counts.get(key, 0) - counts_before.get(key, 0)
            # Two switches, there and back, make one interval of a task; the other kinds run one program at each edge.
            watched = 0 if name in ORIGINS else min(runs, counted * (2 if name == "sched_switch" else 1))
            rows.append({"program": name, "runs": runs, "mean_ns": round(run_ns / runs, 1),
                         "watched_share": None if name in ORIGINS else round(watched / runs, 3),
                         "run_ns": run_ns, "watched": watched})
        rows.sort(key=lambda row: -row["run_ns"])
        return self.bpf_result(rows, *(program["run_time_ns"] / program["run_cnt"] for program in shown))

    @staticmethod
    def bpf_result(rows, empty_ns, clock_ns):
        runs, run_ns, watched = (sum(row[key] for row in rows) for key in ("runs", "run_ns", "watched"))
        if watched == 0:
            fail("no program ran on the watched CPU")
        if watched < runs / 2:
            say("most runs were on other CPUs, which flatters the mean: something else keeps this machine busy")
        watched_ns = (run_ns - (runs - watched) * empty_ns) / watched
        print("bpf: ns per run of each program under load, on all CPUs, by the kernel's own statistics\n"
              f"  {'program':28}{'runs':>9}{'mean ns':>9}   of these on the watched CPU")
        for row in rows:
            share = "not told" if row["watched_share"] is None else f"{row['watched_share']:.0%}"
            print(f"  {row['program']:28}{row['runs']:9}{row['mean_ns']:9.1f}{share:>10}")
        print(f"  {'all':28}{runs:9}{run_ns / runs:9.1f}{watched / runs:10.0%}   (aim: below 100 ns)\n"
              f"  The kernel's two clock reads are in all of it: a program that does nothing takes {empty_ns:.1f} ns,\n"
              f"  and one that only reads the time, as each of ours on the watched CPU must, {clock_ns:.1f} ns.\n"
              f"  On other CPUs programs end early, but cost no less than that: one on the watched CPU took at most "
              f"{watched_ns:.1f} ns.\n")
        programs = [{key: row[key] for key in ("program", "runs", "mean_ns", "watched_share")} for row in rows]
        return {"bpf": programs, "bpf_mean_ns": round(run_ns / runs, 1), "bpf_empty_ns": round(empty_ns, 1),
                "bpf_clock_ns": round(clock_ns, 1), "bpf_watched_ns_at_most": round(watched_ns, 1)}

    # -- pipeline

    def sustained(self, *load):
        """Intervals and tracepoint events a second under a load on the watched CPU, and what was lost."""
        with running(self.program("bench_load"), load[0], self.cpu, load[1]):
            time.sleep(0.2)
            report = json.loads(output_of(*self.daemon.command, "--duration", "3s", "--report", "json"))
        per_second = 1e9 / report["elapsed_ns"]
        found = intervals(report)
        # An entry and an exit each; a fault is one event, and a switch ends one task and begins the next.
        single = sum(source["count"] for source in found if source["kind"] in ("page_fault", "task", "nmi"))
        total = sum(source["count"] for source in found)
        counts = {name: count for name, count in report["lost"].items() if name != "by"}
        return total * per_second, (2 * total - single) * per_second, counts

    def pipeline(self):
        synthetic = json.loads(output_of(self.program("bench_pipeline"), self.cpu))
        per_detour = synthetic["intervals"] / synthetic["detours"]
        print(f"pipeline: intervals per second on one core, {per_detour:.1f} a detour, a full ring a drain\n"
              f"  matched, attributed, counted   {synthetic['attributed']:12.0f}\n"
              f"  with names before, feed after  {synthetic['with_names_and_feed']:12.0f} (aim: 5000000)\n"
              f"pipeline: per second from the kernel, sustained for 3 s, default buffers (aim: 1000000 events)\n"
              f"                          intervals      events")
        sustained = []
        with quiet(self.build, self.cpu):
            for load, count, what in LOADS:
                rate, events, lost = self.sustained(load, count)
                sustained.append((-sum(lost.values()), events, rate))
                missing = ", ".join(f"{number} {name}" for name, number in lost.items() if number) or "nothing"
                print(f"  {count:4} {what:16} {rate:12.0f}{events:12.0f}   lost: {missing}")
        lost, events, rate = max(sustained)  # the highest rate of those that lost least
        print()
        return {"pipeline": {"intervals_per_second": synthetic["with_names_and_feed"],
                             "attributed_per_second": synthetic["attributed"],
                             "sustained_events_per_second": round(events),
                             "sustained_intervals_per_second": round(rate), "lost": -lost}}

    # -- daemon

    def daemon_alone(self):
        with self.daemon.running() as process:
            time.sleep(1)
            begin, begin_ns = time.monotonic_ns(), cpu_time_ns(process.pid)
            time.sleep(20)
            elapsed, used_ns = time.monotonic_ns() - begin, cpu_time_ns(process.pid) - begin_ns
            with open(f"/proc/{process.pid}/status", encoding="utf-8") as file:
                fields = dict(line.split(":", 1) for line in file)
        rss, peak = (int(fields[key].split()[0]) * 1024 for key in ("VmRSS", "VmHWM"))
        print(f"daemon: watching CPU {self.cpu}, default settings, nobody asking, {elapsed / 1e9:.0f} s\n"
              f"  share of one CPU   {used_ns / elapsed:10.4%}   without the probe thread (aim: below 0.5%)\n"
              f"  resident memory    {rss / 2**20:6.1f} MiB, peak {peak / 2**20:.1f} MiB (aim: at most 32 MiB)\n")
        return {"daemon": {"cpu_share": round(used_ns / elapsed, 6), "rss_bytes": rss, "peak_rss_bytes": peak}}

    # -- scrape

    def scrape(self):
        scraped = json.loads(output_of(self.program("bench_scrape")))
        print(f"scrape: {scraped['cpus']} watched CPUs, {scraped['series']} series of sources, "
              f"{scraped['bytes'] / 2**20:.1f} MiB, over TCP on loopback\n"
              f"  median {scraped['p50_ns'] / 1e6:8.2f} ms   99% {scraped['p99_ns'] / 1e6:8.2f} ms (aim: below 10 ms)\n"
              f"  the pipeline copies its statistics for one in at most {scraped['longest_fill_ns'] / 1e6:.2f} ms\n")
        return {"scrape": {key: scraped[key] for key in ("p99_ns", "bytes", "series")}}

    # -- replay

    def replay(self):
        played = json.loads(output_of("taskset", "-c", self.cpu, self.program("bench_replay")))
        print(f"replay: {played['intervals']} recorded intervals on one core, {played['bytes_per_interval']:.1f} bytes each "
              f"in the file\n"
              f"  intervals per second   {played['intervals_per_second']:12.0f} (aim: 5000000)\n"
              f"  resident memory        {played['long_resident_bytes'] / 2**20:12.1f} MiB; of a recording a sixteenth as "
              f"long {played['short_resident_bytes'] / 2**20:.1f} MiB\n")
        return {"replay": {key: played[key] for key in ("intervals_per_second", "bytes_per_interval")}}

    # -- record

    def record(self):
        scenes = {scene["name"]: scene for scene in json.loads(output_of(self.program("bench_record")))}
        print("record: a synthetic stream in drains of 25 ms to the recorder, a thread writes its blocks to a file\n"
              f"  {'':14}{'intervals/s':>12}{'fed':>10}{'kept':>10}{'lost':>10}{'ns of CPU':>10}{'of drains':>10}"
              f"{'writer':>8}{'late':>6}")
        for name, scene in scenes.items():
            print(f"  {name.replace('_', ' '):14}{scene['intervals_per_second']:12.0f}{scene['fed']:10}{scene['kept']:10}"
                  f"{scene['lost']:10}{scene['feeder_ns']:10.1f}{scene['drain_ns']:10.2f}{scene['writer_share']:8.1%}"
                  f"{scene['late_drains']:6}")
        cost_ns = scenes["paced"]["feeder_ns"] - scenes["not_recorded"]["feeder_ns"]
        print(f"  Recording costs the pipeline {cost_ns:.1f} ns an interval, with its share of detours and checkpoints.\n"
              "  Kept and lost, from the file, are what was fed: else there is no table. The slow reader takes a block in\n"
              "  300 ms; late drains began more than 25 ms too late.\n")
        return {"record": {"cost_ns": round(cost_ns, 1), "scenes": list(scenes.values())}}


    # -- wide

    def wide(self):
        rows = [json.loads(output_of(self.program("bench_wide"), str(cpus), what, scene))
                for what in ("loops", "tasks") for cpus in (16, 64, 256, 512) for scene in ("idle", "quiet", "busy")
                if (what, scene) != ("tasks", "quiet")]
        print("wide: a drain of the daemon's pipeline, from rings of 2 MiB that hold what nobody had to measure\n"
              f"  {'CPUs':>6} {'watched by':12}{'a drain brings':>16}{'ms a drain':>12}{'longest':>10}{'ns an event':>13}"
              f"{'events/s':>12}{'lost':>6}{'MiB a CPU':>11}")
        for row in rows:
            events, ms = row["events_a_drain"], row["median_ns"] / 1e6
            row["bytes_per_cpu"] = row["bytes"] // row["cpus"]
            rate = f"{row['median_ns'] / events:13.0f}{events / row['median_ns'] * 1e9:12.0f}" if events else f"{'':25}"
            print(f"  {row['cpus']:6} {row['what']:12}{events:16}{ms:12.3f}{row['longest_ns'] / 1e6:10.3f}{rate}"
                  f"{row['lost']:6}{row['bytes_per_cpu'] / 2**20:11.2f}")
        print("  Programs, loops and system calls (one for each program that may miss runs) are not in it. Quiet: 720 events\n"
              "  a second on each CPU; busy: as many as fit between 20 us of rest, or a switch of tasks each 4 us, and a wait.\n")
        return {"wide": rows}


def watched_key(program, kind):
    """The report's count of intervals that tells how often a program ran on the watched CPU."""
    if kind == "vector":
        return "vector:" + program.removesuffix("_entry").removesuffix("_exit")
    if kind == "page_fault":
        return "page_fault:" + program.removeprefix("page_fault_")
    return kind


def cpu_time_ns(pid):
    """CPU time of all threads of a process but those that probe."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/comm", encoding="utf-8") as comm:
            if comm.read().startswith("noised/"):
                continue
        with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as schedstat:
            total += int(schedstat.read().split()[0])
    return total


def main():
    build, *arguments = sys.argv[1:]
    as_json = "--json" in arguments
    every = ["loop", "marks", "bpf", "pipeline", "daemon", "scrape", "replay", "record", "wide", "loaded", "observer", "park", "watch", "bulk"]
    names = [name for name in arguments if name != "--json"] or every
    exit_on_signals()
    result = {}
    tables = sys.stdout
    with tempfile.TemporaryDirectory(prefix="noised-bench-") as directory:
        bench = Bench(build, directory)
        run = {"loop": bench.loop, "marks": bench.marks, "bpf": bench.bpf, "pipeline": bench.pipeline, "daemon": bench.daemon_alone, "scrape": bench.scrape, "replay": bench.replay, "record": bench.record,
               "wide": bench.wide,
               "loaded": lambda: loaded(build, bench.cpus, directory),
               "observer": lambda: observer(build, bench.cpus, directory),
               "park": lambda: park(build, bench.cpu, directory),
               "watch": lambda: watch(build, bench.cpus, directory),
               "bulk": lambda: bulk(build, bench.cpus, directory)}
        sys.stdout = sys.stderr if as_json else tables
        for name in dict.fromkeys(names):
            say(f"measuring {name}")
            result |= run[name]()
            sys.stdout.flush()
        result |= compare_with_aims(result)
        sys.stdout.flush()
    sys.stdout = tables
    if as_json:
        print(json.dumps(result))


main()
