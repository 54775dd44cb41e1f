// The chosen contact: numbers, words, contributions, agreement of its seizures.
const why = data.why ? {
  ...data.why,
  at: new Map(data.why.contacts.map((c, i) => [c, i])),
  feature: new Float32Array(bytesOf(data.why.features).buffer),
  window: new Float32Array(bytesOf(data.why.windows).buffer),
} : null;
let largestWindow = 0;

function whyWindow(c, s, w) {
  const i = why ? why.at.get(c) : undefined;
  return i === undefined ? null : why.window[(i * S + s) * heat.W + w];
}

function whyLargest() {
  if (!largestWindow) {
    const sizes = Float32Array.from(why.window, Math.abs).sort();
    largestWindow = sizes[Math.floor(0.99 * (sizes.length - 1))] || 1e-6;
  }
  return largestWindow;
}

function buildChosen() {
  const c = contacts[state.chosen];
  const facts = [...(c.short === c.name ? [] : [['in the recording', c.name]]), ['rank', `${c.rank} of ${C}`]];
  if (!ranksOnly) facts.push(['EZ score', number(c.ez)]);
  if (c.p !== null) facts.push(['calibrated P(EZ)', probability(c.p)]);
  if (c.prq !== null) facts.push(['PRQ-Net, BCR-Net', `${number(c.prq)}, ${number(c.bcr)}`]);
  if (c.ensembleSd !== null) facts.push(['ensemble SD', number(c.ensembleSd)]);
  data.sets.forEach((one, i) => facts.push([`in the ${percent(one.coverage)} set`, c.sets[i] ? 'yes' : 'no']));
  facts.push(['signal', c.quality]);
  if (c.mm) facts.push(['position (mm)', c.mm.map((v) => v.toFixed(1)).join(', ')]);
  if (c.statedIn !== null) facts.push(['annotated as onset contact', c.statedIn ? `in ${c.statedIn} of ${S} seizures` : 'no']);
  data.zones.forEach((zone, z) => facts.push([zone.title, c.zones[z] ? 'yes' : 'no']));
  if (data.resection) facts.push(['resection', c.resected ? 'resected' : 'not resected']);
  document.getElementById('chosen-title').textContent = `Contact ${c.short}`;
  fill('words',
    el('dl', { class: 'facts' }, ...facts.flatMap(([key, value]) => [el('dt', {}, key), el('dd', {}, value)])),
    el('dl', { class: 'facts wide' }, ...regionFacts(c).flatMap(([key, value]) => [el('dt', {}, key), el('dd', {}, value)])),
    el('ul', { class: 'sentences' }, ...c.words.map((sentence) => el('li', {}, sentence))));
  fill('contributions', ...contributions(), ...agreement(c));
  fill('chosen-bar', el('span', { class: 'chip' }, swatchOf(c), el('strong', { title: c.name }, c.short), ` ${scoreText(c)}`, ...(c.p === null ? [] : [', P(EZ) ', probability(c.p)])));
}

function swatchOf(c) {
  const swatch = el('span', { class: `swatch round${isFlagged(c) && !data.abstains ? ` is-flagged${!ranksOnly && isFaint(c) ? ' is-faint' : ''}` : ''}` });
  swatch.style.background = ofContact(c);
  return swatch;
}

function contributions() {
  const head = el('h3', {}, 'What moves its score');
  if (!why) return [head, el('p', { class: 'muted' }, 'A training-free method has no contributions. The sentences describe how the contact deviates from its baseline.')];
  const i = why.at.get(state.chosen);
  if (i === undefined) return [head, el('p', { class: 'muted' }, `Contributions are computed for the first ${why.contacts.length} of ${C} contacts only.`)];
  const views = why.views.length;
  const n = why.words.length;
  const value = (v, d) => why.feature[(i * views + v) * n + d];
  const sums = why.words.map((name, d) => ({ name, sum: why.views.reduce((t, _, v) => t + value(v, d), 0), parts: why.views.map((view, v) => `${view}: ${signed(value(v, d), 3)}`) }));
  const largest = Math.max(0.01, ...sums.map((one) => Math.abs(one.sum)));
  const total = contacts[state.chosen].ez - why.baseline[i];
  return [head,
    el('div', { class: 'bars' }, ...sums.sort((a, b) => b.sum - a.sum).flatMap((one) => bar(one, largest))),
    ...bySeizure(i),
    el('p', { class: 'muted small' }, `The score is ${number(why.baseline[i])} with ${why.average}; the contributions (${signed(total, 2)}) lead to ${number(contacts[state.chosen].ez)}. Sums are exact to ${why.residual < 0.0001 ? '0.0001' : why.residual.toFixed(4)}.`)];
}

// What each seizure adds on its own, and what only their common score does.
function bySeizure(i) {
  if (S < 2) return [];
  const parts = why.seizures[i].map((sum, s) => ({ name: `seizure ${s + 1}`, sum, parts: why.timed ? [`present before onset as well: ${signed(why.steady[i][s], 3)}`, `during the seizure: ${signed(sum - why.steady[i][s], 3)}`] : [] }));
  if (Math.abs(why.together[i]) >= 0.005) parts.push({ name: 'scored together', sum: why.together[i], parts: ['difference between the score of all seizures together and the mean of the single seizures'] });
  const largest = Math.max(0.01, ...parts.map((one) => Math.abs(one.sum)));
  return [el('h3', {}, 'By seizure'), el('div', { class: 'bars', id: 'by-seizure' }, ...parts.flatMap((one) => bar(one, largest)))];
}

// There is no minus zero.
function signed(value, digits) {
  const size = Math.abs(value).toFixed(digits);
  return Number(size) === 0 ? size : `${value > 0 ? '+' : '−'}${size}`;
}

function bar(one, largest) {
  const fillNode = el('span', { class: 'bar-fill' });
  const share = 50 * Math.abs(one.sum) / largest;
  fillNode.style.width = `${share}%`;
  fillNode.style.left = one.sum >= 0 ? '50%' : `${50 - share}%`;
  fillNode.style.background = css(one.sum >= 0 ? hue.orange[3] : hue.blue[3]);
  return [el('span', { class: 'bar-name', title: one.parts.join('\n') }, one.name), el('span', { class: 'bar-track' }, fillNode), el('span', { class: 'bar-value' }, signed(one.sum, 2))];
}

function agreement(c) {
  if (S < 2) return [];
  const [width, left] = [300, 34];
  const at = (v) => left + v * (width - left - 10);
  const svg = el('svg', { viewBox: `0 0 ${width} ${16 * S + 26}`, class: 'agreement', role: 'img', 'aria-label': ranksOnly ? 'Rank in each seizure alone' : 'EZ score of each seizure alone' });
  svg.append(el('line', { x1: at(0), x2: at(1), y1: 16 * S + 6, y2: 16 * S + 6, class: 'axis' }));
  for (const [v, text] of ranksOnly ? [[0, 'last'], [1, 'first']] : [[0, '0'], [0.5, '0.5'], [1, '1']]) svg.append(el('text', { x: at(v), y: 16 * S + 20, 'text-anchor': 'middle', class: 'axis-text' }, text));
  svg.append(el('line', { x1: at(levelOf(c)), x2: at(levelOf(c)), y1: 2, y2: 16 * S + 6, class: 'together' }, el('title', {}, 'all seizures together')));
  c.alone.forEach((value, s) => {
    const y = 16 * s + 12;
    svg.append(el('text', { x: 4, y: y + 4, class: 'axis-text' }, short(s)), el('line', { x1: at(0), x2: at(1), y1: y, y2: y, class: 'row-line' }));
    if (value !== null) svg.append(el('circle', { cx: at(aloneLevel(c, s)), cy: y, r: 5, fill: ofLevel(aloneLevel(c, s)), class: 'ball' }, el('title', {}, aloneText(c, s))));
  });
  return [el('h3', {}, 'Each seizure alone'), svg];
}
