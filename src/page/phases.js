// SPDX-License-Identifier: Apache-2.0
// How much longer than its work a phase of fixed work is, and how likely: one small chart for each CPU.
function drawPhasesOf(parent, cpu) {
  const figure = element('figure', {class: 'small'}, parent);
  caption(figure, `CPU ${cpu.cpu}: how likely a phase is longer than its work, which takes ${duration(cpu.work_ns)}`);
  const over = (ns) => Math.max(1, ns - cpu.work_ns);
  const points = cpu.points.map(([p, longer, low, high]) => ({p, longer, low, high}));
  if (points.length === 0) {
    element('p', {class: 'remark'}, figure, 'There are too few phases to tell.');
    return;
  }
  const {svg, width, height} = chart(figure, 200, `Durations of phases of CPU ${cpu.cpu}`);
  const box = {left: 56, right: width - 12, top: 22, bottom: height - 46};
  const low = Math.min(...points.map((point) => over(point.low))) / 1.3;
  const high = Math.max(...points.map((point) => over(point.high)), low * 2) * 1.3;
  const xScale = logarithmic(low, high, box.left, box.right);
  const least = Math.min(...points.map(({p}) => p)) / 2;
  const yScale = logarithmic(least, 0.2, box.bottom, box.top);
  leftAxis(svg, box, yScale, decadeTicks(least, 0.2, 3 * (box.bottom - box.top)).filter((p) => /^1/.test(p.toExponential())), (p) => `${Number((p * 100).toPrecision(1))}%`, 'probability, log scale');
  for (const point of points) {
    const y = yScale(point.p);
    element('path', {d: `M${xScale(over(point.low)).toFixed(2)} ${y}H${xScale(over(point.high)).toFixed(2)}`, class: 'whisker'}, svg);
    element('circle', {cx: xScale(over(point.longer)), cy: y, r: 3.5, class: 'c-periodic dot'}, svg);
  }
  element('path', {d: `M${points.map((point) => `${xScale(over(point.longer)).toFixed(2)} ${yScale(point.p).toFixed(2)}`).join('L')}`, class: 'curve curve0'}, svg);
  bottomAxis(svg, box, xScale, decadeTicks(low, high, box.right - box.left), roundDuration, 'longer than the work by, log scale');
  withTooltip(svg, (x, y) => {
    const near = points.reduce((a, b) => (Math.abs(yScale(b.p) - y) < Math.abs(yScale(a.p) - y) ? b : a));
    return [`one phase in ${grouped(1 / near.p)}`, [['takes more than', exact(near.longer)], ['95% interval', `${exact(near.low)} to ${exact(near.high)}`]]];
  });
}

function drawPhases(parent) {
  parent.replaceChildren();
  for (const cpu of data.phases) drawPhasesOf(parent, cpu);
}
