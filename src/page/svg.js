// SPDX-License-Identifier: Apache-2.0
// Elements, and charts to put them in.
function element(name, attributes, parent, text) {
  const svg = ['svg', 'g', 'path', 'rect', 'line', 'text', 'circle', 'title', 'pattern', 'defs', 'polyline'];
  const made = svg.includes(name) ? document.createElementNS('http://www.w3.org/2000/svg', name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  if (parent) parent.append(made);
  return made;
}

// An empty chart as wide as its figure. `label` says to those who cannot see it what it shows.
function chart(figure, height, label) {
  const width = Math.max(280, Math.floor(figure.clientWidth));
  const svg = element('svg', {width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': label}, figure);
  return {svg, width, height};
}

const caption = (figure, text) => element('figcaption', {}, figure, text);

// Rectangles of one colour as one path: thousands of elements would be slow.
class Rectangles {
  constructor() { this.path = ''; }
  add(x, y, width, height) {
    if (width > 0 && height > 0) this.path += `M${x.toFixed(2)} ${y.toFixed(2)}h${width.toFixed(2)}v${height.toFixed(2)}h${(-width).toFixed(2)}z`;
  }
  draw(parent, className) { if (this.path) element('path', {d: this.path, class: className}, parent); }
}

// A table below a chart, made when it is opened; `rows()` gives arrays of texts, the first of them the headers.
function tableBelow(figure, title, rows) {
  const details = element('details', {}, figure);
  element('summary', {}, details, title);
  details.addEventListener('toggle', () => {
    if (!details.open || details.querySelector('table')) return;
    const table = element('table', {}, element('div', {class: 'table'}, details));
    for (const [i, row] of rows().entries()) {
      const line = element('tr', {}, table);
      for (const cell of row) element(i === 0 ? 'th' : 'td', {class: 'figure'}, line, cell);
    }
  });
}

function legend(figure, shown, extra) {
  const list = element('ul', {class: 'legend'}, figure);
  for (const category of shown) {
    const item = element('li', {}, list);
    element('span', {class: `key c-${categories[category]}`}, item);
    item.append(categoryLabel(category));
  }
  for (const [className, text] of extra || []) {
    const item = element('li', {}, list);
    element('span', {class: `key ${className}`}, item);
    item.append(text);
  }
}
