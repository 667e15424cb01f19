// SPDX-License-Identifier: Apache-2.0
// The longest detours one by one, above the timeline and on its time scale.
const stripHeight = 92;

function detourLines(detour) {
  const lines = detour.entries.map(([label, self, depth, detail]) =>
    [`${'· '.repeat(depth)}${shortened(label, 48)}${detail ? ` (${shortened(detail, 60)})` : ''}`, self === null ? 'not timed' : exact(self)]);
  if (detour.overhead_ns > 0) lines.push(['overhead', exact(detour.overhead_ns)]);
  if (detour.incomplete) lines.push(['incomplete: events were lost, or the clock was in doubt']);
  return lines;
}

function drawStrip(svg, box, xScale, from, to) {
  const cpu = chosen < 0 ? undefined : data.cpus[chosen].cpu;
  const detours = data.longest.filter((it) => it.start_ns >= from && it.start_ns <= to && (cpu === undefined || it.cpu === cpu));
  const durations = data.longest.map((it) => it.duration_ns);
  const low = Math.max(1, Math.min(...durations)) * 0.8;
  const high = Math.max(2, ...durations) * 1.25;
  const yScale = logarithmic(low, high, box.bottom, box.top);
  const ticks = [low * 1.25, Math.sqrt(low * high), high / 1.25];
  if (durations.length) leftAxis(svg, box, yScale, ticks, duration, `longest detours (${detours.length} of the ${data.longest.length} kept), log scale`);
  const places = detours.map((detour) => ({detour, x: xScale(detour.start_ns), y: yScale(Math.max(1, detour.duration_ns))}));
  for (const {detour, x, y} of places) {
    element('circle', {cx: x, cy: y, r: 3.5, class: `c-${categories[detour.category]} dot`}, svg);
  }
  return (x, y) => {
    const near = places.map((place) => ({...place, distance: Math.hypot(place.x - x, place.y - y)}))
      .sort((a, b) => a.distance - b.distance)[0];
    if (!near || near.distance > 12) return undefined;
    const {detour} = near;
    return [`${duration(detour.duration_ns)} on CPU ${detour.cpu} at ${(detour.start_ns / 1e9).toFixed(6)} s`,
      [...detourLines(detour), ['in all', exact(detour.duration_ns)]]];
  };
}
