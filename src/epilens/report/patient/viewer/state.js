// Data, state, and the few helpers that everything else uses. Text goes in as text nodes only.
const data = JSON.parse(document.getElementById('data').textContent);
const contacts = data.contacts;
const S = data.seizures.length;
const C = contacts.length;
const byRank = contacts.map((_, i) => i).sort((a, b) => contacts[a].rank - contacts[b].rank);
const byShaft = contacts.map((_, i) => i).sort((a, b) => compareNames(contacts[a], contacts[b]));

const locked = data.about.threshold;
// Scores of a training-free method only rank: places are shown, never a number between 0 and 1.
const ranksOnly = !data.about.isModel;
// Where scores only rank, the slider marks the leading contacts, at first the top K.
const atFirst = ranksOnly ? Math.min(data.k, C) : locked !== null ? locked : 0.5;
const state = {
  chosen: byRank[0], cut: atFirst, seizure: -1, quantity: data.heat.start, order: 'rank', span: null, moment: null, wave: 0,
};
const watchers = [];

function watch(keys, work) { watchers.push([keys.split(' '), work]); }

function set(change) {
  const changed = Object.keys(change).filter((key) => state[key] !== change[key]);
  Object.assign(state, change);
  for (const [keys, work] of watchers) if (keys.some((key) => changed.includes(key))) work();
}

function choose(index) { if (index >= 0 && index < C) set({ chosen: index }); }

function isFlagged(c) {
  if (ranksOnly) return c.rank <= state.cut;
  // At the locked value the decision itself counts, not a rounded score.
  return state.cut === locked ? c.flagged : c.ez > state.cut;
}

// A flagged contact that is more likely not in the EZ, or has no probability, gets a soft badge.
function isFaint(c) { return c.p === null || c.p < 0.5; }

function scoreText(c) { return ranksOnly ? `rank ${c.rank} of ${C}` : `rank ${c.rank} of ${C}, EZ score ${number(c.ez)}`; }

// Of a seizure on its own: a score, or a place among the contacts that it shows.
function aloneText(c, s) {
  if (c.alone[s] === null) return '–';
  return ranksOnly ? `rank ${c.aloneRanks[s]} of ${data.seizures[s].contacts}` : number(c.alone[s]);
}

function compareNames(a, b) {
  const shaft = (a.shaft ?? '\uffff').localeCompare(b.shaft ?? '\uffff', 'en', { numeric: true });
  return shaft || (a.number ?? 0) - (b.number ?? 0) || a.name.localeCompare(b.name, 'en', { numeric: true });
}

function el(tag, attributes = {}, ...children) {
  const node = tag === 'svg' || SVG.has(tag)
    ? document.createElementNS('http://www.w3.org/2000/svg', tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') node.addEventListener(name, value);
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}
const SVG = new Set(['g', 'line', 'circle', 'path', 'text', 'rect', 'title']);

// A sentence in which options such as --onset do not break at their hyphens.
function sentence(text) {
  return text.split(/(--[a-z][\w-]*)/).map((part, i) => (i % 2 ? el('code', { class: 'option' }, part) : part));
}

function fill(id, ...children) {
  const node = document.getElementById(id);
  node.replaceChildren(...children.filter(Boolean));
  return node;
}

function bytesOf(text) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i += 1) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

function number(value, digits = 2) { return value === null || value === undefined ? '–' : value.toFixed(digits); }
// A calibrated probability is not valid where the model abstains.
function probability(value) {
  if (!data.abstains || value === null) return percent(value);
  return el('span', { class: 'muted', title: 'The model abstains: P(EZ) is not valid for this patient' }, percent(value));
}

function percent(value) { return value === null || value === undefined ? '–' : `${Math.round(100 * value)} %`; }
function seconds(value) {
  return value === null || value === undefined ? '–' : `${signed(value, 1)} s`;
}
function fullName(c) { return c.short === c.name ? c.name : `${c.short} (${c.name})`; }
function short(s) { return `S${s + 1}`; }
function capital(text) { return text[0].toUpperCase() + text.slice(1); }
function plural(n, one, many = `${one}s`) { return `${n} ${n === 1 ? one : many}`; }
