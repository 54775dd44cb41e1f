// The traces: fetched screen by screen and drawn on a canvas.
import { getBytes, showProblem } from './page.js';
import { GAINS, GUTTER, clock, isBad, onsets, fileUrl, rows, state } from './trace_state.js';

const MIN_ROW = 11;
const cache = new Map();
let pending = null;

export const tracesCanvas = document.getElementById('traces');
const axis = document.getElementById('axis'), scroller = document.getElementById('scroller');

export function colours() {
  const style = getComputedStyle(document.body);
  return Object.fromEntries(['ink', 'soft', 'line', 'paper', 'mark', 'suggestion', 'grid', 'trace-a', 'trace-b', 'bad-ink', 'link'].map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

export function fit(canvas, height) {
  const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext('2d');
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, width, height };
}

export function unpack(buffer) {
  const size = new DataView(buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, size)));
  return { ...head, values: new Float32Array(buffer, 4 + size) };
}

function columns() { return Math.max(64, Math.min(4000, Math.round((tracesCanvas.clientWidth - GUTTER()) * (window.devicePixelRatio || 1)))); }

function screenUrl(start) {
  const settings = { start: start.toFixed(4), seconds: state.seconds, columns: columns(), montage: state.montage, high: state.high, low: state.low, notch: state.notch };
  const version = state.montage === 'average' ? { v: Object.keys(state.marks.bad).length } : {};
  return `${fileUrl()}/screen?${new URLSearchParams({ ...settings, ...version })}`;
}

async function cachedScreen(start, signal) {
  const path = screenUrl(start);
  if (!cache.has(path)) {
    const began = performance.now();
    const screen = unpack(await (await getBytes(path, signal)).arrayBuffer());
    screen.look = [state.montage, state.high, state.low, state.notch].join();
    screen.took_ms = performance.now() - began;
    cache.set(path, screen);
    while (cache.size > 16) cache.delete(cache.keys().next().value);
  }
  return cache.get(path);
}

export async function fetchScreen(whenDrawn) {
  const start = state.start, path = screenUrl(start);
  if (pending && pending.path === path) return;
  if (pending) pending.stop.abort();
  pending = { path, stop: new AbortController() };
  const request = pending;
  try {
    const screen = await cachedScreen(start, request.stop.signal);
    if (pending !== request) return;
    state.screen = screen;
    document.documentElement.dataset.screen = start.toFixed(3);
    document.documentElement.dataset.took = Math.round(screen.took_ms);
    whenDrawn();
    prefetch(start, request.stop.signal);
  } catch (problem) {
    if (problem.name !== 'AbortError') { showProblem(problem); if (pending === request) pending = null; }
  }
}

// Neighbouring screens are fetched in advance.
async function prefetch(start, signal) {
  const last = Math.max(0, state.about.length_s - state.seconds);
  for (const next of [start + state.seconds, start - state.seconds]) {
    const neighbour = Math.min(last, Math.max(0, next));
    if (neighbour !== start) { try { await cachedScreen(neighbour, signal); } catch { return; } }
  }
}

export function geometry() {
  const count = rows().names.length, gutter = GUTTER();
  const height = Math.max(scroller.clientHeight, count * MIN_ROW);
  return { count, gutter, width: tracesCanvas.clientWidth - gutter, height, row: height / count };
}

export const timeAt = (x) => state.start + ((x - GUTTER()) / (tracesCanvas.clientWidth - GUTTER())) * state.seconds;
export const xOf = (s) => GUTTER() + ((s - state.start) / state.seconds) * (tracesCanvas.clientWidth - GUTTER());
export function rowAt(y) { const { row, count } = geometry(); return Math.min(count - 1, Math.max(0, Math.floor(y / row))); }

export function draw() {
  const colour = colours(), layout = geometry();
  const { context } = fit(tracesCanvas, layout.height);
  drawGrid(context, layout, colour);
  if (state.screen && state.screen.rows === layout.count) drawTraces(context, layout, colour);
  drawLabels(context, layout, colour);
  drawLines(context, layout.height, colour, false);
  drawAxis(colour);
}

function drawGrid(context, { width, gutter, height }, colour) {
  context.strokeStyle = colour.grid;
  context.lineWidth = 1;
  context.beginPath();
  const step = state.seconds <= 20 ? 1 : 5;
  for (let s = Math.ceil(state.start / step) * step; s <= state.start + state.seconds; s += step) {
    const x = Math.round(gutter + ((s - state.start) / state.seconds) * width) + 0.5;
    context.moveTo(x, 0); context.lineTo(x, height);
  }
  context.stroke();
}

function drawTraces(context, { width, gutter, row, count, height }, colour) {
  const { values, columns: per, start_s, seconds } = state.screen, shafts = rows().shafts, contacts = rows().contacts;
  const step = (seconds / state.seconds) * width / per, left = gutter + ((start_s - state.start) / state.seconds) * width;
  context.save();
  context.beginPath(); context.rect(gutter, 0, width, height); context.clip();
  context.lineWidth = 0.8; context.lineJoin = 'bevel';
  let shaftNumber = 0;
  for (let r = 0; r < count; r += 1) {
    if (r && shafts[r] !== shafts[r - 1]) shaftNumber += 1;
    context.strokeStyle = isBad(contacts[r]) ? colour['bad-ink'] : colour[shaftNumber % 2 ? 'trace-b' : 'trace-a'];
    const from = r * per, middle = (r + 0.5) * row, scale = row / (state.gain || 200), zero = state.high ? 0 : mean(values, from, per);
    context.beginPath();
    // A seizure must not cover its neighbours: traces are clipped two rows away.
    const limit = 2.5 * row;
    for (let k = 0; k < per; k += 1) context.lineTo(left + (k + 0.5) * step, middle - Math.max(-limit, Math.min(limit, (values[from + k] - zero) * scale)));
    context.stroke();
  }
  context.restore();
}

// The scale at which most rows of this screen just touch their neighbours.
export function defaultGain() {
  const { values, columns: per, rows: count } = state.screen, ranges = [];
  for (let r = 0; r < count; r += 1) {
    const sorted = values.slice(r * per, (r + 1) * per).sort();
    ranges.push(sorted[Math.floor(0.98 * (per - 1))] - sorted[Math.floor(0.02 * (per - 1))]);
  }
  const median = ranges.sort((a, b) => a - b)[Math.floor(count / 2)];
  return GAINS.find((gain) => gain >= median) || GAINS[GAINS.length - 1];
}

function mean(values, from, per) { let sum = 0; for (let k = 0; k < per; k += 1) sum += values[from + k]; return sum / per; }

function drawLabels(context, { gutter, row, count, width }, colour) {
  const { shown, shafts, contacts } = rows(), first = (onsets()[state.chosen] || { first: [] }).first;
  context.fillStyle = colour.paper; context.fillRect(0, 0, gutter - 1, count * row);
  context.font = `${Math.max(8, Math.min(12, row - 1))}px system-ui, sans-serif`;
  context.textBaseline = 'middle'; context.lineWidth = 1; context.strokeStyle = colour.line;
  for (let r = 1; r < count; r += 1) {
    if (shafts[r] === shafts[r - 1]) continue;
    const y = Math.round(r * row) - 0.5;
    context.beginPath(); context.moveTo(0, y); context.lineTo(gutter + width, y); context.stroke();
  }
  for (let r = 0; r < count; r += 1) {
    const bad = isBad(contacts[r]), order = contacts[r].map((name) => first.indexOf(name) + 1).filter(Boolean);
    if (order.length) { context.fillStyle = colour.mark; context.fillRect(0, r * row + 1, 3, row - 2); }
    context.fillStyle = bad ? colour['bad-ink'] : order.length ? colour.mark : colour.ink;
    context.fillText(`${order.length ? `${Math.min(...order)}. ` : ''}${shown[r]}${bad ? ' ✕' : ''}`, 6, (r + 0.5) * row + 0.5, gutter - 8);
  }
}

function visible(s) { return s >= state.start && s <= state.start + state.seconds; }

function drawVertical(context, s, height, colour, dash) {
  const x = Math.round(xOf(s)) + 0.5;
  context.strokeStyle = colour; context.setLineDash(dash); context.beginPath(); context.moveTo(x, 0); context.lineTo(x, height); context.stroke(); context.setLineDash([]);
}

function drawLines(context, height, colour, onAxis) {
  context.lineWidth = 1;
  for (const event of state.events) if (visible(event.onset_s)) drawVertical(context, event.onset_s, height, colour.soft, [2, 5]);
  context.lineWidth = 1.5;
  for (const suggestion of state.suggestions) if (visible(suggestion.onset_s)) drawVertical(context, suggestion.onset_s, height, colour.suggestion, [7, 5]);
  onsets().forEach((mark, index) => {
    const band = mark.uncertainty_s;
    if (band > 0 && mark.onset_s + band > state.start && mark.onset_s - band < state.start + state.seconds) {
      const left = Math.max(GUTTER(), xOf(mark.onset_s - band));
      context.fillStyle = colour.mark; context.globalAlpha = 0.12; context.fillRect(left, 0, xOf(mark.onset_s + band) - left, height); context.globalAlpha = 1;
    }
    if (visible(mark.onset_s)) { context.lineWidth = index === state.chosen ? 3 : 2; drawVertical(context, mark.onset_s, height, colour.mark, []); }
  });
  if (!onAxis && state.cursor && visible(state.cursor.s)) { context.lineWidth = 1; drawVertical(context, state.cursor.s, height, colour.link, [1, 3]); }
}

function drawAxis(colour) {
  const { context, width } = fit(axis, 34), gutter = GUTTER();
  context.font = '11px system-ui, sans-serif'; context.textBaseline = 'middle'; context.fillStyle = colour.soft; context.textAlign = 'center';
  const steps = [0.5, 1, 2, 5, 10, 20].find((step) => (step / state.seconds) * (width - gutter) > 70) || 20;
  for (let s = Math.ceil(state.start / steps) * steps; s <= state.start + state.seconds + 1e-6; s += steps) {
    context.fillText(state.about.length_s >= 600 ? clock(s) : `${Number(s.toFixed(1))} s`, Math.min(width - 28, Math.max(gutter + 10, xOf(s))), 25);
  }
  drawLines(context, 34, colour, true);
  context.textAlign = 'left';
  const occupied = [];
  for (const mark of onsets()) drawFlag(context, occupied, mark.onset_s, mark.type || 'onset', colour.mark, colour.paper);
  for (const suggestion of state.suggestions) drawFlag(context, occupied, suggestion.onset_s, `? ${suggestion.sure.toFixed(2)}`, colour.suggestion, colour.paper);
  for (const event of state.events) drawFlag(context, occupied, event.onset_s, event.text.slice(0, 24), colour.soft, colour.paper);
}

// A word next to a line, unless another word occupies the place.
function drawFlag(context, occupied, s, text, colour, ground) {
  const x = xOf(s) + 4, wide = context.measureText(text).width;
  if (!visible(s) || occupied.some(([left, right]) => x < right && x + wide > left)) return;
  occupied.push([x, x + wide + 4]);
  context.fillStyle = ground; context.fillRect(x - 1, 2, wide + 2, 13);
  context.fillStyle = colour; context.fillText(text, x, 9);
}

// Time, contact and value at a position, in words.
export function describeCursor(s, row) {
  const screen = state.screen, name = rows().names[row];
  if (!screen || s < screen.start_s || s > screen.start_s + screen.seconds) return `${clock(s)} · ${s.toFixed(3)} s · ${name}`;
  const k = Math.min(screen.columns - 1, Math.max(0, Math.floor(((s - screen.start_s) / screen.seconds) * screen.columns)));
  const value = (i) => screen.values[row * screen.columns + Math.min(screen.columns - 1, i)];
  const pair = screen.per_column === 2 ? [value(k - (k % 2)), value(k - (k % 2) + 1)] : [value(k)];
  const words = pair.length === 2 ? `${Math.min(...pair).toFixed(1)} to ${Math.max(...pair).toFixed(1)} µV in this column` : `${pair[0].toFixed(1)} µV`;
  return `${clock(s)} · ${s.toFixed(3)} s · ${name}: ${words}`;
}
