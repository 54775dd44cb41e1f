// On the index: who is to be read, and the batch that ranks all patients in the background.
import { ask, el, send, show } from './page.js';
import { choiceOptions } from './choices.js';

function words(one) {
  const told = [];
  if (one.problem) told.push(el('span', { class: 'problem' }, one.problem));
  if (one.running) told.push('running …');
  else if (one.run) told.push(`run ${one.run} is there`);
  else told.push(one.runs ? 'no run succeeded' : 'not run');
  if (one.batch && one.batch.kind === 'failed') told.push(el('span', { class: 'problem' }, `batch: ${one.batch.problem}`));
  if (one.signers.length) told.push(`signed by ${one.signers.map((s) => s.reader).join(', ')}`);
  else told.push(el('strong', {}, 'to be read'));
  if (one.drafts) told.push(`${one.drafts} draft${one.drafts > 1 ? 's' : ''}`);
  for (const found of one.agreement) told.push(`${found.what}: κ ${found.kappa === null ? 'not defined' : found.kappa.toFixed(2)}`);
  return told;
}

function drawPatient(one) {
  const cell = document.getElementById(`state-${one.code}`);
  if (!cell) return;
  const link = el('a', { href: `patient?${new URLSearchParams({ case: one.code })}` }, 'Run and read');
  let place = cell.querySelector('.state');
  if (!place) { place = el('div', { class: 'state' }); cell.append(place); }
  place.replaceChildren(...words(one).map((text) => el('div', {}, text)), el('div', {}, link));
}

// Who is to be read comes first; among them the order stays.
function sort(patients) {
  const unread = new Map(patients.map((one) => [`case-${one.code}`, one.signers.length ? 1 : 0]));
  const body = document.getElementById('cases');
  const rows = [...body.rows];
  const sorted = [...rows].sort((a, b) => (unread.get(a.id) ?? 0) - (unread.get(b.id) ?? 0));
  if (sorted.some((row, i) => row !== rows[i])) body.append(...sorted);
}

function drawBatch(told, choices) {
  const place = document.getElementById('batch');
  const rows = told.patients.map((one) => one.batch).filter(Boolean);
  const count = (kind) => rows.filter((row) => row.kind === kind).length;
  const left = count('waiting') + count('running');
  const sums = `${count('done')} done, ${count('kept')} kept, ${count('failed')} failed, ${left} to come`;
  document.getElementById('queue').textContent = `${told.unread} of ${told.patients.length} patients are to be read.`;
  place.querySelector('#batch-state').textContent = rows.length ? (told.batch.running ? `Running: ${sums}.` : left ? `Stopped: ${sums}.` : `Over: ${sums}.`) : '';
  place.querySelector('#batch-start').hidden = told.batch.running;
  place.querySelector('#batch-start').textContent = left && !told.batch.running ? 'Resume batch' : 'Run all patients';
  place.querySelector('#batch-stop').hidden = !told.batch.running;
  if (choices && told.batch.choice) place.querySelector('select').value = told.batch.choice;
}

async function load(choices) {
  const told = await ask('api/queue');
  told.patients.forEach(drawPatient);
  sort(told.patients);
  drawBatch(told, choices);
  document.documentElement.dataset.batch = told.batch.running ? 'running' : 'over';
  const busy = told.batch.running || told.patients.some((one) => one.running);
  setTimeout(() => load().catch(show), busy ? 700 : 5000);
}

async function change(act) {
  const choice = document.querySelector('#batch select').value;
  try { await send('api/batch', { act, choice }); show(); } catch (problem) { show(problem); }
}

export async function queue(place) {
  place.replaceChildren(el('p', { id: 'queue' }), el('div', { id: 'batch', class: 'batch panel' }, el('strong', {}, 'Batch'),
    el('label', {}, 'Rank by ', el('select', {})), el('button', { id: 'batch-start', onclick: () => change('start') }, 'Run all patients'),
    el('button', { id: 'batch-stop', hidden: true, onclick: () => change('stop') }, 'Stop after this patient'), el('span', { id: 'batch-state', role: 'status' })));
  const choices = await ask('api/choices');
  place.querySelector('select').replaceChildren(...choiceOptions(choices));
  await load(choices);
}
