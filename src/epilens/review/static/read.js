// Read and sign: a verdict for each contact, a plan by clicking contacts, notes, initials.
import { ask, el, send, show } from './page.js';

const WORDS = ['agree', 'disagree', 'unsure'];
const now = { place: null, code: '', run: 0, told: null, said: null, choose: null, waiting: Promise.resolve(), timer: 0 };

function reader() { return sessionStorage.getItem('reader') || ''; }

function isOpen() { return Boolean(reader()) && (!now.told.own || !now.told.own.signed_on) && isHere(); }

function isHere() { return !now.told.own || now.told.own.judgement.run === now.run; }

export async function readView(place, code, run, choose) {
  Object.assign(now, { place, code, run, choose });
  await load();
}

async function load() {
  const query = new URLSearchParams({ case: now.code, run: now.run, reader: reader() });
  now.told = await ask(`api/readings?${query}`);
  const own = now.told.own && isHere() ? now.told.own.judgement : { verdicts: {}, plan: [], notes: '' };
  now.said = { verdicts: { ...own.verdicts }, plan: new Set(own.plan), notes: own.notes };
  draw();
}

function base() { return now.told.own ? now.told.own.revision : 0; }

// One after another: each change is made on the revision that the one before has left.
function tell(act, said) {
  now.waiting = now.waiting.then(async () => {
    const body = { case: now.code, run: now.run, reader: reader(), base: base(), act, ...said() };
    now.told.own = await send('api/reading', body);
    document.documentElement.dataset.revision = String(now.told.own.revision);
    show();
  });
  const kept = now.waiting;
  now.waiting = kept.catch((problem) => { show(problem); return load(); }).catch(show);
  return kept;
}

const whole = () => ({ verdicts: now.said.verdicts, plan: [...now.said.plan], notes: now.said.notes });
const save = () => { clearTimeout(now.timer); return tell('save', whole).then(drawState, () => {}); };

function setVerdict(name, word) {
  if (now.said.verdicts[name] === word) delete now.said.verdicts[name]; else now.said.verdicts[name] = word;
  save();
}

function setPlan(name) {
  if (!now.said.plan.delete(name)) now.said.plan.add(name);
  save();
}

function toggles() {
  for (const button of now.place.querySelectorAll('[data-word]')) button.setAttribute('aria-pressed', String(now.said.verdicts[button.dataset.name] === button.dataset.word));
  for (const button of now.place.querySelectorAll('[data-plan]')) button.setAttribute('aria-pressed', String(now.said.plan.has(button.dataset.plan)));
}

function verdictRow(one) {
  const off = !isOpen();
  const buttons = WORDS.map((word) => el('button', { 'data-word': word, 'data-name': one.name, disabled: off, 'aria-label': `${one.short}: ${word}`,
    onclick: () => { setVerdict(one.name, word); toggles(); } }, word));
  const others = now.told.others.map((other) => el('td', {}, other.judgement.run === now.run ? other.judgement.verdicts[one.name] || '–' : 'another run'));
  return el('tr', {}, el('td', {}, String(one.rank)), el('td', { class: 'name', title: one.name }, one.short), el('td', {}, one.decision === 'none' ? '' : one.decision),
    el('td', {}, el('span', { class: 'choice', role: 'group' }, ...buttons)), ...others);
}

function verdictTable() {
  const heads = ['Rank', 'Contact', '', 'Is this place right?', ...now.told.others.map((other) => other.reader)];
  return el('div', { class: 'list', tabindex: '0' }, el('table', { class: 'verdicts' }, el('thead', {}, el('tr', {}, ...heads.map((t) => el('th', {}, t)))),
    el('tbody', {}, ...now.told.contacts.map(verdictRow))));
}

function planBoard() {
  const shafts = new Map();
  for (const one of now.told.contacts) {
    const shaft = one.shaft || 'others';
    shafts.set(shaft, [...(shafts.get(shaft) || []), one]);
  }
  const rows = [...shafts].sort().flatMap(([shaft, contacts]) => [el('strong', {}, shaft), el('div', {},
    ...contacts.sort((a, b) => (a.number ?? 0) - (b.number ?? 0)).map((one) => el('button', {
      class: one.rank <= now.told.k ? 'dot top' : 'dot', 'data-plan': one.name, disabled: !isOpen(), title: `${one.short}, rank ${one.rank}`, 'aria-label': `plan ${one.short}`,
      onclick: () => { setPlan(one.name); toggles(); } }, one.shaft ? String(one.number) : one.short)))]);
  return el('div', { class: 'shafts' }, ...rows);
}

function notes() {
  const box = el('textarea', { id: 'notes', readOnly: !isOpen(), maxLength: 20000, 'aria-label': 'Notes',
    oninput: () => { now.said.notes = box.value; clearTimeout(now.timer); now.timer = setTimeout(save, 700); },
    onchange: () => { now.said.notes = box.value; save(); } });
  box.value = now.said.notes;
  return box;
}

function who() {
  const field = el('input', { class: 'initials', id: 'initials', value: reader(), maxLength: 6, autocomplete: 'off' });
  const begin = () => { sessionStorage.setItem('reader', field.value.trim().toUpperCase()); load().then(() => show(), (problem) => { sessionStorage.removeItem('reader'); show(problem); }); };
  return el('form', { class: 'line', onsubmit: (event) => { event.preventDefault(); begin(); } }, el('label', {}, 'Initials ', field), el('button', { id: 'begin', type: 'button', onclick: begin }, reader() ? 'Change reader' : 'Begin reading'));
}

async function amend() { await tell('amend', () => ({})).then(load, () => {}); }

async function sign() {
  clearTimeout(now.timer);
  await tell('sign', whole).then(load, () => {});
}

// Verdicts are about one ranking: with another run they begin anew; plan and notes stay.
async function takeThisRun() {
  const known = new Set(now.told.contacts.map((one) => one.name));
  const { plan, notes: text } = now.told.own.judgement;
  await tell('save', () => ({ verdicts: {}, plan: plan.filter((name) => known.has(name)), notes: text })).then(load, () => {});
}

function state() {
  const own = now.told.own;
  if (!reader()) return el('p', { class: 'soft' }, 'Give your initials to begin.');
  if (own && !isHere()) {
    const run = own.judgement.run;
    const signed = own.signed_on ? ` Version ${own.version} was signed on ${own.signed_on}.` : '';
    return el('div', { class: 'line' }, `Your reading is about run ${run}.${signed}`, el('button', { onclick: () => now.choose(run) }, `Open run ${run}`),
      own.signed_on ? el('button', { id: 'amend', onclick: amend }, 'Amend') : el('button', { id: 'move', onclick: takeThisRun }, `Read run ${now.run} instead`));
  }
  if (own && own.signed_on) {
    const warning = own.intact ? '' : el('p', { class: 'problem' }, 'The file of this reading was changed after it was signed.');
    return el('div', {}, el('p', { class: 'signed', id: 'signed' }, `Signed by ${own.reader} on ${own.signed_on}, version ${own.version}.`), warning,
      el('button', { id: 'amend', onclick: amend }, 'Amend'));
  }
  const count = Object.keys(now.said.verdicts).length;
  return el('div', { class: 'line' }, el('button', { id: 'sign', class: 'strong', onclick: sign }, `Sign as ${reader()}`),
    el('span', { class: 'soft' }, `${count} of ${now.told.contacts.length} contacts judged, ${now.said.plan.size} planned${own ? `; draft of version ${own.version} saved` : ''}`));
}

function drawState() { now.place.querySelector('#state').replaceChildren(state()); }

function counts(one) {
  if (one.kind !== 'Cohen') return el('p', { class: 'soft' }, one.words.map((word, i) => `${word}: ${one.counts[0][i]}`).join(', '));
  return el('table', { class: 'counts' }, el('thead', {}, el('tr', {}, el('th', {}, `${one.readers[0]} \\ ${one.readers[1]}`), ...one.words.map((word) => el('th', {}, word)))),
    el('tbody', {}, ...one.counts.map((row, i) => el('tr', {}, el('th', {}, one.words[i]), ...row.map((n) => el('td', {}, String(n)))))));
}

// Whoever has not signed is not to be led by what others said.
function agreement() {
  const { signers, agreement: found } = now.told;
  if (!signers.length) return el('p', { class: 'soft' }, 'Nobody has signed yet.');
  const list = signers.map((one) => el('li', {}, `${one.reader}: run ${one.run}, version ${one.version}, signed on ${one.signed_on}${one.intact ? '' : ' (changed after it was signed)'}`));
  const wait = found.length ? '' : el('p', { class: 'soft' }, 'Agreement is shown when two readers have signed the same run.');
  const blind = now.told.may_export ? '' : el('p', { class: 'soft' }, 'What others said about each contact is shown when your own reading is signed, and can be exported then.');
  return el('div', {}, el('ul', {}, ...list), wait, ...found.flatMap((one) => [el('p', { class: 'kappa', 'data-what': one.what }, one.text), counts(one)]), blind);
}

function exports_() {
  const files = [['page.html', 'page with readings'], ['readings.tsv', 'table'], ['readings.json', 'everything, with notes']];
  return el('p', { class: 'line' }, 'Export: ', ...files.map(([name, text]) => el('a', { href: `export/${encodeURIComponent(now.code)}/${now.run}/${name}?${new URLSearchParams({ reader: reader() })}`, download: '' }, text)));
}

function draw() {
  const parts = [el('h2', {}, `Read run ${now.run}`), who(), el('div', { id: 'state' })];
  if (reader()) parts.push(el('h3', {}, 'Contacts'), verdictTable(), el('h3', {}, 'Resection plan'), el('p', { class: 'soft' }, 'Click contacts; those with a thick border are in the top K.'), planBoard(), el('h3', {}, 'Notes'), notes());
  parts.push(el('h3', {}, 'Readers'), agreement());
  if (now.told.may_export) parts.push(exports_());
  now.place.replaceChildren(...parts);
  drawState();
  toggles();
  document.documentElement.dataset.revision = String(base());
}
