// The traces: fetched screen by screen, drawn on canvas, moved by mouse and keys.
import { askBytes, show as showProblem } from './page.js';
import { GAINS, GUTTER, clock, isBad, onsets, place, rows, state } from './trace_state.js';

const LEAST_ROW = 11;
const kept = new Map();
let wanted = null;

export const paper = document.getElementById('traces');
const axis = document.getElementById('axis'), scroller = document.getElementById('scroller');

export function colours() {
  const style = getComputedStyle(document.body);
  return Object.fromEntries(['ink', 'soft', 'line', 'paper', 'mark', 'guess', 'grid', 'trace-a', 'trace-b', 'bad-ink', 'link'].map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

export function fit(canvas, height) {
  const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.height = `${height}px`;
  }
  const pen = canvas.getContext('2d');
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  return { pen, width, height };
}

export function unpack(buffer) {
  const size = new DataView(buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, size)));
  return { ...head, values: new Float32Array(buffer, 4 + size) };
}

function columns() { return Math.max(64, Math.min(4000, Math.round((paper.clientWidth - GUTTER()) * (window.devicePixelRatio || 1)))); }

function address(start) {
  const asked = { start: start.toFixed(4), seconds: state.seconds, columns: columns(), montage: state.montage, high: state.high, low: state.low, notch: state.notch };
  const version = state.montage === 'average' ? { v: Object.keys(state.marks.bad).length } : {};
  return `${place()}/screen?${new URLSearchParams({ ...asked, ...version })}`;
}

async function fetched(start, signal) {
  const path = address(start);
  if (!kept.has(path)) {
    const began = performance.now();
    const screen = unpack(await (await askBytes(path, signal)).arrayBuffer());
    screen.look = [state.montage, state.high, state.low, state.notch].join();
    screen.took_ms = performance.now() - began;
    kept.set(path, screen);
    while (kept.size > 16) kept.delete(kept.keys().next().value);
  }
  return kept.get(path);
}

export async function fetchScreen(whenDrawn) {
  const start = state.start, path = address(start);
  if (wanted && wanted.path === path) return;
  if (wanted) wanted.stop.abort();
  wanted = { path, stop: new AbortController() };
  const mine = wanted;
  try {
    const screen = await fetched(start, mine.stop.signal);
    if (wanted !== mine) return;
    state.screen = screen;
    document.documentElement.dataset.screen = start.toFixed(3);
    document.documentElement.dataset.took = Math.round(screen.took_ms);
    whenDrawn();
    ahead(start, mine.stop.signal);
  } catch (problem) {
    if (problem.name !== 'AbortError') { showProblem(problem); if (wanted === mine) wanted = null; }
  }
}

// The neighbours are there before they are asked for.
async function ahead(start, signal) {
  const last = Math.max(0, state.about.length_s - state.seconds);
  for (const next of [start + state.seconds, start - state.seconds]) {
    const at = Math.min(last, Math.max(0, next));
    if (at !== start) { try { await fetched(at, signal); } catch { return; } }
  }
}

export function geometry() {
  const many = rows().names.length, gutter = GUTTER();
  const height = Math.max(scroller.clientHeight, many * LEAST_ROW);
  return { many, gutter, width: paper.clientWidth - gutter, height, row: height / many };
}

export const timeAt = (x) => state.start + ((x - GUTTER()) / (paper.clientWidth - GUTTER())) * state.seconds;
export const xOf = (s) => GUTTER() + ((s - state.start) / state.seconds) * (paper.clientWidth - GUTTER());
export function rowAt(y) { const { row, many } = geometry(); return Math.min(many - 1, Math.max(0, Math.floor(y / row))); }

export function draw() {
  const colour = colours(), place_ = geometry();
  const { pen } = fit(paper, place_.height);
  grid(pen, place_, colour);
  if (state.screen && state.screen.rows === place_.many) trace(pen, place_, colour);
  labels(pen, place_, colour);
  lines(pen, place_.height, colour, false);
  drawAxis(colour);
}

function grid(pen, { width, gutter, height }, colour) {
  pen.strokeStyle = colour.grid;
  pen.lineWidth = 1;
  pen.beginPath();
  const step = state.seconds <= 20 ? 1 : 5;
  for (let s = Math.ceil(state.start / step) * step; s <= state.start + state.seconds; s += step) {
    const x = Math.round(gutter + ((s - state.start) / state.seconds) * width) + 0.5;
    pen.moveTo(x, 0); pen.lineTo(x, height);
  }
  pen.stroke();
}

function trace(pen, { width, gutter, row, many, height }, colour) {
  const { values, columns: per, start_s, seconds } = state.screen, shafts = rows().shafts, contacts = rows().contacts;
  const step = (seconds / state.seconds) * width / per, left = gutter + ((start_s - state.start) / state.seconds) * width;
  pen.save();
  pen.beginPath(); pen.rect(gutter, 0, width, height); pen.clip();
  pen.lineWidth = 0.8; pen.lineJoin = 'bevel';
  let shaftNumber = 0;
  for (let r = 0; r < many; r += 1) {
    if (r && shafts[r] !== shafts[r - 1]) shaftNumber += 1;
    pen.strokeStyle = isBad(contacts[r]) ? colour['bad-ink'] : colour[shaftNumber % 2 ? 'trace-b' : 'trace-a'];
    const from = r * per, middle = (r + 0.5) * row, scale = row / (state.gain || 200), zero = state.high ? 0 : mean(values, from, per);
    pen.beginPath();
    // A seizure must not cover its neighbours: no trace leaves its row by more than two.
    const most = 2.5 * row;
    for (let k = 0; k < per; k += 1) pen.lineTo(left + (k + 0.5) * step, middle - Math.max(-most, Math.min(most, (values[from + k] - zero) * scale)));
    pen.stroke();
  }
  pen.restore();
}

// The height at which most rows of this screen just touch their neighbours.
export function usualGain() {
  const { values, columns: per, rows: many } = state.screen, spreads = [];
  for (let r = 0; r < many; r += 1) {
    const sorted = values.slice(r * per, (r + 1) * per).sort();
    spreads.push(sorted[Math.floor(0.98 * (per - 1))] - sorted[Math.floor(0.02 * (per - 1))]);
  }
  const usual = spreads.sort((a, b) => a - b)[Math.floor(many / 2)];
  return GAINS.find((gain) => gain >= usual) || GAINS[GAINS.length - 1];
}

function mean(values, from, per) { let sum = 0; for (let k = 0; k < per; k += 1) sum += values[from + k]; return sum / per; }

function labels(pen, { gutter, row, many, width }, colour) {
  const { shown, shafts, contacts } = rows(), first = (onsets()[state.chosen] || { first: [] }).first;
  pen.fillStyle = colour.paper; pen.fillRect(0, 0, gutter - 1, many * row);
  pen.font = `${Math.max(8, Math.min(12, row - 1))}px system-ui, sans-serif`;
  pen.textBaseline = 'middle'; pen.lineWidth = 1; pen.strokeStyle = colour.line;
  for (let r = 1; r < many; r += 1) {
    if (shafts[r] === shafts[r - 1]) continue;
    const y = Math.round(r * row) - 0.5;
    pen.beginPath(); pen.moveTo(0, y); pen.lineTo(gutter + width, y); pen.stroke();
  }
  for (let r = 0; r < many; r += 1) {
    const bad = isBad(contacts[r]), order = contacts[r].map((name) => first.indexOf(name) + 1).filter(Boolean);
    if (order.length) { pen.fillStyle = colour.mark; pen.fillRect(0, r * row + 1, 3, row - 2); }
    pen.fillStyle = bad ? colour['bad-ink'] : order.length ? colour.mark : colour.ink;
    pen.fillText(`${order.length ? `${Math.min(...order)}. ` : ''}${shown[r]}${bad ? ' ✕' : ''}`, 6, (r + 0.5) * row + 0.5, gutter - 8);
  }
}

function visible(s) { return s >= state.start && s <= state.start + state.seconds; }

function upright(pen, s, height, colour, dash) {
  const x = Math.round(xOf(s)) + 0.5;
  pen.strokeStyle = colour; pen.setLineDash(dash); pen.beginPath(); pen.moveTo(x, 0); pen.lineTo(x, height); pen.stroke(); pen.setLineDash([]);
}

function lines(pen, height, colour, onAxis) {
  pen.lineWidth = 1;
  for (const event of state.events) if (visible(event.onset_s)) upright(pen, event.onset_s, height, colour.soft, [2, 5]);
  pen.lineWidth = 1.5;
  for (const one of state.suggestions) if (visible(one.onset_s)) upright(pen, one.onset_s, height, colour.guess, [7, 5]);
  onsets().forEach((mark, index) => {
    const band = mark.uncertainty_s;
    if (band > 0 && mark.onset_s + band > state.start && mark.onset_s - band < state.start + state.seconds) {
      const left = Math.max(GUTTER(), xOf(mark.onset_s - band));
      pen.fillStyle = colour.mark; pen.globalAlpha = 0.12; pen.fillRect(left, 0, xOf(mark.onset_s + band) - left, height); pen.globalAlpha = 1;
    }
    if (visible(mark.onset_s)) { pen.lineWidth = index === state.chosen ? 3 : 2; upright(pen, mark.onset_s, height, colour.mark, []); }
  });
  if (!onAxis && state.cursor && visible(state.cursor.s)) { pen.lineWidth = 1; upright(pen, state.cursor.s, height, colour.link, [1, 3]); }
}

function drawAxis(colour) {
  const { pen, width } = fit(axis, 34), gutter = GUTTER();
  pen.font = '11px system-ui, sans-serif'; pen.textBaseline = 'middle'; pen.fillStyle = colour.soft; pen.textAlign = 'center';
  const steps = [0.5, 1, 2, 5, 10, 20].find((one) => (one / state.seconds) * (width - gutter) > 70) || 20;
  for (let s = Math.ceil(state.start / steps) * steps; s <= state.start + state.seconds + 1e-6; s += steps) {
    pen.fillText(state.about.length_s >= 600 ? clock(s) : `${Number(s.toFixed(1))} s`, Math.min(width - 28, Math.max(gutter + 10, xOf(s))), 25);
  }
  lines(pen, 34, colour, true);
  pen.textAlign = 'left';
  const taken = [];
  for (const mark of onsets()) flag(pen, taken, mark.onset_s, mark.type || 'onset', colour.mark, colour.paper);
  for (const one of state.suggestions) flag(pen, taken, one.onset_s, `? ${one.sure.toFixed(2)}`, colour.guess, colour.paper);
  for (const event of state.events) flag(pen, taken, event.onset_s, event.text.slice(0, 24), colour.soft, colour.paper);
}

// A word at a line, unless another word is there.
function flag(pen, taken, s, text, colour, ground) {
  const x = xOf(s) + 4, wide = pen.measureText(text).width;
  if (!visible(s) || taken.some(([left, right]) => x < right && x + wide > left)) return;
  taken.push([x, x + wide + 4]);
  pen.fillStyle = ground; pen.fillRect(x - 1, 2, wide + 2, 13);
  pen.fillStyle = colour; pen.fillText(text, x, 9);
}

// What the screen says at a time in a row, in words.
export function reading(s, row) {
  const screen = state.screen, name = rows().names[row];
  if (!screen || s < screen.start_s || s > screen.start_s + screen.seconds) return `${clock(s)} · ${s.toFixed(3)} s · ${name}`;
  const k = Math.min(screen.columns - 1, Math.max(0, Math.floor(((s - screen.start_s) / screen.seconds) * screen.columns)));
  const at = (i) => screen.values[row * screen.columns + Math.min(screen.columns - 1, i)];
  const pair = screen.per_column === 2 ? [at(k - (k % 2)), at(k - (k % 2) + 1)] : [at(k)];
  const words = pair.length === 2 ? `${Math.min(...pair).toFixed(1)} to ${Math.max(...pair).toFixed(1)} µV in this column` : `${pair[0].toFixed(1)} µV`;
  return `${clock(s)} · ${s.toFixed(3)} s · ${name}: ${words}`;
}
