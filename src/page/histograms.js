// SPDX-License-Identifier: Apache-2.0
// Durations of single sources, cut at the 99th percentile as Morari et al. cut theirs, with the tail in words.
let histogramsShown = 12;

function tailText(source) {
  const zero = source.buckets.length && source.buckets[0][1] === 0 ? `; ${grouped(source.buckets[0][2])} of 0 ns are not drawn` : '';
  const tail = source.tail_count === 0 ? 'none above it'
    : `above it ${grouped(source.tail_count)}, ${duration(source.tail_ns)} in all, longest ${duration(source.max_ns)}`;
  return `99% take at most ${duration(source.p99_ns)}; ${tail}${zero}`;
}

function drawHistogram(parent, source) {
  const figure = element('figure', {class: 'small'}, parent);
  const heading = caption(figure, '');
  element('span', {class: `key c-${categories[source.category]}`}, heading);
  element('code', {title: source.label}, heading, shortened(source.label, 44));
  heading.append(` ${grouped(source.count)} times, ${duration(source.total_ns)}`);
  const buckets = source.buckets.filter(([low, high]) => high > 0 && low <= source.p99_ns);
  if (buckets.length === 0) {
    element('p', {class: 'remark'}, figure, 'Counted only: how long they took is not known, or not above 0 ns.');
    return;
  }
  const {svg, width} = chart(figure, 150, `Durations of ${source.label}`);
  const box = {left: 46, right: width - 12, top: 22, bottom: 112};
  const low = Math.max(0.5, buckets[0][0]);
  const high = Math.max(buckets[buckets.length - 1][1] + 1, low * 2);
  const xScale = logarithmic(low, high, box.left, box.right);
  const most = Math.max(...buckets.map(([, , count]) => count));
  const yScale = linear(0, most, box.bottom, box.top);
  leftAxis(svg, box, yScale, roundTicks(0, most, 3).filter(Number.isInteger), (tick) => (tick >= 1e4 ? `${Number((tick / 1e3).toPrecision(3))}k` : tick), 'count');
  const bars = new Rectangles();
  for (const [from, to, count] of buckets) {
    const x = xScale(Math.max(0.5, from));
    bars.add(x, yScale(count), Math.max(1, xScale(to + 1) - x - 0.6), box.bottom - yScale(count));
  }
  bars.draw(svg, `c-${categories[source.category]}`);
  bottomAxis(svg, box, xScale, decadeTicks(low, high, box.right - box.left), roundDuration, 'self time, log scale');
  withTooltip(svg, (x) => {
    const bucket = buckets.find(([from, to]) => x >= xScale(Math.max(0.5, from)) && x < xScale(to + 1));
    if (!bucket) return undefined;
    return [`${exact(bucket[0])} to ${exact(bucket[1])}`, [['count', grouped(bucket[2])], ['of all', share(bucket[2], source.count)]]];
  });
  element('p', {class: 'remark'}, figure, tailText(source));
}

function drawHistograms() {
  const parent = document.getElementById('histogram-charts');
  parent.replaceChildren();
  const shown = data.sources.slice(0, histogramsShown);
  const left = data.sources.length - shown.length;
  caption(parent, `${data.cpu_count === 1 ? allName : 'All CPUs together'}: the ${shown.length} sources with the most stolen time of ${data.source_count}`);
  const grid = element('div', {class: 'grid-of-charts'}, parent);
  for (const source of shown) drawHistogram(grid, source);
  if (left === 0) return;
  const more = element('button', {type: 'button'}, parent, `show ${Math.min(12, left)} more`);
  more.addEventListener('click', () => { histogramsShown += 12; drawHistograms(); });
}
