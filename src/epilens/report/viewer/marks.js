// Colours, canvases, tooltip. Both ramps are ordered by lightness or by blue and orange, so that
// they can be read without telling red from green; what is called EZ has a ring besides.
const RAMP = [[246, 238, 218], [244, 196, 120], [226, 122, 60], [170, 52, 58], [92, 20, 62]];
const BLUE = [[247, 247, 247], [173, 203, 227], [91, 146, 196], [33, 92, 156], [11, 48, 97]];
const ORANGE = [[247, 247, 247], [249, 205, 150], [235, 148, 66], [190, 92, 16], [122, 54, 5]];
const NONE = [224, 227, 231];

function mix(ramp, t) {
  const x = Math.max(0, Math.min(0.99999, t)) * (ramp.length - 1);
  const i = Math.floor(x);
  return ramp[i].map((v, k) => Math.round(v + (x - i) * (ramp[i + 1][k] - v)));
}
function css(rgb) { return `rgb(${rgb[0]},${rgb[1]},${rgb[2]})`; }
function ofScore(ez) { return ez === null || ez === undefined ? css(NONE) : css(mix(RAMP, ez)); }
function onScore(ez) { return ez > 0.52 ? '#fff' : '#1c2530'; }
function ofChange(t) { return t >= 0 ? mix(ORANGE, t) : mix(BLUE, -t); }

// A canvas that keeps its drawing sharp and is drawn anew when its width changes.
function canvas(id, height, draw, attributes) {
  const node = el('canvas', attributes);
  fill(id, node);
  const paint = () => {
    const width = Math.max(160, node.parentElement.clientWidth);
    const tall = typeof height === 'function' ? height(width) : height;
    const scale = window.devicePixelRatio || 1;
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
  let known = 0;
  new ResizeObserver(() => {
    if (node.parentElement && node.parentElement.clientWidth !== known) {
      known = node.parentElement.clientWidth;
      paint();
    }
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
  const lines = [c.name, `rank ${c.rank} of ${C}, EZ score ${number(c.ez)}`];
  if (c.p !== null) lines.push(`calibrated P(EZ) ${percent(c.p)}`);
  if (c.first !== null) lines.push(`first clear deviation ${seconds(c.first)}`);
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
