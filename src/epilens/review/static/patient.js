// One patient: start runs, see the page of a run inside, compare two, read and sign.
import { ask, el, send, show } from './page.js';
import { choiceOptions } from './choices.js';
import { compareView } from './compare.js';
import { readView } from './read.js';

const code = new URLSearchParams(location.search).get('case') || '';
const at = (id) => document.getElementById(id);
const state = { runs: [], told: '', shown: 0, tab: 'page', polling: 0 };
const where = (path, query) => `${path}?${new URLSearchParams({ case: code, ...query })}`;

function times(onsets) {
  return onsets.length ? onsets.map((s) => `${s.toFixed(1)} s`).join(', ') : 'as the file says';
}

function done() { return state.runs.filter((run) => run.state.kind === 'done'); }

function runRow(run) {
  const number = run.state.kind === 'done'
    ? el('button', { class: 'link', onclick: () => choose(run.number) }, `Run ${run.number}`) : `Run ${run.number}`;
  const onsets = run.recordings.map((one) => el('div', {}, `${one.shown}: ${times(one.onsets_s)}`));
  const told = { running: 'running …', done: 'done', failed: run.state.problem, interrupted: 'interrupted: run it again' };
  const cell = (title, ...inside) => el('td', { 'data-title': title }, ...inside);
  return el('tr', { class: run.number === state.shown ? 'is-shown' : '', 'data-run': String(run.number) }, cell('Run', number), cell('Ranked by', run.title),
    cell('Onsets', ...onsets), cell('Left out', run.exclude.join(', ') || '–'), cell('Begun (UTC)', run.begun_at.slice(0, 16).replace('T', ' ')),
    cell('State', el('span', { class: run.state.kind === 'failed' ? 'problem' : '' }, told[run.state.kind])));
}

function drawMarks(told) {
  const marked = told.files.filter((file) => file.onsets_s.length);
  const words = marked.map((file) => `${file.shown}: ${times(file.onsets_s)}`).join('; ');
  const bad = told.exclude.length ? ` Left out: ${told.exclude.join(', ')}.` : '';
  at('marks').textContent = (words ? `Marked now: ${words}.` : 'No onset is marked: those of the files or the dataset are used.') + bad;
  at('traces').replaceChildren(...told.files.map((file) => el('a', { href: where('trace', { file: file.name }) }, `Traces of ${file.shown}`)));
}

function drawProgress() {
  const running = state.runs.find((run) => run.state.kind === 'running');
  at('start').disabled = Boolean(running);
  at('stop').hidden = at('progress').hidden = !running;
  at('note').textContent = running ? `Run ${running.number}: ${running.state.note || 'starting'}` : '';
  if (!running) return;
  const { done: steps, total } = running.state;
  if (total) { at('progress').max = total; at('progress').value = steps; } else at('progress').removeAttribute('value');
  at('stop').onclick = () => send('api/stop', { case: code, run: running.number }).then(load, show);
}

async function load() {
  const told = await ask(where('api/runs', {}));
  clearTimeout(state.polling);
  const busy = told.runs.some((run) => run.state.kind === 'running');
  state.polling = setTimeout(() => load().catch(show), busy ? 500 : 5000); // another window may run or mark
  if (JSON.stringify(told) === state.told) return;
  state.told = JSON.stringify(told);
  const before = done().length;
  state.runs = told.runs;
  at('title').textContent = told.patient;
  document.title = `${told.patient}: run and read`;
  drawMarks(told);
  drawProgress();
  at('runs').tBodies[0].replaceChildren(...[...state.runs].reverse().map(runRow));
  at('runs').hidden = !state.runs.length;
  const ready = done();
  // Whoever reads a run is not taken away from it by the next one.
  const follow = ready.length > before && state.tab !== 'read';
  if (ready.length && (!state.shown || follow)) await choose(ready[ready.length - 1].number);
  document.documentElement.dataset.runs = String(ready.length);
}

async function choose(number) {
  state.shown = number;
  for (const row of at('runs').tBodies[0].rows) row.className = row.dataset.run === String(number) ? 'is-shown' : '';
  document.querySelector('.tabs').hidden = document.querySelector('.desk').hidden = false;
  at('page-title').textContent = `Page of run ${number}`;
  at('page').src = `run/${encodeURIComponent(code)}/${number}.html`;
  await draw();
}

async function draw() {
  for (const name of ['page', 'compare', 'read']) {
    at(`tab-${name}`).setAttribute('aria-selected', String(name === state.tab));
    at(`view-${name}`).hidden = name !== state.tab && !(name === 'page' && state.tab === 'read');
  }
  document.querySelector('.desk').classList.toggle('reads', state.tab === 'read');
  if (state.tab === 'compare') await compareView(at('view-compare'), code, done(), state.shown);
  if (state.tab === 'read') await readView(at('view-read'), code, state.shown, choose);
}

for (const name of ['page', 'compare', 'read']) at(`tab-${name}`).onclick = () => { state.tab = name; draw().then(() => show(), show); };

at('start').onclick = async () => {
  show();
  at('start').disabled = true;
  try { await send('api/run', { case: code, choice: at('choice').value }); } catch (problem) { show(problem); }
  await load().catch(show);
};

try {
  await load();
  at('choice').replaceChildren(...choiceOptions(await ask('api/choices')));
} catch (problem) { show(problem); }
document.documentElement.dataset.ready = '1';
