// All contacts of one seizure around onset, one under the other, in the order of the heatmap.
// More rows than this lie too close to each other to be read.
const strips = { gain: 1, who: C > 120 ? 'leading' : 'all', seizure: 0 };
const STRIPS_GUTTER = 62;
let stripsCanvas = null;

function stripRows() {
  const order = heatRows();
  if (strips.who === 'leading') return order.filter((i) => contacts[i].rank <= Math.max(data.k, 20));
  if (strips.who === 'electrode') return order.filter((i) => contacts[i].shaft === contacts[state.chosen].shaft);
  return order;
}
function stripHeight() {
  return strips.who === 'all' ? rowHeight() : Math.max(rowHeight(), Math.min(34, 640 / Math.max(1, stripRows().length)));
}
function stripBox(width) { return { x: STRIPS_GUTTER, width: width - STRIPS_GUTTER - 8 }; }

// µV that one row is tall: three of four contacts keep within about three rows.
function stripUnit() {
  const sizes = traces.scale[strips.seizure].filter((v) => v > 0).sort((a, b) => a - b);
  return Math.max(1e-6, (sizes[Math.floor(0.75 * (sizes.length - 1))] ?? 1) / 1.5) / strips.gain;
}

function buildStrips() {
  if (!traces) {
    document.querySelector('.heat-grid').classList.add('alone');
    fill('strips', el('p', { class: 'muted pad' }, 'No signals: the input was a cube, which contains none.'));
    return;
  }
  const attributes = { tabindex: '0', role: 'img', 'data-paper': '0.49', 'aria-label': 'Signals of all contacts. The up and down keys select a contact, left and right move in time, plus and minus zoom.' };
  stripsCanvas = canvas('strips', () => 22 + stripHeight() * stripRows().length + 34, drawStrips, attributes);
  const node = stripsCanvas.node;
  node.addEventListener('pointerdown', startPan);
  node.addEventListener('mousemove', (event) => {
    const index = stripHit(where(node, event));
    if (index < 0) hideTip(); else showTip(event, [...describeContact(contacts[index]), `${seconds(stripTime(where(node, event)))}`]);
  });
  node.addEventListener('mouseleave', hideTip);
  node.addEventListener('keydown', (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -C, End: C }[event.key];
    if (by) { event.preventDefault(); event.stopPropagation(); step(stripRows(), by); } else spanKeys(event);
  });
  buildStripTools();
  document.getElementById('strips').append(el('p', { class: 'muted small pad' }, `Filtered as described under “About this analysis”. Drawn are the lowest and highest value of every ${Math.round(1000 / traces.rate)} ms, so fast activity keeps its amplitude; zoom in to see it. ▏ marks the first clear rise.`));
}

function buildStripTools() {
  const again = (change) => { Object.assign(strips, change); stripsCanvas.paint(); marks.forEach((mark) => mark()); };
  const [who, markWho] = choice([['all', 'all'], ['leading', 'top-ranked', 'The contacts with the highest ranks'], ['electrode', 'electrode', 'The electrode of the selected contact']], () => strips.who, (value) => again({ who: value }));
  const [which, markWhich] = choice(data.seizures.map((seizure, s) => [s, short(s), seizure.name]), () => strips.seizure, (seizure) => again({ seizure }));
  const marks = [markWho, markWhich];
  watch('seizure', () => { if (state.seizure >= 0) again({ seizure: state.seizure }); });
  const change = (by) => () => again({ gain: Math.max(0.125, Math.min(64, strips.gain * by)) });
  const sizes = el('span', { class: 'choice' }, button('↓', change(0.5), { title: 'Smaller', 'aria-label': 'Smaller amplitudes' }), button('↑', change(2), { title: 'Larger', 'aria-label': 'Larger amplitudes' }));
  document.getElementById('strips').prepend(el('div', { class: 'sub-head' }, el('h3', {}, 'Signals'), el('span', { class: 'tools', id: 'strips-tools' }, S > 1 ? which : null, who, spanTools(), sizes)));
}

function drawStrips(context, width) {
  const [order, tall, box] = [stripRows(), stripHeight(), stripBox(width)];
  const at = (t) => box.x + box.width * (t - state.span[0]) / (state.span[1] - state.span[0]);
  const bottom = 22 + tall * order.length;
  context.save();
  context.beginPath(); context.rect(box.x, 10, box.width, bottom - 6); context.clip();
  const unit = stripUnit();
  order.forEach((index, row) => drawStrip(context, index, 22 + (row + 0.5) * tall, { tall, unit, box, at }));
  onsetLine(context, box, at, 16, bottom + 4);
  context.restore();
  rowNames(context, order, tall, STRIPS_GUTTER);
  context.font = '600 11px system-ui, sans-serif'; context.fillStyle = hue.text;
  context.fillText(short(strips.seizure), box.x, 14);
  timeAxis(context, box, state.span, bottom);
  scaleBar(context, 2 * unit, 2 * tall, width - 46, 4);
}

function drawStrip(context, index, middle, { tall, unit, box, at }) {
  const s = strips.seizure;
  const chosen = index === state.chosen;
  if (chosen) { context.fillStyle = hue.rise; context.fillRect(box.x, middle - tall / 2, box.width, tall); }
  if (!traces.scale[s][index]) return;
  const scale = tall / unit;
  const limit = (v) => middle - Math.max(-3 * tall, Math.min(3 * tall, v * scale));
  context.strokeStyle = chosen ? hue.accent : hue.trace; context.lineWidth = chosen ? 1.1 : 0.7;
  context.beginPath();
  eachColumn(s, index, box, state.span, (x, low, high) => { context.lineTo(x, limit(low)); context.lineTo(x, limit(high)); });
  context.stroke();
  const time = contacts[index].times[s];
  if (time !== null) { context.fillStyle = css(hue.orange[3]); context.fillRect(at(time) - 1, middle - tall / 2 + 0.5, 2, Math.max(2, tall - 1)); }
}

function stripHit([x, y]) {
  const row = Math.floor((y - 22) / stripHeight());
  const order = stripRows();
  return row >= 0 && row < order.length && x <= stripsCanvas.node.clientWidth ? order[row] : -1;
}
function stripTime([x]) {
  const box = stripBox(stripsCanvas.node.clientWidth);
  return state.span[0] + (state.span[1] - state.span[0]) * Math.max(0, Math.min(1, (x - box.x) / box.width));
}

// A click chooses, a drag moves in time; a finger that moves up or down scrolls the page.
function startPan(event) {
  const node = stripsCanvas.node;
  const [from, span] = [event.clientX, state.span];
  const width = stripBox(node.clientWidth).width;
  let moved = false;
  const pan = (now) => {
    moved = moved || Math.abs(now.clientX - from) > 4;
    if (!moved) return;
    hideTip();
    const by = (from - now.clientX) / width * (span[1] - span[0]);
    set({ span: spanAround((span[0] + span[1]) / 2 + by, span[1] - span[0]) });
  };
  const end = (now) => {
    node.removeEventListener('pointermove', pan);
    node.removeEventListener('pointerup', end);
    node.removeEventListener('pointercancel', end);
    if (!moved && now.type === 'pointerup') choose(stripHit(where(node, now)));
  };
  node.setPointerCapture(event.pointerId);
  node.addEventListener('pointermove', pan);
  node.addEventListener('pointerup', end);
  node.addEventListener('pointercancel', end);
}
