// SPDX-License-Identifier: Apache-2.0
// Figures as people read them: three significant digits for charts, exact ones for tooltips and tables.
const units = [[3.6e12, 'h'], [6e10, 'min'], [1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']];

function duration(ns) {
  if (ns < 1) return ns === 0 ? '0 ns' : `${Number(ns.toPrecision(3))} ns`;
  const [size, name] = units.find(([unit]) => ns >= unit * 0.9995) || units[units.length - 1];
  return `${significant(ns / size)} ${name}`;
}

function significant(value) {
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return value.toFixed(digits);
}

// For axes: "10 µs", not "10.0 µs".
const roundDuration = (ns) => duration(ns).replace(/\.0+ /, ' ').replace(/(\.\d*[1-9])0+ /, '$1 ');

const grouped = (number) => String(Math.round(number)).replace(/\B(?=(\d{3})+$)/g, ',');
const exact = (ns) => `${grouped(ns)} ns`;

function share(part, whole) {
  if (whole === 0) return '–';
  const percent = (100 * part) / whole;
  if (percent === 0) return '0%';
  return percent < 0.0001 ? '<0.0001%' : `${percent.toPrecision(3)}%`;
}

const shortened = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
