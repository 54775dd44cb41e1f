// Read and sign: a verdict for each contact, a resection plan, notes, initials.
import { getJson, el, postJson, showProblem } from './page.js';

const VERDICTS = ['agree', 'disagree', 'unsure'];
const view = { place: null, code: '', run: 0, data: null, judgement: null, savedNotes: '', choose: null, waiting: Promise.resolve(), timer: 0 };

export function reader() { return sessionStorage.getItem('reader') || ''; }

function isOpen() { return Boolean(reader()) && (!view.data.own || !view.data.own.signed_on) && isThisRun(); }

function getReadings(code, run) { return getJson(`api/readings?${new URLSearchParams({ case: code, run, reader: reader() })}`); }

// Whether the server sends the ranking only after this reader has marked zone and plan.
export async function isRankingHidden(code, run) { return (await getReadings(code, run)).hidden; }

function isThisRun() { return !view.data.own || view.data.own.judgement.run === view.run; }

export async function readView(place, code, run, choose) {
  Object.assign(view, { place, code, run, choose });
  await load();
}

async function load() {
  view.data = await getReadings(view.code, view.run);
  const own = view.data.own && isThisRun() ? view.data.own.judgement : { verdicts: {}, plan: [], zone: [], notes: '' };
  view.judgement = { verdicts: { ...own.verdicts }, plan: new Set(own.plan), zone: new Set(own.zone), notes: own.notes };
  view.savedNotes = own.notes;
  draw();
}

function base() { return view.data.own ? view.data.own.revision : 0; }

// One after another: each change is based on the revision of the one before.
function change(act, content) {
  view.waiting = view.waiting.then(async () => {
    const body = { case: view.code, run: view.run, reader: reader(), base: base(), act, ...content() };
    view.data.own = await postJson('api/reading', body);
    document.documentElement.dataset.revision = String(view.data.own.revision);
    showProblem();
  });
  const sent = view.waiting;
  view.waiting = sent.catch((problem) => { showProblem(problem); return load(); }).catch(showProblem);
  return sent;
}

const currentJudgement = () => ({ verdicts: view.judgement.verdicts, plan: [...view.judgement.plan], notes: view.judgement.notes });

// A save must not replace a button that is being clicked, nor the question before signing.
function save() {
  clearTimeout(view.timer);
  const { notes: text } = view.judgement;
  return change('save', currentJudgement).then(() => { view.savedNotes = text; drawCounts(); }, () => {});
}

function saveNotes() { if (view.judgement.notes !== view.savedNotes) save(); }

function setVerdict(name, word) {
  if (view.judgement.verdicts[name] === word) delete view.judgement.verdicts[name]; else view.judgement.verdicts[name] = word;
  save();
}

function setPlan(name) {
  if (!view.judgement.plan.delete(name)) view.judgement.plan.add(name);
  if (!view.data.hidden) save();
}

function setZone(name) { if (!view.judgement.zone.delete(name)) view.judgement.zone.add(name); }

// Stores zone and plan as they were before the ranking; then the whole patient is shown.
async function reveal() {
  const blind = () => ({ plan: [...view.judgement.plan], zone: [...view.judgement.zone], notes: view.judgement.notes, blind: true });
  await change('save', blind).then(() => view.choose(view.run), () => {});
}

function drawToggles() {
  for (const button of view.place.querySelectorAll('[data-word]')) button.setAttribute('aria-pressed', String(view.judgement.verdicts[button.dataset.name] === button.dataset.word));
  for (const button of view.place.querySelectorAll('[data-zone]')) button.setAttribute('aria-pressed', String(view.judgement.zone.has(button.dataset.zone)));
  for (const button of view.place.querySelectorAll('[data-plan]')) button.setAttribute('aria-pressed', String(view.judgement.plan.has(button.dataset.plan)));
}

function verdictRow(contact) {
  const off = !isOpen();
  const buttons = VERDICTS.map((word) => el('button', { 'data-word': word, 'data-name': contact.name, disabled: off, 'aria-label': `${contact.short}: ${word}`,
    onclick: () => { setVerdict(contact.name, word); drawToggles(); } }, word));
  const others = view.data.others.map((other) => el('td', {}, other.judgement.run === view.run ? other.judgement.verdicts[contact.name] || '–' : 'another run'));
  return el('tr', {}, el('td', {}, String(contact.rank)), el('td', { class: 'name', title: contact.name }, contact.short), el('td', {}, contact.decision === 'none' ? '' : contact.decision),
    el('td', {}, el('span', { class: 'choice', role: 'group' }, ...buttons)), ...others);
}

function verdictTable() {
  const heads = ['Rank', 'Contact', 'EZ or NEZ', 'Is this rank right?', ...view.data.others.map((other) => other.reader)];
  return el('div', { class: 'list', tabindex: '0' }, el('table', { class: 'verdicts' }, el('thead', {}, el('tr', {}, ...heads.map((t) => el('th', {}, t)))),
    el('tbody', {}, ...view.data.contacts.map(verdictRow))));
}

function board(kind, set) {
  const { hidden } = view.data;
  const shafts = new Map();
  for (const contact of view.data.contacts) {
    const shaft = contact.shaft || 'others';
    shafts.set(shaft, [...(shafts.get(shaft) || []), contact]);
  }
  const title = (contact) => (hidden ? contact.short : `${contact.short}, rank ${contact.rank}`);
  const rows = [...shafts].sort().flatMap(([shaft, contacts]) => [el('strong', {}, shaft), el('div', {},
    ...contacts.sort((a, b) => (a.number ?? 0) - (b.number ?? 0) || a.name.localeCompare(b.name)).map((contact) => el('button', {
      class: !hidden && contact.rank <= view.data.k ? 'dot top' : 'dot', [`data-${kind}`]: contact.name, disabled: !isOpen() && !hidden, title: title(contact), 'aria-label': `${kind} ${contact.short}`,
      onclick: () => { set(contact.name); drawToggles(); } }, contact.shaft ? String(contact.number) : contact.short)))]);
  return el('div', { class: 'shafts' }, ...rows);
}

function notes() {
  const box = el('textarea', { id: 'notes', readOnly: !isOpen(), maxLength: 20000, 'aria-label': 'Notes',
    oninput: () => { view.judgement.notes = box.value; clearTimeout(view.timer); view.timer = setTimeout(saveNotes, 700); },
    onchange: saveNotes });
  box.value = view.judgement.notes;
  return box;
}

function initialsForm() {
  const field = el('input', { class: 'initials', id: 'initials', value: reader(), maxLength: 6, autocomplete: 'off' });
  const begin = () => { sessionStorage.setItem('reader', field.value.trim().toUpperCase()); view.choose(view.run).then(() => showProblem(), (problem) => { sessionStorage.removeItem('reader'); showProblem(problem); }); };
  return el('form', { class: 'line', onsubmit: (event) => { event.preventDefault(); begin(); } }, el('label', {}, 'Initials ', field), el('button', { id: 'begin', type: 'button', onclick: begin }, reader() ? 'Change reader' : 'Begin reading'));
}

async function amend() { await change('amend', () => ({})).then(load, () => {}); }

const countJudged = () => Object.keys(view.judgement.verdicts).length;
const countUnread = () => view.data.contacts.length - countJudged();
const unreadText = () => `${countUnread()} of ${view.data.contacts.length} contacts have no verdict.`;

function askToSign() {
  if (!countUnread()) { sign(); return; }
  view.place.querySelector('#state').replaceChildren(el('div', { class: 'line', id: 'unread', role: 'alert' }, el('strong', { id: 'unread-text' }, unreadText()),
    el('button', { id: 'sign-anyway', class: 'strong', onclick: sign }, 'Sign anyway'), el('button', { id: 'sign-back', onclick: drawState }, 'Back')));
}

async function sign() {
  clearTimeout(view.timer);
  await change('sign', currentJudgement).then(load, () => {});
}

// Verdicts are about one ranking: for another run they begin again; plan and notes stay.
async function moveToThisRun() {
  const names = new Set(view.data.contacts.map((contact) => contact.name));
  const { plan, notes: text } = view.data.own.judgement;
  await change('save', () => ({ verdicts: {}, plan: plan.filter((name) => names.has(name)), notes: text })).then(load, () => {});
}

function state() {
  const own = view.data.own;
  if (!reader()) return el('p', { class: 'soft' }, 'Enter your initials to begin.');
  if (own && !isThisRun()) {
    const run = own.judgement.run;
    const signed = own.signed_on ? ` Version ${own.version} was signed on ${own.signed_on}.` : '';
    return el('div', { class: 'line' }, `Your reading is about run ${run}.${signed}`, el('button', { onclick: () => view.choose(run) }, `Open run ${run}`),
      own.signed_on ? el('button', { id: 'amend', onclick: amend }, 'Amend') : el('button', { id: 'move', onclick: moveToThisRun }, `Read run ${view.run} instead`));
  }
  if (own && own.signed_on) {
    const warning = own.intact ? '' : el('p', { class: 'problem' }, 'The file of this reading was changed after it was signed.');
    return el('div', {}, el('p', { class: 'signed', id: 'signed' }, `Signed by ${own.reader} on ${own.signed_on}, version ${own.version}.`), warning,
      el('button', { id: 'amend', onclick: amend }, 'Amend'));
  }
  return el('div', { class: 'line' }, el('button', { id: 'sign', class: 'strong', onclick: askToSign }, `Sign as ${reader()}`),
    el('span', { id: 'judged-text', class: 'soft' }, judgedText()));
}

function judgedText() {
  const { own, contacts } = view.data;
  return `${countJudged()} of ${contacts.length} contacts judged, ${view.judgement.plan.size} planned${own ? `; draft of version ${own.version} saved` : ''}`;
}

function drawCounts() {
  for (const [id, text] of [['judged-text', judgedText()], ['unread-text', unreadText()]]) {
    const place = view.place.querySelector(`#${id}`);
    if (place) place.textContent = text;
  }
}

function drawState() { view.place.querySelector('#state').replaceChildren(state()); }

function counts(agreement) {
  if (agreement.kind !== 'Cohen') return el('p', { class: 'soft' }, agreement.words.map((word, i) => `${word}: ${agreement.counts[0][i]}`).join(', '));
  return el('table', { class: 'counts' }, el('thead', {}, el('tr', {}, el('th', {}, `${agreement.readers[0]} \\ ${agreement.readers[1]}`), ...agreement.words.map((word) => el('th', {}, word)))),
    el('tbody', {}, ...agreement.counts.map((row, i) => el('tr', {}, el('th', {}, agreement.words[i]), ...row.map((n) => el('td', {}, String(n)))))));
}

// Verdicts of others stay hidden until the reader has signed: readings are independent.
function readersView() {
  const { signers, agreement: agreements } = view.data;
  if (!signers.length) return el('p', { class: 'soft' }, 'No signed readings yet.');
  const list = signers.map((signer) => el('li', {}, `${signer.reader}: run ${signer.run}, version ${signer.version}, signed on ${signer.signed_on}${signer.intact ? '' : ' (changed after it was signed)'}`));
  const wait = agreements.length ? '' : el('p', { class: 'soft' }, 'Agreement is shown when two readers have signed the same run.');
  const blind = view.data.may_export ? '' : el('p', { class: 'soft' }, 'The verdicts of other readers are shown when your own reading is signed, and can then be exported.');
  return el('div', {}, el('ul', {}, ...list), wait, ...agreements.flatMap((agreement) => [el('p', { class: 'kappa', 'data-what': agreement.what }, agreement.text), counts(agreement)]), blind);
}

function exportLinks() {
  const files = [['page.html', 'page with readings'], ['readings.tsv', 'table'], ['readings.json', 'everything, with notes']];
  return el('p', { class: 'line' }, 'Export: ', ...files.map(([name, text]) => el('a', { href: `export/${encodeURIComponent(view.code)}/${view.run}/${name}?${new URLSearchParams({ reader: reader() })}`, download: '' }, text)));
}

function blindParts() {
  return [el('p', {}, 'The ranking has not been sent to this browser. Mark the onset zone and a resection plan from the traces; then the ranking is shown and compared. What you mark here cannot be changed afterwards.'),
    el('h3', {}, 'Onset zone'), board('zone', setZone), el('h3', {}, 'Resection plan'), board('plan', setPlan),
    el('p', { class: 'line' }, el('button', { id: 'reveal', class: 'strong', onclick: reveal }, 'Store and show the ranking'))];
}

function blindComparison() {
  if (!view.data.blind) return [];
  const rows = Object.entries(view.data.blind).filter(([, one]) => one.marked).map(([what, one]) => el('li', {}, `Your ${what} (${one.marked} contact${one.marked === 1 ? '' : 's'}): ${one.shared} in the top ${view.data.k} of the ranking (expected by chance: ${one.by_chance.toFixed(1)}).`));
  return [el('h3', {}, 'Marked before the ranking was shown'), el('ul', { id: 'blind-compared' }, ...rows)];
}

function draw() {
  const { hidden } = view.data;
  const parts = [el('h2', {}, `Read run ${view.run}`), initialsForm(), el('div', { id: 'state' })];
  if (reader() && hidden) parts.push(...blindParts());
  else if (reader()) parts.push(...blindComparison(), el('h3', {}, 'Contacts'), verdictTable(), el('h3', {}, 'Resection plan'), el('p', { class: 'soft' }, 'Click contacts; those with a thick border are in the top K.'), board('plan', setPlan), el('h3', {}, 'Notes'), notes());
  parts.push(el('h3', {}, 'Readers'), readersView());
  if (view.data.may_export) parts.push(exportLinks());
  view.place.replaceChildren(...parts);
  if (!hidden || !reader()) drawState();
  drawToggles();
  document.documentElement.dataset.revision = String(base());
}
