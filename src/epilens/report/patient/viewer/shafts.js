// Electrodes as clinicians draw them: contact 1 first, a line per depth electrode or strip, the rows of a grid.
const PER_LINE = 18;
const MOST_ON_A_LINE = 18; // no depth electrode or strip has more contacts
const STEP = 25;
const LABEL = 46;
const dots = new Map();
// Known zones as bars at the contacts: the first above, the second below unless a resection is there.
const bars = data.zones.slice(0, data.resection ? 1 : 2).map((zone, z) => ({ zone, z, where: z ? 'below' : 'above', dy: z ? 11.4 : -11.4 }));

function buildShafts() {
  const groups = new Map();
  for (const index of byShaft) {
    const name = contacts[index].shaft ?? 'other';
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(index);
  }
  const longest = Math.max(8, ...[...groups].map(([, members]) => Math.min(lastNumber(members), perLineOf(members))));
  const width = LABEL + STEP * longest + 4;
  const parts = [];
  let line = 0;
  for (const [name, members] of groups) {
    const perLine = name === 'other' ? Math.floor(longest / 3) : perLineOf(members);
    parts.push(shaft(name, members, line, perLine));
    line += Math.ceil((name === 'other' ? members.length : lastNumber(members)) / perLine);
  }
  const height = 27 * line + 4;
  const svg = el('svg', { viewBox: `0 0 ${width} ${height}`, class: 'electrodes', role: 'group', 'aria-label': 'Electrodes' }, ...parts);
  svg.style.maxWidth = `${1.15 * width}px`;
  fill('shafts', svg, scoreLegend());
  const grids = [...groups].filter(([name, members]) => name !== 'other' && isGrid(members));
  const order = grids.length ? `contact 1 first; ${grids.map(([name, members]) => `${name}: rows of ${perLineOf(members)}`).join(', ')}` : 'contact 1 first: the deepest of a depth electrode';
  fill('shafts-tools', el('span', { class: 'muted small' }, order));
}

function lastNumber(members) { return Math.max(members.length, ...members.map((i) => Math.min(contacts[i].number ?? 0, 256))); }
function isGrid(members) { return lastNumber(members) > MOST_ON_A_LINE || gridWidth(members) !== null; }

// The length of a grid's rows by positions: where the next contact is not the neighbour.
function gridWidth(members) {
  const placed = members.filter((i) => contacts[i].mm);
  if (placed.length < members.length || members.length < 8) return null;
  const steps = placed.slice(1).map((i, n) => [contacts[i].number - 1, Math.hypot(...contacts[i].mm.map((v, axis) => v - contacts[placed[n]].mm[axis])) / Math.max(1, contacts[i].number - contacts[placed[n]].number)]);
  const usual = median(steps.map(([, length]) => length));
  const jumps = steps.filter(([, length]) => length > 1.8 * usual).map(([at]) => at);
  const width = jumps[0];
  return jumps.length && width >= 2 && width <= 16 && jumps.every((at) => at % width === 0) && jumps.length >= Math.floor((lastNumber(members) - 1) / width) ? width : null;
}

function perLineOf(members) {
  const n = lastNumber(members);
  const width = gridWidth(members);
  if (width !== null) return width;
  if (n <= MOST_ON_A_LINE) return PER_LINE;
  return n % 8 === 0 ? 8 : n % 5 === 0 ? 5 : n % 6 === 0 ? 6 : 8;
}

function scoreLegend() {
  const steps = [0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1].map((v) => swatch(() => ofLevel(v)));
  const ring = (faint) => el('span', { class: `swatch round is-flagged${faint ? ' is-faint' : ''}` });
  const flagged = contacts.filter((c) => c.flagged);
  const rings = ranksOnly ? [el('span', {}, ring(false), ' among the top-ranked contacts (slider)')]
    : [el('span', {}, ring(false), ' flagged, P(EZ) 50 % or more'), flagged.some(isFaint) ? el('span', {}, ring(true), ' flagged, P(EZ) lower or unknown') : null];
  const scale = ranksOnly ? el('span', {}, `rank ${C} `, ...steps, ' 1') : el('span', {}, 'EZ score 0 ', ...steps, ' 1');
  return el('p', { class: 'legend-line muted small' }, scale, ...rings,
    data.resection ? el('span', {}, el('span', { class: 'cut-sign' }), ' in the resection') : null,
    ...bars.map(({ zone, where }) => el('span', {}, el('span', { class: 'cut-sign' }), ` ${where}: ${zone.title}`)));
}

function shaft(name, members, first, perLine) {
  const apart = name === 'other' ? 3 * STEP : STEP;
  const group = el('g', {}, el('text', { x: 0, y: 27 * first + 18, class: 'shaft-name' }, el('title', {}, name), name.slice(0, 6)));
  members.forEach((index, place) => {
    const i = name === 'other' ? place : (contacts[index].number ?? place + 1) - 1;
    const [x, y] = [LABEL + apart * (i % perLine) + STEP / 2, 27 * (first + Math.floor(i / perLine)) + 14];
    if (i % perLine && place && name !== 'other') group.prepend(el('line', { x1: x - apart, y1: y, x2: x, y2: y, class: 'wire' }));
    group.append(dot(index, x, y, name === 'other'));
  });
  return group;
}

function dot(index, x, y, other) {
  const c = contacts[index];
  const circle = el('circle', { cx: x, cy: y, r: 10 });
  const label = other ? el('text', { x: x + 13, y: y + 3.5 }, c.short.slice(0, 9)) : el('text', { x, y: y + 3.5, 'text-anchor': 'middle' }, String(c.number));
  const node = el('g', { class: 'dot', role: 'button', tabindex: '-1', 'aria-label': `${c.short}, rank ${c.rank}`, click: () => choose(index), keydown: (event) => moveOnShafts(event, index) }, circle, label);
  if (c.resected) node.append(el('path', { d: `M${x - 6} ${y + 12.5}h12`, class: 'cut' }));
  for (const { z, dy } of bars) if (c.zones[z]) node.append(el('path', { d: `M${x - 6} ${y + dy}h12`, class: 'cut' }));
  hint(node, index);
  dots.set(index, { node, circle, label });
  return node;
}

function refreshShafts() {
  for (const [index, { node, circle, label }] of dots) {
    const c = contacts[index];
    const look = lookOf(index);
    circle.setAttribute('fill', look.fill);
    label.setAttribute('fill', c.shaft === null ? hue.text : look.ink);
    node.classList.toggle('is-flagged', isFlagged(c) && !data.abstains);
    node.classList.toggle('is-faint', !ranksOnly && isFaint(c));
    node.classList.toggle('is-chosen', index === state.chosen);
    node.setAttribute('tabindex', index === state.chosen ? '0' : '-1');
    node.setAttribute('aria-pressed', String(index === state.chosen));
  }
}

// One dot is in the order of tabs; arrows go along the electrodes, as in a table.
function moveOnShafts(event, index) {
  const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1, Home: -C, End: C }[event.key];
  if (event.key === 'Enter' || event.key === ' ') { event.preventDefault(); choose(index); }
  if (!by) return;
  event.preventDefault();
  event.stopPropagation();
  let next = byShaft[Math.max(0, Math.min(C - 1, byShaft.indexOf(index) + by))];
  if (event.key === 'ArrowDown' || event.key === 'ArrowUp') next = onNextShaft(index, by);
  choose(next);
  dots.get(next).node.focus();
}

// The contact of the same number on the next electrode, or the nearest.
function onNextShaft(index, by) {
  const names = [...new Set(byShaft.map((i) => contacts[i].shaft))];
  const name = names[Math.max(0, Math.min(names.length - 1, names.indexOf(contacts[index].shaft) + by))];
  const away = (i) => Math.abs((contacts[i].number ?? 0) - (contacts[index].number ?? 0));
  return byShaft.filter((i) => contacts[i].shaft === name).sort((a, b) => away(a) - away(b))[0];
}
