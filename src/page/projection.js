// SPDX-License-Identifier: Apache-2.0
// The slowdown of a job by its size: what is above 1, on a logarithmic axis, with its interval as a band.
const nodesText = (nodes) => (nodes >= 1e6 ? `${Number((nodes / 1e6).toPrecision(3))}M`
  : nodes >= 1e3 ? `${Number((nodes / 1e3).toPrecision(3))}k` : String(nodes));
// 1.001, 1.5, 11: with the decimals that the first digit of its excess needs.
const slowdownTick = (excess) => (1 + excess).toFixed(Math.max(0, -Math.floor(Math.log10(excess) + 1e-9)));

// Between neighbours that both are known.
function intervalBand(sizes, xScale, yScale) {
  let path = '';
  for (let i = 1; i < sizes.length; ++i) {
    const [from, to] = [sizes[i - 1], sizes[i]];
    if (!from.excess || !to.excess) continue;
    const corners = [[from, 1], [to, 1], [to, 2], [from, 2]].map(([size, end]) => `${xScale(size.nodes).toFixed(2)} ${yScale(size.excess[end]).toFixed(2)}`);
    path += `M${corners.join('L')}z`;
  }
  return path;
}

function drawKnown(svg, sizes, xScale, yScale) {
  const known = sizes.filter((size) => size.excess);
  element('path', {d: intervalBand(sizes, xScale, yScale), class: 'band'}, svg);
  let line = '';
  for (const size of known) {
    const x = xScale(size.nodes).toFixed(2);
    const [middle, low, high] = size.excess.map((value) => yScale(value).toFixed(2));
    element('path', {d: `M${x} ${low}V${high}m-4 0h8M${x} ${low}m-4 0h8`, class: 'whisker'}, svg);
    const before = sizes[sizes.indexOf(size) - 1];
    line += `${before && before.excess ? 'L' : 'M'}${x} ${middle}`;
    element('circle', {cx: x, cy: middle, r: 3.5, class: 'c-periodic dot'}, svg);
  }
  element('path', {d: line, class: 'curve curve0'}, svg);
}

// Where it is not known, what that needs, in the words of the table: one above the other, or on end where that is too wide.
function drawUnknown(svg, box, sizes, xScale, room) {
  const middle = (box.top + box.bottom) / 2;
  for (const size of sizes) {
    if (size.excess) continue;
    const x = xScale(size.nodes);
    const [, first, amount, last] = /^(needs) (.*) (more)$/.exec(size.text) || [undefined, '', size.text, ''];
    if (room < 46) {
      element('text', {x, y: middle + 4, 'text-anchor': 'middle', class: 'axis-title', transform: `rotate(-90 ${x} ${middle})`}, svg, size.text);
      continue;
    }
    for (const [i, text] of [first, amount, last].entries()) {
      element('text', {x, y: middle + 15 * (i - 1), 'text-anchor': 'middle', class: 'axis-title'}, svg, text);
    }
  }
}

function drawProjection(figure) {
  figure.replaceChildren();
  const {grain_ns: grain, sizes} = data.projection;
  if (sizes.length === 0) return;
  caption(figure, `Slowdown of a job that meets at a barrier each ${duration(grain)}, by its number of nodes (Tsafrir et al.)`);
  const {svg, width, height} = chart(figure, 300, 'Slowdown of a job by its number of nodes');
  const box = {left: 70, right: width - 20, top: 30, bottom: height - 46};
  const inset = Math.min(40, width / 20);
  const [least, most] = [sizes[0].nodes, Math.max(sizes[sizes.length - 1].nodes, sizes[0].nodes * 2)];
  const xScale = logarithmic(least, most, box.left + inset, box.right - inset);
  const known = sizes.filter((size) => size.excess && size.excess[1] > 0);
  if (known.length) {
    const low = Math.min(...known.map((size) => size.excess[1])) / 1.5;
    const high = Math.max(...known.map((size) => size.excess[2])) * 1.5;
    const yScale = logarithmic(low, high, box.bottom, box.top);
    leftAxis(svg, box, yScale, decadeTicks(low, high, 3 * (box.bottom - box.top)), slowdownTick, 'E(max of n) / G; what is above 1 on a log scale');
    drawKnown(svg, sizes.map((size) => (known.includes(size) ? size : {...size, excess: null})), xScale, yScale);
  }
  drawUnknown(svg, box, sizes, xScale, (box.right - box.left - 2 * inset) / Math.max(1, sizes.length - 1));
  bottomAxis(svg, box, xScale, sizes.map((size) => size.nodes), nodesText, 'nodes, log scale');
  withTooltip(svg, (x) => {
    if (x < box.left || x > box.right) return undefined;
    const near = sizes.reduce((a, b) => (Math.abs(xScale(b.nodes) - x) < Math.abs(xScale(a.nodes) - x) ? b : a));
    return [`${grouped(near.nodes)} nodes`, near.excess ? [['slowdown', near.text], ['95% interval', near.range]] : [[near.text]]];
  });
}
