// On the index: patients awaiting review, and the batch that ranks all patients in the background.
import { byId, el, getJson, postJson, rankerOptions, showProblem } from './page.js';

function describe(patient) {
  const lines = [];
  if (patient.problem) lines.push(el('span', { class: 'problem' }, patient.problem));
  if (patient.running) lines.push('running …');
  else if (patient.run) lines.push(`run ${patient.run} finished`);
  else if (patient.runs) lines.push('no run succeeded');
  if (patient.batch && patient.batch.kind === 'failed') lines.push(el('span', { class: 'problem' }, `batch: ${patient.batch.problem}`));
  if (patient.signers.length) lines.push(`signed by ${patient.signers.map((s) => s.reader).join(', ')}`);
  else lines.push(el('strong', {}, 'awaiting review'));
  if (patient.drafts) lines.push(`${patient.drafts} draft${patient.drafts > 1 ? 's' : ''}`);
  for (const agreement of patient.agreement) lines.push(`${agreement.what}: κ ${agreement.kappa === null ? 'not defined' : agreement.kappa.toFixed(2)}`);
  return lines;
}

function drawPatient(patient) {
  const cell = byId(`state-${patient.code}`);
  if (!cell) return;
  const link = el('a', { href: `patient?${new URLSearchParams({ case: patient.code })}` }, 'Run, read and sign');
  let box = cell.querySelector('.state');
  if (!box) { box = el('div', { class: 'state' }); cell.append(box); }
  box.replaceChildren(...describe(patient).map((text) => el('div', {}, text)), el('div', {}, link));
}

// Patients awaiting review come first; otherwise the order stays.
function sort(patients) {
  const unread = new Map(patients.map((patient) => [`case-${patient.code}`, patient.signers.length ? 1 : 0]));
  const body = byId('cases');
  const rows = [...body.rows];
  const sorted = [...rows].sort((a, b) => (unread.get(a.id) ?? 0) - (unread.get(b.id) ?? 0));
  if (sorted.some((row, i) => row !== rows[i])) body.append(...sorted);
}

function drawBatch(queue, isFirst) {
  const box = byId('batch');
  const rows = queue.patients.map((patient) => patient.batch).filter(Boolean);
  const count = (kind) => rows.filter((row) => row.kind === kind).length;
  const left = count('waiting') + count('running');
  const sums = `${count('done')} done, ${count('kept')} unchanged, ${count('failed')} failed, ${left} waiting`;
  byId('queue').textContent = `${queue.unread} patient${queue.unread === 1 ? '' : 's'} awaiting review`;
  const state = queue.batch.running ? 'Running' : left || queue.batch.problem ? 'Stopped' : 'Finished';
  box.querySelector('#batch-state').textContent = rows.length ? `${state}: ${sums}. ${queue.batch.problem}` : '';
  box.querySelector('#batch-start').hidden = queue.batch.running;
  box.querySelector('#batch-start').textContent = left && !queue.batch.running ? 'Resume batch' : 'Run all patients';
  box.querySelector('#batch-stop').hidden = !queue.batch.running;
  if (isFirst && queue.batch.choice) box.querySelector('select').value = queue.batch.choice;
}

async function load(isFirst) {
  const queue = await getJson('api/queue');
  queue.patients.forEach(drawPatient);
  sort(queue.patients);
  drawBatch(queue, isFirst);
  document.documentElement.dataset.batch = queue.batch.running ? 'running' : 'over';
  const busy = queue.batch.running || queue.patients.some((patient) => patient.running);
  setTimeout(() => load().catch(showProblem), busy ? 700 : 5000);
}

async function change(act) {
  const choice = document.querySelector('#batch select').value;
  try { await postJson('api/batch', { act, choice }); showProblem(); } catch (problem) { showProblem(problem); }
}

export async function showQueue(place) {
  place.replaceChildren(el('p', { id: 'queue' }), el('div', { id: 'batch', class: 'batch panel' }, el('strong', {}, 'Batch'),
    el('label', {}, 'Rank by ', el('select', {})), el('button', { id: 'batch-start', onclick: () => change('start') }, 'Run all patients'),
    el('button', { id: 'batch-stop', hidden: true, onclick: () => change('stop') }, 'Stop after this patient'), el('span', { id: 'batch-state', role: 'status' })));
  const rankers = await getJson('api/choices');
  place.querySelector('select').replaceChildren(...rankerOptions(rankers));
  await load(true);
}
