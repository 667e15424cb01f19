// SPDX-License-Identifier: Apache-2.0
// The quanta of the timeline: bins as they were measured, or several of them together where there is no room for each.
function timelineOfChosen() {
  const bins = chosen < 0 ? data.timeline : data.cpu_timeline;
  return {...bins, lane: bins.lanes[Math.max(chosen, 0)] || [], cpus: chosen < 0 ? data.cpu_count : 1};
}

// One quantum from bins first to end: the sums of its columns, and the time that was observed in it.
function quantum(timeline, first, end) {
  const start = first * timeline.width_ns - timeline.before_ns;
  const stop = end * timeline.width_ns - timeline.before_ns;
  const sums = timeline.lane.map((values) => {
    let sum = 0;
    for (let i = first; values && i < end; ++i) sum += values[i];
    return sum;
  });
  const within = Math.max(0, Math.min(stop, data.span_ns) - Math.max(start, 0)) * timeline.cpus;
  const stolen = sums.slice(0, categories.length).reduce((all, ns) => all + ns, 0);
  const observed = within - (sums[columns.missing] || 0);
  return {start: Math.max(start, 0), stop: Math.min(stop, data.span_ns), sums, within, observed, stolen,
    share: observed > 0 ? stolen / observed : 0};
}

// The quanta that touch the time from..to, at most `most` of them.
function quanta(timeline, from, to, most) {
  const first = Math.max(0, Math.floor((from + timeline.before_ns) / timeline.width_ns));
  const end = Math.min(timeline.bins, Math.ceil((to + timeline.before_ns) / timeline.width_ns));
  const group = Math.max(1, Math.ceil((end - first) / most));
  const made = [];
  for (let at = Math.floor(first / group) * group; at < end; at += group) {
    made.push(quantum(timeline, at, Math.min(at + group, timeline.bins)));
  }
  return {quanta: made, width_ns: group * timeline.width_ns};
}
