// Contact × time in one or all seizures: Z-Δ of a descriptor, contributions to the score, or the
// map over time of a method that is made of one. Each is a layer with windows of its own.
const heat = { W: data.heat.windows, coded: new Int8Array(bytesOf(data.heat.coded).buffer), picture: document.createElement('canvas') };
const CONTRIBUTION = data.heat.names.length;
const maps = data.maps.map((one) => ({ ...one, W: one.middle.length, coded: new Int8Array(bytesOf(one.coded).buffer) }));
const GUTTER = 62;
let heatCanvas = null;

function mapOf(quantity) { return quantity > CONTRIBUTION ? maps[quantity - CONTRIBUTION - 1] : null; }
function heatWindows() { return mapOf(state.quantity)?.W ?? heat.W; }
function heatMiddle(s) { return mapOf(state.quantity)?.middle ?? data.heat.middle[s]; }

function heatValue(quantity, s, w, c) {
  if (quantity === CONTRIBUTION) return whyWindow(c, s, w);
  const map = mapOf(quantity);
  if (map) {
    const code = map.coded[(s * map.W + w) * C + c];
    return code === -128 ? null : code / 127;
  }
  const code = heat.coded[((quantity * S + s) * heat.W + w) * C + c];
  return code === -128 ? null : Math.sinh(code / 127 * Math.asinh(data.heat.largest));
}

function heatColour(quantity, value) {
  if (value === null) return hue.none;
  if (quantity === CONTRIBUTION) return ofChange(value / whyLargest());
  const map = mapOf(quantity);
  if (map) return map.kind === 'ratio' ? ofChange(value) : mix(hue.orange, (value + 1) / 2);
  return ofChange(softened(value));
}

// Nearly white within 1 SD, then by the logarithm up to 30 SD.
function softened(z) { return Math.asinh(z / 3) / Math.asinh(10); }

function heatRows() { return state.order === 'rank' ? byRank : byShaft; }
function heatSeizures() { return state.seizure < 0 ? data.seizures.map((_, s) => s) : [state.seizure]; }
function rowHeight() { return onPaper ? Math.max(2.4, Math.min(10.5, 740 / C)) : Math.max(4, Math.min(18, 640 / C)); }

function heatBoxes(width) {
  const shownNow = heatSeizures();
  const room = (width - GUTTER - 8 - 10 * (shownNow.length - 1)) / shownNow.length;
  return shownNow.map((s, i) => ({ s, x: GUTTER + i * (room + 10), width: room }));
}

function buildHeat() {
  const attributes = { tabindex: '0', role: 'img', 'data-paper': '0.49', 'aria-label': 'Evidence of every contact over time. The up and down keys select a contact.' };
  heatCanvas = canvas('heat', () => 22 + rowHeight() * C + 34, drawHeat, attributes);
  const node = heatCanvas.node;
  node.addEventListener('mousemove', (event) => {
    const hit = heatHit(where(node, event));
    if (!hit) { hideTip(); return; }
    const c = contacts[hit.index];
    const lines = [`${fullName(c)}, ${short(hit.s)}`];
    if (hit.w >= 0) {
      const value = heatValue(state.quantity, hit.s, hit.w, hit.index);
      lines.push(`${seconds(heatMiddle(hit.s)[hit.w])}: ${heatText(value)}`);
    }
    if (c.times[hit.s] !== null) lines.push(`first clear rise ${seconds(c.times[hit.s])}`);
    showTip(event, lines);
  });
  node.addEventListener('mouseleave', hideTip);
  node.addEventListener('click', (event) => { const hit = heatHit(where(node, event)); if (hit) choose(hit.index); });
  node.addEventListener('keydown', (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -C, End: C }[event.key];
    if (by) { event.preventDefault(); event.stopPropagation(); step(heatRows(), by); }
  });
  buildHeatTools();
  document.getElementById('heat').prepend(el('div', { class: 'sub-head' }, el('h3', {}, 'Evidence')));
  document.getElementById('heat').append(el('p', { class: 'muted small pad', id: 'heat-note' }));
  noteHeat();
}

function heatText(value) {
  if (value === null) return 'no valid window';
  const map = mapOf(state.quantity);
  if (map) return map.kind === 'ratio' ? `${(2 ** (value * map.largest)).toFixed(2)} times its baseline` : `fragility ${((value + 1) / 2).toFixed(2)}`;
  return state.quantity === CONTRIBUTION ? `contribution ${signed(value, 4)}` : `${signed(value, 1)} SD`;
}

function noteHeat() {
  const map = mapOf(state.quantity);
  const what = map ? (map.kind === 'ratio' ? 'Ratio of fast to slow activity, relative to the contact’s own baseline. Orange: above; blue: below; grey: no neighbour, or no signal.' : 'Strong orange: a small change of this contact’s connections would make the network unstable, relative to the most robust contact of the window.')
    : state.quantity === CONTRIBUTION ? 'Orange: moves the score towards EZ; blue: away from EZ; both relative to what the contact shows throughout. Grey: not explained.'
    : 'Orange: above the contact’s own baseline; blue: below; in standard deviations (SD). Grey: no valid window.';
  fill('heat-note', `${what} ▏ marks the first clear rise (3 SD or more in three consecutive windows) of beta, gamma or line length. The line at 0 is the onset.`);
  fill('heat-legend', ...(map ? mapLegend(map) : state.quantity === CONTRIBUTION ? contributionLegend() : heatLegend()));
}

function buildHeatTools() {
  const quantity = el('select', { 'aria-label': 'Quantity', id: 'quantity', change: (event) => set({ quantity: Number(event.target.value) }) },
    ...data.heat.names.map((name, i) => el('option', { value: i, selected: i === state.quantity }, `Z-Δ of ${name}`)),
    data.why && data.why.timed ? el('option', { value: CONTRIBUTION }, 'contribution to the score') : null,
    ...maps.map((one, i) => el('option', { value: CONTRIBUTION + 1 + i }, one.title)));
  const [orders, markOrder] = choice([['rank', 'by rank'], ['shaft', 'by electrode']], () => state.order, (order) => set({ order }));
  const options = [[-1, 'all'], ...data.seizures.map((seizure, s) => [s, short(s), seizure.name])];
  const [seizures, markSeizure] = choice(options, () => state.seizure, (seizure) => set({ seizure }));
  watch('order', markOrder);
  watch('seizure', markSeizure);
  fill('heat-tools', quantity, orders, S > 1 ? seizures : null, pngButton('evidence', () => heatCanvas.node), el('span', { class: 'legend', id: 'heat-legend' }));
}

function legendSwatches(steps, colour, unit) {
  return steps.map((v) => swatch(() => css(colour(v)), { title: `${signed(v, unit === 'SD' ? 0 : 4)} ${unit}` }));
}

function heatLegend() {
  return ['−30', ...legendSwatches([-30, -10, -3, 0, 3, 10, 30], (v) => ofChange(softened(v)), 'SD'), '+30 SD'];
}

// Contributions have their own unit: by how much one window moves a score between 0 and 1.
function contributionLegend() {
  const most = whyLargest();
  const steps = [-1, -0.5, -0.2, 0, 0.2, 0.5, 1].map((share) => share * most);
  return [signed(-most, 4), ...legendSwatches(steps, (v) => ofChange(v / most), 'of the score'), `${signed(most, 4)} of the score, per window`];
}

function mapLegend(map) {
  const ratio = map.kind === 'ratio';
  const steps = [-1, -0.6, -0.2, 0, 0.2, 0.6, 1].map((v) => swatch(() => css(heatColour(CONTRIBUTION + 1 + maps.indexOf(map), v))));
  return ratio ? [`1/${2 ** map.largest}`, ...steps, `${2 ** map.largest} times`] : ['0', ...steps, '1'];
}

function drawHeat(context, width) {
  const order = heatRows();
  const tall = rowHeight();
  for (const box of heatBoxes(width)) drawHeatBox(context, box, order, tall);
  rowNames(context, order, tall, GUTTER);
}

// Names left of rows, as many as are legible; the chosen one always.
function rowNames(context, order, tall, room) {
  context.textAlign = 'right';
  const every = Math.ceil(8.5 / tall);
  order.forEach((index, row) => {
    const chosen = index === state.chosen;
    if (row % every && !chosen) return;
    context.font = `${chosen ? '600 ' : ''}${Math.min(11, Math.max(9, tall))}px system-ui, sans-serif`;
    context.fillStyle = chosen ? hue.chosen : isFlagged(contacts[index]) && !data.abstains ? hue.ink : hue.soft;
    const [name, y] = [fitted(context, contacts[index].short, room - 12), 22 + (row + 0.5) * tall + 3.5];
    if (chosen && every > 1) { context.strokeStyle = hue.halo; context.lineWidth = 4; context.strokeText(name, room - 8, y); }
    context.fillText(name, room - 8, y);
  });
  context.textAlign = 'left';
}

function drawHeatBox(context, box, order, tall) {
  const W = heatWindows();
  heat.picture.width = W; heat.picture.height = C;
  const small = heat.picture.getContext('2d');
  const image = small.createImageData(W, C);
  order.forEach((index, row) => {
    for (let w = 0; w < W; w += 1) {
      const [r, g, b] = heatColour(state.quantity, heatValue(state.quantity, box.s, w, index));
      image.data.set([r, g, b, 255], 4 * (row * W + w));
    }
  });
  small.putImageData(image, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(heat.picture, box.x, 22, box.width, tall * C);
  const middle = heatMiddle(box.s);
  const at = (t) => box.x + box.width * (t - middle[0] + 0.5 * stride(middle)) / (W * stride(middle));
  context.fillStyle = hue.ink;
  order.forEach((index, row) => {
    const time = contacts[index].times[box.s];
    if (time !== null && at(time) <= box.x + box.width) context.fillRect(at(time) - 0.75, 22 + row * tall + 0.5, 1.5, Math.max(2, tall - 1));
  });
  context.strokeStyle = hue.ink; context.lineWidth = 1.2;
  line(context, [at(0), 18], [at(0), 22 + tall * C + 4]);
  const row = order.indexOf(state.chosen);
  context.strokeStyle = hue.accent; context.lineWidth = 2;
  context.strokeRect(box.x - 1, 22 + row * tall - 1, box.width + 2, tall + 2);
  axis(context, box, at, middle, 22 + tall * C);
}

function stride(middle) { return middle.length > 1 ? middle[1] - middle[0] : 1; }

function axis(context, box, at, middle, bottom) {
  context.font = '600 11px system-ui, sans-serif'; context.fillStyle = hue.text;
  context.fillText(short(box.s), box.x, 14);
  context.font = '11px system-ui, sans-serif'; context.fillStyle = hue.soft; context.textAlign = 'center';
  const wanted = middle.length * stride(middle) / Math.max(1, box.width / 28);
  const apart = [1, 2, 5, 10, 20, 30].find((step) => step >= wanted) ?? 60;
  for (let t = apart * Math.ceil(middle[0] / apart); t <= middle[middle.length - 1]; t += apart) {
    // Half a label must fit, or it runs into the next seizure's.
    if (at(t) < box.x + 8 || at(t) > box.x + box.width - 8) continue;
    context.fillText(t === 0 ? '0' : t > 0 ? `+${t}` : `−${-t}`, at(t), bottom + 16);
  }
  context.textAlign = 'left';
  if (box.width > 200) context.fillText('s from onset', box.x, bottom + 30);
}

function heatHit([x, y]) {
  const row = Math.floor((y - 22) / rowHeight());
  if (row < 0 || row >= C) return null;
  const index = heatRows()[row];
  for (const box of heatBoxes(heatCanvas.node.clientWidth)) {
    if (x >= box.x && x < box.x + box.width) return { index, s: box.s, w: Math.floor((x - box.x) / box.width * heatWindows()) };
  }
  return x < GUTTER ? { index, s: heatSeizures()[0], w: -1 } : null;
}
