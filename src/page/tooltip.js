// SPDX-License-Identifier: Apache-2.0
// One tooltip for all charts. Its lines are [text, value, category]; the last two may be missing.
const tooltip = document.getElementById('tooltip');

function showTooltip(event, title, lines) {
  tooltip.replaceChildren();
  element('strong', {}, tooltip, title);
  const table = element('table', {}, tooltip);
  for (const [text, value, category] of lines) {
    const row = element('tr', {}, table);
    const name = element('td', {}, row);
    if (category !== undefined) element('span', {class: `key c-${categories[category]}`}, name);
    name.append(text);
    if (value === undefined) name.colSpan = 2;
    else element('td', {class: 'figure'}, row, value);
  }
  tooltip.hidden = false;
  const room = 14;
  const right = event.clientX + room + tooltip.offsetWidth < innerWidth;
  const left = right ? event.clientX + room : Math.max(0, event.clientX - room - tooltip.offsetWidth);
  const top = Math.max(0, Math.min(event.clientY + room, innerHeight - tooltip.offsetHeight - room));
  tooltip.style.left = `${left}px`;
  tooltip.style.top = `${top}px`;
}

const hideTooltip = () => { tooltip.hidden = true; };

// `find(x, y)`, in the units of the chart, gives [title, lines], or nothing where there is nothing to tell.
function withTooltip(svg, find) {
  svg.addEventListener('pointermove', (event) => {
    const box = svg.getBoundingClientRect();
    const scale = svg.viewBox.baseVal.width / box.width;
    const found = find((event.clientX - box.left) * scale, (event.clientY - box.top) * scale);
    if (found) showTooltip(event, ...found);
    else hideTooltip();
  });
  svg.addEventListener('pointerleave', hideTooltip);
}
