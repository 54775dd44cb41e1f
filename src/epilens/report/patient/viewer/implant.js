// The implant in space: an own small renderer, so that the page needs no library and no WebGL.
// The brain is drawn into a picture of its own with a depth buffer; contacts lie on top of it.
const view = { azimuth: 180, elevation: 12, zoom: 1, brain: true, quick: false };
const VIEWS = [['Left', 180, 8], ['Right', 0, 8], ['Front', 90, 8], ['Back', -90, 8], ['Top', -90, 90]];
const SEEN = { Left: 'left', Right: 'right', Front: 'front', Back: 'back', Top: 'above' };
// Contacts this far behind the middle of the head are drawn behind the brain.
const BEHIND_MM = -8;
let placed = [];
let mesh = null;
let implantCanvas = null;
const glass = document.createElement('canvas');
let drawn = '';

function buildImplant() {
  placed = contacts.map((c, i) => i).filter((i) => contacts[i].mm);
  if (!placed.length) {
    document.body.classList.add('no-positions');
    document.getElementById('shafts').prepend(el('p', { class: 'muted small', id: 'no-positions' }, ...sentence('No contact has a position, so only the electrodes are drawn. The option --electrodes adds positions.')));
    return;
  }
  if (data.brain.vertices) mesh = makeMesh();
  const mean = placed.reduce((sum, i) => sum + contacts[i].mm[0], 0) / placed.length;
  view.azimuth = mesh && mean > 8 ? -25 : 205;
  const attributes = { tabindex: '0', role: 'img', 'data-paper': '0.57', 'aria-label': 'Implant in space. Arrow keys turn it, plus and minus change its size.' };
  implantCanvas = canvas('implant', (width) => Math.min(430, Math.max(260, 0.82 * width)), drawImplant, attributes);
  const node = implantCanvas.node;
  node.addEventListener('pointerdown', startTurn);
  node.addEventListener('mousemove', (event) => {
    const index = nearest(where(node, event));
    node.style.cursor = index < 0 ? 'grab' : 'pointer';
    if (index < 0) hideTip(); else showTip(event, describeContact(contacts[index]));
  });
  node.addEventListener('mouseleave', hideTip);
  node.addEventListener('keydown', turnByKey);
  document.getElementById('implant').append(el('p', { class: 'muted small pad' }, implantNote()));
  const buttons = VIEWS.map(([name, azimuth, elevation]) => button(name, () => turnTo(azimuth, elevation), { title: `Seen from ${SEEN[name]}` }));
  const toggle = mesh ? button('Brain', () => { view.brain = !view.brain; toggle.setAttribute('aria-pressed', view.brain); implantCanvas.paint(); }, { 'aria-pressed': 'true' }) : null;
  fill('implant-tools', ...buttons, toggle, pngButton('implant', () => document.querySelector('#implant canvas')));
}

function implantNote() {
  const space = data.space ? `Positions: ${data.space}. ` : '';
  return mesh ? `${space}Surface: fsaverage5, a template, not this patient's brain.` : `${space}No brain surface: ${data.brain.why}.`;
}

function makeMesh() {
  const coordinates = new Int16Array(bytesOf(data.brain.vertices).buffer);
  const faces = new Uint16Array(bytesOf(data.brain.faces).buffer);
  const n = coordinates.length / 6;
  const points = Float32Array.from(coordinates, (v) => v / 100);
  const normals = new Float32Array(points.length);
  for (const side of [0, n]) {
    for (let f = 0; f < faces.length; f += 3) {
      const [a, b, c] = [3 * (side + faces[f]), 3 * (side + faces[f + 1]), 3 * (side + faces[f + 2])];
      const [ux, uy, uz] = [points[b] - points[a], points[b + 1] - points[a + 1], points[b + 2] - points[a + 2]];
      const [vx, vy, vz] = [points[c] - points[a], points[c + 1] - points[a + 1], points[c + 2] - points[a + 2]];
      const normal = [uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx];
      for (const corner of [a, b, c]) for (let k = 0; k < 3; k += 1) normals[corner + k] += normal[k];
    }
  }
  for (let i = 0; i < normals.length; i += 3) {
    const length = Math.hypot(normals[i], normals[i + 1], normals[i + 2]) || 1;
    for (let k = 0; k < 3; k += 1) normals[i + k] /= length;
  }
  return { points, normals, faces, n };
}

function camera(width, height) {
  const [a, e] = [view.azimuth * Math.PI / 180, view.elevation * Math.PI / 180];
  const toward = [Math.cos(e) * Math.cos(a), Math.cos(e) * Math.sin(a), Math.sin(e)];
  const right = [-Math.sin(a), Math.cos(a), 0];
  const up = [toward[1] * right[2] - toward[2] * right[1], toward[2] * right[0] - toward[0] * right[2], toward[0] * right[1] - toward[1] * right[0]];
  let [center, radius] = [[0, -18, 14], 92];
  if (!mesh) {
    const mm = placed.map((i) => contacts[i].mm);
    center = [0, 1, 2].map((k) => (Math.min(...mm.map((p) => p[k])) + Math.max(...mm.map((p) => p[k]))) / 2);
    radius = Math.max(15, ...mm.map((p) => Math.hypot(...p.map((v, k) => v - center[k])))) + 6;
  }
  const scale = view.zoom * Math.min(width / 2, height / 2) / radius;
  const along = (p, axis) => (p[0] - center[0]) * axis[0] + (p[1] - center[1]) * axis[1] + (p[2] - center[2]) * axis[2];
  const project = (p) => [width / 2 + scale * along(p, right), height / 2 - scale * along(p, up), along(p, toward)];
  return { toward, right, up, center, scale, project };
}

function drawBrain(width, height) {
  // Finer than the screen when it stands still: its outline is smoother then.
  const sharp = view.quick ? 1 : 2;
  const [w, h] = [Math.round(width * sharp), Math.round(height * sharp)];
  const key = [view.azimuth, view.elevation, view.zoom, w, h, hue === NIGHT].join();
  if (key === drawn) return;
  drawn = key;
  const { toward, right, up, center, scale } = camera(width, height);
  const { points, normals, faces, n } = mesh;
  const count = points.length / 3;
  const x = new Float32Array(count); const y = new Float32Array(count); const z = new Float32Array(count); const facing = new Float32Array(count);
  for (let i = 0, j = 0; i < count; i += 1, j += 3) {
    const [px, py, pz] = [points[j] - center[0], points[j + 1] - center[1], points[j + 2] - center[2]];
    x[i] = sharp * (width / 2 + scale * (px * right[0] + py * right[1] + pz * right[2]));
    y[i] = sharp * (height / 2 - scale * (px * up[0] + py * up[1] + pz * up[2]));
    z[i] = px * toward[0] + py * toward[1] + pz * toward[2];
    facing[i] = normals[j] * toward[0] + normals[j + 1] * toward[1] + normals[j + 2] * toward[2];
  }
  const depth = new Float32Array(w * h).fill(-1e9);
  const turned = new Float32Array(w * h);
  for (const side of [0, n]) for (let f = 0; f < faces.length; f += 3) triangle(side + faces[f], side + faces[f + 1], side + faces[f + 2]);
  glass.width = w; glass.height = h;
  const context = glass.getContext('2d');
  const picture = context.createImageData(w, h);
  for (let i = 0, j = 0; i < depth.length; i += 1, j += 4) {
    if (depth[i] < -1e8) continue;
    const rim = 1 - Math.min(1, Math.max(0, turned[i]));
    for (let k = 0; k < 3; k += 1) picture.data[j + k] = hue.brain[k] - 26 * rim;
    picture.data[j + 3] = 26 + 150 * rim * rim;
  }
  context.putImageData(picture, 0, 0);

  function triangle(a, b, c) {
    const area = (x[b] - x[a]) * (y[c] - y[a]) - (x[c] - x[a]) * (y[b] - y[a]);
    if (area === 0 || facing[a] + facing[b] + facing[c] < 0) return;  // its back
    const left = Math.max(0, Math.ceil(Math.min(x[a], x[b], x[c]) - 0.5));
    const stop = Math.min(w - 1, Math.floor(Math.max(x[a], x[b], x[c]) + 0.5));
    const top = Math.max(0, Math.ceil(Math.min(y[a], y[b], y[c]) - 0.5));
    const bottom = Math.min(h - 1, Math.floor(Math.max(y[a], y[b], y[c]) + 0.5));
    for (let row = top; row <= bottom; row += 1) {
      for (let column = left; column <= stop; column += 1) {
        const s = ((x[c] - x[b]) * (row - y[b]) - (column - x[b]) * (y[c] - y[b])) / area;
        const t = ((x[a] - x[c]) * (row - y[c]) - (column - x[c]) * (y[a] - y[c])) / area;
        const r = 1 - s - t;
        if (s < -1e-4 || t < -1e-4 || r < -1e-4) continue;
        const near = s * z[a] + t * z[b] + r * z[c];
        const at = row * w + column;
        if (near > depth[at]) { depth[at] = near; turned[at] = s * facing[a] + t * facing[b] + r * facing[c]; }
      }
    }
  }
}

function drawImplant(context, width, height) {
  const { project, toward } = camera(width, height);
  const points = new Map(placed.map((i) => [i, project(contacts[i].mm)]));
  const order = [...placed].sort((a, b) => points.get(a)[2] - points.get(b)[2]);
  const isFar = (i) => points.get(i)[2] < BEHIND_MM;
  drawSome(context, points, order.filter(isFar));
  if (mesh && view.brain) {
    drawBrain(width, height);
    context.drawImage(glass, 0, 0, width, height);
  }
  drawSome(context, points, order.filter((i) => !isFar(i)));
  shaftLabels(context, points, width, height);
  if (points.has(state.chosen)) crown(context, points.get(state.chosen), contacts[state.chosen], width);
  else { context.fillStyle = hue.soft; context.fillText(`${contacts[state.chosen].short.slice(0, 24)} has no position`, 12, height - 10); }
  directions(context, width, height);
  context.font = '600 12px system-ui, sans-serif'; context.fillStyle = hue.text;
  context.fillText(seenFrom(toward), 10, 18);
  implantCanvas?.node.setAttribute('aria-label', `Implant in space. ${seenFrom(toward)}. Arrow keys turn it, plus and minus change its size.`);
  if (state.moment !== null) { context.fillStyle = hue.soft; context.fillText(momentText(), 10, 34); }
}

// Farther contacts are fainter and smaller.
function drawSome(context, points, order) {
  const nearness = (i) => Math.max(0, Math.min(1, (points.get(i)[2] + 75) / 85));
  context.lineWidth = 1.5;
  context.strokeStyle = hue.wire;
  const wanted = new Set(order);
  let before = null;
  for (const i of byShaft) {
    if (!points.has(i)) continue;
    const follows = before !== null && wanted.has(i) && contacts[before].shaft !== null && contacts[before].shaft === contacts[i].shaft
      && Math.hypot(...contacts[i].mm.map((v, k) => v - contacts[before].mm[k])) < 25;
    if (follows) line(context, points.get(before), points.get(i));
    before = i;
  }
  for (const i of order) {
    context.globalAlpha = 0.4 + 0.6 * nearness(i);
    ball(context, i, points.get(i));
  }
  context.globalAlpha = 1;
}

// The name of an electrode beyond its outermost contact, where there is room for it.
function shaftLabels(context, points, width, height) {
  const ends = new Map();
  for (const i of byShaft) {
    const name = contacts[i].shaft;
    if (name === null || !points.has(i)) continue;
    ends.set(name, [(ends.get(name) ?? [i])[0], i]);
  }
  const taken = [];
  context.font = '600 11px system-ui, sans-serif'; context.textAlign = 'center';
  for (const [name, [first, last]] of ends) {
    const [a, b] = [points.get(first), points.get(last)];
    const away = Math.hypot(b[0] - a[0], b[1] - a[1]);
    const [ux, uy] = away > 4 ? [(b[0] - a[0]) / away, (b[1] - a[1]) / away] : [0, -1];
    const spot = [Math.max(14, Math.min(width - 14, b[0] + 17 * ux)), Math.max(12, Math.min(height - 6, b[1] + 15 * uy + 4))];
    // A second label at the same spot would make both illegible.
    while (taken.some(([x, y]) => Math.abs(x - spot[0]) < 24 && Math.abs(y - spot[1]) < 11) && spot[1] < height - 6) spot[1] += 12;
    taken.push(spot);
    context.globalAlpha = b[2] < BEHIND_MM ? 0.6 : 1;
    context.strokeStyle = hue.halo; context.lineWidth = 3; context.strokeText(name.slice(0, 8), ...spot);
    context.fillStyle = hue.text; context.fillText(name.slice(0, 8), ...spot);
  }
  context.globalAlpha = 1; context.textAlign = 'left';
}

function seenFrom(toward) {
  const words = [[-toward[0], 'left'], [toward[0], 'right'], [toward[1], 'front'], [-toward[1], 'back'], [toward[2], 'above'], [-toward[2], 'below']];
  const from = words.filter(([size]) => size > 0.3).sort((a, b) => b[0] - a[0]).map(([, word]) => word);
  return `Seen from ${from.join(' and ')}`;
}

function line(context, a, b) {
  context.beginPath(); context.moveTo(a[0], a[1]); context.lineTo(b[0], b[1]); context.stroke();
}

function ball(context, i, [x, y, z]) {
  const c = contacts[i];
  const radius = (3.8 + 3.8 * lookOf(i).level) * (1 + z / 900) * Math.sqrt(view.zoom);
  context.beginPath(); context.arc(x, y, radius, 0, 7);
  context.fillStyle = lookOf(i).fill; context.fill();
  const flagged = isFlagged(c) && !data.abstains;
  context.lineWidth = !flagged ? 0.8 : !ranksOnly && isFaint(c) ? 1.2 : 2;
  context.strokeStyle = flagged ? hue.ink : hue.rim;
  context.stroke();
  if (c.resected) { context.strokeStyle = hue.ink; context.lineWidth = 1.6; line(context, [x - radius, y + radius + 2.5], [x + radius, y + radius + 2.5]); }
}

function crown(context, [x, y], c, width) {
  context.strokeStyle = hue.accent; context.lineWidth = 2.5;
  context.beginPath(); context.arc(x, y, 12, 0, 7); context.stroke();
  context.font = '600 12px system-ui, sans-serif'; context.fillStyle = hue.chosen;
  context.strokeStyle = hue.halo; context.lineWidth = 3;
  context.textAlign = x > width - 90 ? 'right' : 'left';
  const at = x > width - 90 ? x - 16 : x + 16;
  context.strokeText(c.short.slice(0, 24), at, y + 4); context.fillText(c.short.slice(0, 24), at, y + 4);
  context.textAlign = 'left';
}

function directions(context, width, height) {
  // Letters where left, right, front, back, top and bottom of the patient lie.
  const { toward, right, up } = camera(width, height);
  const axes = [['R', [1, 0, 0]], ['L', [-1, 0, 0]], ['A', [0, 1, 0]], ['P', [0, -1, 0]], ['S', [0, 0, 1]], ['I', [0, 0, -1]]];
  context.font = '11px system-ui, sans-serif'; context.fillStyle = hue.soft; context.textAlign = 'center';
  for (const [letter, axis] of axes) {
    const dot3 = (a) => axis[0] * a[0] + axis[1] * a[1] + axis[2] * a[2];
    if (Math.abs(dot3(toward)) > 0.8) continue;
    context.fillText(letter, width / 2 + dot3(right) * (width / 2 - 12), height / 2 - dot3(up) * (height / 2 - 12) + 4);
  }
  context.textAlign = 'left';
}

function nearest([x, y]) {
  const box = implantCanvas.node.getBoundingClientRect();
  const { project } = camera(box.width, box.height);
  let [best, found] = [11, -1];
  for (const i of placed) {
    const [px, py] = project(contacts[i].mm);
    const away = Math.hypot(px - x, py - y);
    if (away < best) [best, found] = [away, i];
  }
  return found;
}

function startTurn(event) {
  const node = implantCanvas.node;
  const from = { x: event.clientX, y: event.clientY, azimuth: view.azimuth, elevation: view.elevation };
  let moved = false;
  node.setPointerCapture(event.pointerId);
  const turn = (now) => {
    const [dx, dy] = [now.clientX - from.x, now.clientY - from.y];
    moved = moved || Math.hypot(dx, dy) > 3;
    if (!moved) return;
    hideTip();
    view.quick = true;
    view.azimuth = from.azimuth - 0.5 * dx;
    view.elevation = Math.max(-90, Math.min(90, from.elevation + 0.5 * dy));
    implantCanvas.paint();
  };
  const end = (now) => {
    node.removeEventListener('pointermove', turn);
    view.quick = false;
    if (!moved) choose(nearest(where(node, now)));
    implantCanvas.paint();
  };
  node.addEventListener('pointermove', turn);
  node.addEventListener('pointerup', end, { once: true });
  node.addEventListener('pointercancel', () => { node.removeEventListener('pointermove', turn); node.removeEventListener('pointerup', end); }, { once: true });
}

function turnByKey(event) {
  const turns = { ArrowLeft: [10, 0], ArrowRight: [-10, 0], ArrowUp: [0, 10], ArrowDown: [0, -10] }[event.key];
  const zoom = { '+': 1.15, '=': 1.15, '-': 1 / 1.15 }[event.key];
  if (!turns && !zoom) return;
  event.preventDefault();
  event.stopPropagation();
  if (turns) turnTo(view.azimuth + turns[0], Math.max(-90, Math.min(90, view.elevation + turns[1])));
  else { view.zoom = Math.max(0.6, Math.min(4, view.zoom * zoom)); implantCanvas.paint(); }
}

function turnTo(azimuth, elevation) {
  Object.assign(view, { azimuth, elevation });
  implantCanvas.paint();
}
