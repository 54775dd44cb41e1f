// Signals around onset, as lowest and highest sample per bin, so that fast activity keeps its
// height. Here the chosen contact in every seizure; strips.js has all contacts of one seizure.
const traces = data.traces ? { ...data.traces, coded: new Int8Array(bytesOf(data.traces.coded).buffer) } : null;
const TRACE_HEIGHT = Math.max(56, Math.min(120, 330 / S));
const SHORTEST_S = 0.5;
let gain = 1;
let tracesCanvas = null;
// Share of a contact's largest value, for every code.
const SHARES = Float32Array.from({ length: 256 }, (_, i) => (traces ? Math.sinh((i - 128) / 127 * Math.asinh(traces.bend)) / traces.bend : 0));

function wholeSpan() { return [traces.from, traces.from + traces.bins / traces.rate]; }

// From, to in seconds around a middle, within what there is.
function spanAround(middle, length) {
  const [first, last] = wholeSpan();
  const size = Math.max(SHORTEST_S, Math.min(last - first, length));
  const from = Math.max(first, Math.min(last - size, middle - size / 2));
  return [from, from + size];
}
function zoomBy(factor, middle = (state.span[0] + state.span[1]) / 2) {
  const [from, to] = state.span;
  const share = (middle - from) / (to - from);
  const size = Math.max(SHORTEST_S, (to - from) * factor);
  set({ span: spanAround(middle + (0.5 - share) * size, size) });
}
function panBy(share) {
  const [from, to] = state.span;
  set({ span: spanAround((from + to) / 2 + share * (to - from), to - from) });
}
function spanKeys(event) {
  const pan = { ArrowLeft: -0.25, ArrowRight: 0.25 }[event.key];
  const zoom = { '+': 0.5, '=': 0.5, '-': 2 }[event.key];
  if (!pan && !zoom) return false;
  event.preventDefault();
  event.stopPropagation();
  if (pan) panBy(pan); else zoomBy(zoom);
  return true;
}

function spanTools() {
  const one = (text, work, title) => button(text, work, { title, 'aria-label': title });
  return el('span', { class: 'choice', role: 'group', 'aria-label': 'Time shown' },
    one('◀', () => panBy(-0.5), 'Earlier'), one('−', () => zoomBy(2), 'Longer time'), one('+', () => zoomBy(0.5), 'Shorter time: shows fast activity'), one('▶', () => panBy(0.5), 'Later'),
    one('onset', () => set({ span: spanAround(1, 4) }), '4 s around onset'), one('all', () => set({ span: wholeSpan() }), 'Whole interval'));
}

function buildTraces() {
  if (!traces) {
    fill('traces', el('p', { class: 'muted' }, 'No signals: the input was a cube, which contains none.'));
    return;
  }
  state.span = wholeSpan();
  tracesCanvas = canvas('traces', TRACE_HEIGHT * S + 26, drawTraces, { tabindex: '0', role: 'img', 'aria-label': 'Signal of the selected contact around onset. The left and right keys move in time, plus and minus zoom.', keydown: spanKeys });
  const change = (by) => () => { gain = Math.max(0.25, Math.min(16, gain * by)); tracesCanvas.paint(); };
  document.getElementById('traces').prepend(el('div', { class: 'sub-head' }, el('h3', {}, 'Signal around onset'),
    el('span', { class: 'tools' }, spanTools(), el('span', { class: 'choice' }, button('↓', change(0.5), { title: 'Smaller', 'aria-label': 'Smaller amplitude' }), button('↑', change(2), { title: 'Larger', 'aria-label': 'Larger amplitude' })))));
}

// The lowest and highest value of a contact, for every column of a box: {x, width} and a span.
// work(x, low, high) in µV; gaps are passed over.
function eachColumn(s, c, box, [from, to], work) {
  const { rate, bins, coded } = traces;
  const start = 2 * bins * (s * C + c);
  const first = Math.max(0, Math.floor((from - traces.from) * rate));
  const last = Math.min(bins, Math.ceil((to - traces.from) * rate));
  const each = Math.max(1, Math.floor((last - first) / box.width));
  const size = traces.scale[s][c];
  for (let b = first; b < last; b += each) {
    let [low, high] = [127, -128];
    for (let i = b; i < Math.min(last, b + each); i += 1) {
      const [a, z] = [coded[start + 2 * i], coded[start + 2 * i + 1]];
      if (a !== -128 && a < low) low = a;
      if (a !== -128 && z > high) high = z;
    }
    if (high === -128) continue;
    const t = traces.from + (b + each / 2) / rate;
    work(box.x + box.width * (t - from) / (to - from), size * SHARES[low + 128], size * SHARES[high + 128]);
  }
}

// Marks of a time axis that are round and not too many.
function roundTimes([from, to], width) {
  const wanted = (to - from) / Math.max(2, width / 70);
  const apart = [0.1, 0.2, 0.5, 1, 2, 5, 10].find((step) => step >= wanted) ?? 10;
  const times = [];
  for (let i = Math.ceil(from / apart - 1e-6); i * apart <= to + 1e-6; i += 1) times.push([i * apart, i === 0 ? 'onset' : `${i > 0 ? '+' : '−'}${Math.abs(i * apart).toFixed(apart < 1 ? 1 : 0)}`]);
  return times;
}

function timeAxis(context, box, span, bottom) {
  context.font = '11px system-ui, sans-serif'; context.fillStyle = hue.soft;
  for (const [t, text] of roundTimes(span, box.width)) {
    const x = box.x + box.width * (t - span[0]) / (span[1] - span[0]);
    context.textAlign = x > box.x + box.width - 16 ? 'right' : x < box.x + 10 ? 'left' : 'center';
    context.fillText(text, x, bottom + 16);
  }
  context.textAlign = 'left';
}

function drawTraces(context, width) {
  const box = { x: 34, width: width - 40 };
  const at = (t) => box.x + box.width * (t - state.span[0]) / (state.span[1] - state.span[0]);
  const c = state.chosen;
  // One scale for all seizures, so that they can be compared.
  const largest = Math.max(1e-6, ...data.seizures.map((_, s) => traces.scale[s][c])) / gain;
  data.seizures.forEach((_, s) => drawTrace(context, s, c, box, at, largest));
  onsetLine(context, box, at, 2, TRACE_HEIGHT * S + 2);
  timeAxis(context, box, state.span, TRACE_HEIGHT * S + 2);
}

function onsetLine(context, box, at, top, bottom) {
  if (at(0) < box.x || at(0) > box.x + box.width) return;
  context.strokeStyle = hue.ink; context.lineWidth = 1;
  line(context, [at(0), top], [at(0), bottom]);
}

function drawTrace(context, s, c, box, at, largest) {
  const middle = TRACE_HEIGHT * (s + 0.5) + 2;
  context.fillStyle = hue.text; context.font = '600 11px system-ui, sans-serif';
  context.fillText(short(s), 4, middle + 4);
  if (!traces.scale[s][c]) { context.fillStyle = hue.soft; context.fillText('not in this seizure', 40, middle + 4); return; }
  const time = contacts[c].times[s];
  if (time !== null && time < state.span[1]) {
    const left = Math.max(box.x, at(time));
    context.fillStyle = hue.rise;
    context.fillRect(left, middle - TRACE_HEIGHT / 2 + 3, box.x + box.width - left, TRACE_HEIGHT - 6);
  }
  const tall = (TRACE_HEIGHT / 2 - 4) / largest;
  const limit = (y) => Math.max(middle - TRACE_HEIGHT / 2, Math.min(middle + TRACE_HEIGHT / 2, y));
  context.strokeStyle = hue.trace; context.lineWidth = 0.9;
  context.beginPath();
  eachColumn(s, c, box, state.span, (x, low, high) => { context.lineTo(x, limit(middle - low * tall)); context.lineTo(x, limit(middle - high * tall)); });
  context.stroke();
  if (s === 0) scaleBar(context, largest, TRACE_HEIGHT / 2 - 4, 30, 6);
}

// A bar of a round number of µV; `room` pixels are `largest` µV.
function scaleBar(context, largest, room, x, y) {
  const power = 10 ** Math.floor(Math.log10(largest));
  const size = [5, 2, 1].map((m) => m * power).find((m) => m <= largest) ?? power;
  context.strokeStyle = hue.ink; context.lineWidth = 2;
  line(context, [x, y], [x, y + size / largest * room]);
  context.fillStyle = hue.text; context.font = '10px system-ui, sans-serif';
  context.fillText(`${size >= 1 ? Math.round(size) : size.toPrecision(1)} µV`, x + 8, y + 8);
}
