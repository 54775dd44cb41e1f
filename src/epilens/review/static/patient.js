// One patient: start runs, view the page of a run, compare two runs, read and sign.
import { byId, el, getJson, postJson, rankerOptions, showProblem } from './page.js';
import { compareView } from './compare.js';
import { isRankingHidden, readView, reader } from './read.js';

const code = new URLSearchParams(location.search).get('case') || '';
const state = { runs: [], answer: '', shown: 0, tab: 'page', polling: 0 };
const url = (path, query) => `${path}?${new URLSearchParams({ case: code, ...query })}`;

function times(onsets) {
  return onsets.length ? onsets.map((s) => `${s.toFixed(1)} s`).join(', ') : 'not marked (the annotated onset is used, if any)';
}

function done() { return state.runs.filter((run) => run.state.kind === 'done'); }

function runRow(run) {
  const number = run.state.kind === 'done'
    ? el('button', { class: 'link', onclick: () => choose(run.number) }, `Run ${run.number}`) : `Run ${run.number}`;
  const onsets = run.recordings.map((recording) => el('div', {}, `${recording.shown}: ${times(recording.onsets_s)}`));
  const states = { running: 'running …', done: run.used ? `done: ${run.used}` : 'done', failed: run.state.problem, interrupted: 'interrupted: run it again' };
  const cell = (title, ...inside) => el('td', { 'data-title': title }, ...inside);
  return el('tr', { class: run.number === state.shown ? 'is-shown' : '', 'data-run': String(run.number) }, cell('Run', number), cell('Ranked by', run.title),
    cell('Onsets', ...onsets), cell('Excluded', run.exclude.join(', ') || '–'), cell('Started (UTC)', run.begun_at.slice(0, 16).replace('T', ' ')),
    cell('State', el('span', { class: run.state.kind === 'failed' ? 'problem' : '' }, states[run.state.kind])));
}

function drawMarks(patient) {
  const onset = (file) => (file.onsets_s.length ? `${times(file.onsets_s)} (${file.use})` : file.use);
  const skipped = patient.files.filter((file) => file.skipped).length;
  byId('onsets').replaceChildren(...patient.files.map((file) => el('li', { class: file.skipped ? 'problem' : '' }, `${file.shown}: ${onset(file)}`)));
  const bad = patient.exclude.length ? ` Excluded: ${patient.exclude.join(', ')}.` : '';
  byId('marks').textContent = `${patient.files.length - skipped} of ${patient.files.length} recordings have an onset.${bad}`;
  byId('traces').replaceChildren(...patient.files.map((file) => el('a', { href: url('trace', { file: file.name }) }, `Traces of ${file.shown}`)));
}

function drawProgress() {
  const running = state.runs.find((run) => run.state.kind === 'running');
  byId('start').disabled = Boolean(running);
  byId('stop').hidden = byId('progress').hidden = !running;
  byId('note').textContent = running ? `Run ${running.number}: ${running.state.note || 'starting'}` : '';
  if (!running) return;
  const { done: steps, total } = running.state;
  if (total) { byId('progress').max = total; byId('progress').value = steps; } else byId('progress').removeAttribute('value');
  byId('stop').onclick = () => postJson('api/stop', { case: code, run: running.number }).then(load, showProblem);
}

async function load() {
  const patient = await getJson(url('api/runs', {}));
  clearTimeout(state.polling);
  const busy = patient.runs.some((run) => run.state.kind === 'running');
  state.polling = setTimeout(() => load().catch(showProblem), busy ? 500 : 5000); // another window may change it
  if (JSON.stringify(patient) === state.answer) return;
  state.answer = JSON.stringify(patient);
  const before = done().length;
  state.runs = patient.runs;
  byId('title').textContent = patient.patient;
  document.title = `${patient.patient}: run and read`;
  drawMarks(patient);
  if (patient.problem) showProblem(patient.problem);
  drawProgress();
  byId('runs').tBodies[0].replaceChildren(...[...state.runs].reverse().map(runRow));
  byId('runs').hidden = !state.runs.length;
  const ready = done();
  // A finished run does not interrupt a reader.
  const follow = ready.length > before && state.tab !== 'read';
  if (ready.length && (!state.shown || follow)) await choose(ready[ready.length - 1].number);
  document.documentElement.dataset.runs = String(ready.length);
}

async function choose(number) {
  state.shown = number;
  for (const row of byId('runs').tBodies[0].rows) row.className = row.dataset.run === String(number) ? 'is-shown' : '';
  document.querySelector('.tabs').hidden = document.querySelector('.layout').hidden = false;
  byId('page-title').textContent = `Result of run ${number}`;
  const hidden = await isRankingHidden(code, number);
  if (hidden) { state.tab = 'read'; byId('page').removeAttribute('src'); } else byId('page').src = `run/${encodeURIComponent(code)}/${number}.html?${new URLSearchParams({ reader: reader() })}`;
  for (const name of ['page', 'compare']) byId(`tab-${name}`).disabled = hidden;
  document.querySelector('.layout').classList.toggle('blind', hidden);
  await draw();
}

async function draw() {
  for (const name of ['page', 'compare', 'read']) {
    byId(`tab-${name}`).setAttribute('aria-selected', String(name === state.tab));
    byId(`view-${name}`).hidden = name !== state.tab && !(name === 'page' && state.tab === 'read');
  }
  document.querySelector('.layout').classList.toggle('reads', state.tab === 'read');
  if (state.tab === 'compare') await compareView(byId('view-compare'), code, done(), state.shown);
  if (state.tab === 'read') await readView(byId('view-read'), code, state.shown, choose);
}

for (const name of ['page', 'compare', 'read']) byId(`tab-${name}`).onclick = () => { state.tab = name; draw().then(() => showProblem(), showProblem); };

byId('start').onclick = async () => {
  showProblem();
  byId('start').disabled = true;
  try { await postJson('api/run', { case: code, choice: byId('choice').value }); } catch (problem) { showProblem(problem); }
  await load().catch(showProblem);
};

try {
  await load();
  byId('choice').replaceChildren(...rankerOptions(await getJson('api/choices')));
} catch (problem) { showProblem(problem); }
document.documentElement.dataset.ready = '1';
