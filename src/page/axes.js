// SPDX-License-Identifier: Apache-2.0
// Scales and their axes. A scale turns a value into a place of the chart.
const linear = (from, to, start, end) => (value) => start + ((value - from) / (to - from)) * (end - start);
const logarithmic = (from, to, start, end) => {
  const scale = linear(Math.log(from), Math.log(to), start, end);
  return (value) => scale(Math.log(value));
};

// About `wanted` round steps from `from` to `to`.
function roundTicks(from, to, wanted) {
  const rough = (to - from) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
  const ticks = [];
  for (let i = Math.ceil(from / step); i * step <= to * (1 + 1e-12); ++i) ticks.push(i * step);
  return ticks;
}

// Powers of ten, and twos and fives between them where there is room.
function decadeTicks(from, to, room) {
  const decades = Math.log10(to / from);
  const factors = room / decades > 170 ? [1, 2, 5] : [1];
  const every = Math.max(1, Math.ceil((decades * 58) / room));
  const ticks = [];
  for (let power = Math.floor(Math.log10(from)); power <= Math.log10(to); ++power) {
    if (factors.length === 1 && ((power % every) + every) % every !== 0) continue;
    for (const factor of factors) ticks.push(factor * 10 ** power);
  }
  return ticks.filter((tick) => tick >= from * 0.999 && tick <= to * 1.001);
}

function bottomAxis(svg, box, scale, ticks, format, title) {
  element('line', {x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom, class: 'axis'}, svg);
  for (const tick of ticks) {
    const x = scale(tick);
    element('line', {x1: x, x2: x, y1: box.bottom, y2: box.bottom + 4, class: 'axis'}, svg);
    const anchor = x > box.right - 20 ? 'end' : 'middle';
    element('text', {x: anchor === 'end' ? box.right + 8 : x, y: box.bottom + 16, 'text-anchor': anchor}, svg, format(tick));
  }
  if (title) element('text', {x: (box.left + box.right) / 2, y: box.bottom + 33, 'text-anchor': 'middle', class: 'axis-title'}, svg, title);
}

function leftAxis(svg, box, scale, ticks, format, title) {
  for (const tick of ticks) {
    const y = scale(tick);
    element('line', {x1: box.left, x2: box.right, y1: y, y2: y, class: 'grid'}, svg);
    element('text', {x: box.left - 6, y: y + 4, 'text-anchor': 'end'}, svg, format(tick));
  }
  if (title) element('text', {x: 4, y: box.top - 10, class: 'axis-title'}, svg, title);
}
