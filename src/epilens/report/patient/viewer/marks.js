// Colours, canvases, tooltip. Both ramps are ordered by lightness or by blue and orange, so that
// they can be read without distinguishing red from green; flagged contacts also have a ring.
const DAY = {
  ink: '#10151c', text: '#3d4856', soft: '#65707d', accent: '#0b6e7f', chosen: '#0a4a56', trace: '#253040', wire: 'rgba(60,70,84,0.45)',
  rim: 'rgba(40,48,60,0.6)', halo: 'rgba(255,255,255,0.9)', ground: '#ffffff', rise: 'rgba(235,148,66,0.28)', none: [224, 227, 231], waiting: [236, 239, 242], brain: [96, 112, 132],
  ramp: [[246, 238, 218], [244, 196, 120], [226, 122, 60], [170, 52, 58], [92, 20, 62]],
  places: [[238, 242, 245], [178, 203, 208], [110, 158, 168], [52, 108, 122], [16, 58, 74]],
  blue: [[247, 247, 247], [173, 203, 227], [91, 146, 196], [33, 92, 156], [11, 48, 97]],
  orange: [[247, 247, 247], [249, 205, 150], [235, 148, 66], [190, 92, 16], [122, 54, 5]],
};
const NIGHT = {
  ink: '#f2f5f8', text: '#c3ccd6', soft: '#98a4b1', accent: '#4fc3d4', chosen: '#8fe0ec', trace: '#d5dde6', wire: 'rgba(190,200,212,0.45)',
  rim: 'rgba(210,220,230,0.55)', halo: 'rgba(20,26,33,0.9)', ground: '#161c23', rise: 'rgba(235,148,66,0.30)', none: [58, 66, 75], waiting: [46, 54, 63], brain: [150, 166, 186],
  ramp: [[58, 62, 74], [116, 62, 92], [194, 82, 76], [240, 148, 82], [255, 228, 158]],
  places: [[44, 54, 62], [52, 86, 98], [72, 128, 142], [122, 184, 196], [204, 240, 246]],
  blue: [[34, 41, 49], [38, 78, 120], [58, 126, 186], [112, 176, 226], [182, 220, 250]],
  orange: [[34, 41, 49], [112, 66, 26], [190, 108, 36], [240, 160, 80], [255, 214, 158]],
};
const PAPER_WIDTH = 718;  // A4 within its margins, in CSS pixels
const night = window.matchMedia('screen and (prefers-color-scheme: dark)');
let onPaper = false;
let hue = night.matches ? NIGHT : DAY;

function mix(ramp, t) {
  const x = Math.max(0, Math.min(0.99999, t)) * (ramp.length - 1);
  const i = Math.floor(x);
  return ramp[i].map((v, k) => Math.round(v + (x - i) * (ramp[i + 1][k] - v)));
}
function css(rgb) { return `rgb(${rgb[0]},${rgb[1]},${rgb[2]})`; }
// How leading a contact is, 0 to 1: its score, or its place where scores only rank. Places have a
// colour scale of their own, so that nobody takes them for scores of a model.
function levelOf(c) { return ranksOnly ? placeLevel(c.rank, C) : c.ez; }
function placeLevel(rank, of) { return 1 - (rank - 1) / Math.max(1, of - 1); }
function ofLevel(level) { return level === null ? css(hue.none) : css(mix(ranksOnly ? hue.places : hue.ramp, level)); }
function ofContact(c) { return ofLevel(levelOf(c)); }
function onContact(c) { return (levelOf(c) > (ranksOnly ? 0.62 : 0.52)) === (hue === DAY) ? '#ffffff' : '#1c2530'; }
function aloneLevel(c, s) {
  if (c.alone[s] === null) return null;
  return ranksOnly ? placeLevel(c.aloneRanks[s], data.seizures[s].contacts) : c.alone[s];
}
function ofChange(t) { return t >= 0 ? mix(hue.orange, t) : mix(hue.blue, -t); }

// Marks of legends, which change their colours with the light.
const dyes = [];
function swatch(colour, attributes = {}) {
  const node = el('span', { class: 'swatch', ...attributes });
  node.style.background = colour();
  dyes.push([node, colour]);
  return node;
}

// A canvas that keeps its drawing sharp and is redrawn when its width changes. On paper it is as
// wide as the sheet, so that its letters stay as large as they are.
function canvas(id, height, draw, attributes) {
  const node = el('canvas', attributes);
  fill(id, node);
  let known = 0;
  const paint = () => {
    known = node.parentElement.clientWidth;
    const share = Number(node.dataset.paper ?? 1);
    const width = onPaper ? Math.floor(PAPER_WIDTH * share) : Math.max(160, known);
    const tall = typeof height === 'function' ? height(width) : height;
    const scale = onPaper ? 2 : window.devicePixelRatio || 1;
    if (node.width !== Math.round(width * scale) || node.height !== Math.round(tall * scale)) {
      node.width = Math.round(width * scale);
      node.height = Math.round(tall * scale);
      node.style.height = `${tall}px`;
    }
    const context = node.getContext('2d');
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, tall);
    context.font = '11px system-ui, sans-serif';
    draw(context, width, tall);
  };
  new ResizeObserver(() => {
    if (!onPaper && node.parentElement && node.parentElement.clientWidth !== known) paint();
  }).observe(node.parentElement);
  return { node, paint };
}

// A name as far as there is room for it.
function fitted(context, name, room) {
  if (context.measureText(name).width <= room) return name;
  let n = Math.min(name.length, 60);
  while (n > 1 && context.measureText(`${name.slice(0, n)}…`).width > room) n -= 1;
  return `${name.slice(0, n)}…`;
}

function where(node, event) {
  const box = node.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}

const tip = document.getElementById('tip');
function showTip(event, lines) {
  tip.replaceChildren(...lines.map((line, i) => el(i ? 'div' : 'strong', {}, line)));
  tip.hidden = false;
  const x = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8);
  const y = Math.min(event.clientY + 14, window.innerHeight - tip.offsetHeight - 8);
  tip.style.left = `${Math.max(4, x)}px`;
  tip.style.top = `${Math.max(4, y)}px`;
}
function hideTip() { tip.hidden = true; }

function describeContact(c) {
  const lines = [fullName(c), scoreText(c)];
  if (c.p !== null) lines.push(`calibrated P(EZ) ${percent(c.p)}${data.abstains ? ' (the model abstains)' : ''}`);
  if (c.first !== null) lines.push(`first clear rise ${seconds(c.first)}`);
  if (regionOf(c)) lines.push(`${regionText(regionOf(c))} (${ATLAS}, ${percent(regionOf(c).share)})`);
  if (c.quality !== 'good') lines.push(`signal: ${c.quality}`);
  if (c.resected) lines.push('in the resection');
  return lines;
}

function hint(node, index) {
  node.addEventListener('mousemove', (event) => showTip(event, describeContact(contacts[index])));
  node.addEventListener('mouseleave', hideTip);
}

function button(text, work, attributes = {}) {
  return el('button', { type: 'button', click: work, ...attributes }, text);
}

// Buttons of which one is pressed; returns the nodes and a function that marks the pressed one.
function choice(options, current, work) {
  const nodes = options.map(([value, text, title]) => button(text, () => work(value), { title }));
  const mark = () => nodes.forEach((node, i) => {
    node.setAttribute('aria-pressed', String(options[i][0] === current()));
  });
  mark();
  return [el('span', { class: 'choice', role: 'group' }, ...nodes), mark];
}
