// The signal of the chosen contact around onset, in every seizure, as lowest and highest sample
// per bin, so that fast activity keeps its height.
const traces = data.traces ? { ...data.traces, coded: new Int8Array(bytesOf(data.traces.coded).buffer) } : null;
const TRACE_HEIGHT = Math.max(56, Math.min(120, 330 / S));
let gain = 1;
let tracesCanvas = null;

function buildTraces() {
  if (!traces) {
    fill('traces', el('p', { class: 'muted' }, 'No signals: the patient was given as a cube.'));
    return;
  }
  tracesCanvas = canvas('traces', TRACE_HEIGHT * S + 26, drawTraces, { role: 'img', 'aria-label': 'Signal of the chosen contact around onset' });
  const change = (by) => () => { gain = Math.max(0.25, Math.min(16, gain * by)); tracesCanvas.paint(); };
  document.getElementById('traces').prepend(el('div', { class: 'sub-head' }, el('h3', {}, 'Signal around onset'),
    el('span', { class: 'tools' }, button('−', change(0.5), { title: 'Smaller', 'aria-label': 'Smaller amplitude' }), button('+', change(2), { title: 'Larger', 'aria-label': 'Larger amplitude' }))));
}

function drawTraces(context, width) {
  const left = 34;
  const stop = traces.from + traces.bins / traces.rate;
  const at = (t) => left + (width - left - 6) * (t - traces.from) / (stop - traces.from);
  const c = state.chosen;
  // One scale for all seizures, so that they can be compared.
  const largest = Math.max(1e-6, ...data.seizures.map((_, s) => traces.scale[s][c])) / gain;
  data.seizures.forEach((_, s) => drawTrace(context, s, c, at, largest, width));
  context.strokeStyle = '#10151c'; context.lineWidth = 1;
  line(context, [at(0), 2], [at(0), TRACE_HEIGHT * S + 2]);
  context.fillStyle = '#76808d'; context.textAlign = 'center'; context.font = '11px system-ui, sans-serif';
  for (let t = Math.ceil(traces.from / 5) * 5; t <= stop; t += 5) {
    context.textAlign = t + 2 > stop ? 'right' : 'center';
    context.fillText(t > 0 ? `+${t}` : t < 0 ? `−${-t}` : 'onset', at(t), TRACE_HEIGHT * S + 18);
  }
  context.textAlign = 'left';
}

function drawTrace(context, s, c, at, largest, width) {
  const middle = TRACE_HEIGHT * (s + 0.5) + 2;
  context.fillStyle = '#3d4856'; context.font = '600 11px system-ui, sans-serif';
  context.fillText(short(s), 4, middle + 4);
  if (!traces.scale[s][c]) { context.fillStyle = '#76808d'; context.fillText('not in this seizure', 40, middle + 4); return; }
  const time = contacts[c].times[s];
  if (time !== null) {
    context.fillStyle = 'rgba(235,148,66,0.28)';
    context.fillRect(at(time), middle - TRACE_HEIGHT / 2 + 3, Math.max(0, width - 6 - at(time)), TRACE_HEIGHT - 6);
  }
  const height = (TRACE_HEIGHT / 2 - 4) * traces.scale[s][c] / largest / 127;
  const limit = (y) => Math.max(middle - TRACE_HEIGHT / 2, Math.min(middle + TRACE_HEIGHT / 2, y));
  const start = 2 * traces.bins * (s * C + c);
  context.strokeStyle = '#253040'; context.lineWidth = 0.9;
  context.beginPath();
  for (let b = 0; b < traces.bins; b += 1) {
    const [low, high] = [traces.coded[start + 2 * b], traces.coded[start + 2 * b + 1]];
    if (low === -128) continue;
    const x = at(traces.from + (b + 0.5) / traces.rate);
    context.lineTo(x, limit(middle - low * height));
    context.lineTo(x, limit(middle - high * height));
  }
  context.stroke();
  if (s === 0) scaleBar(context, largest);
}

function scaleBar(context, largest) {
  const room = TRACE_HEIGHT / 2 - 4;
  const power = 10 ** Math.floor(Math.log10(largest));
  const size = [5, 2, 1].map((m) => m * power).find((m) => m <= largest) ?? power;
  const tall = size / largest * room;
  context.strokeStyle = '#10151c'; context.lineWidth = 2;
  line(context, [30, 6], [30, 6 + tall]);
  context.fillStyle = '#3d4856'; context.font = '10px system-ui, sans-serif';
  context.fillText(`${size >= 1 ? Math.round(size) : size.toPrecision(1)} µV`, 38, 12);
}
