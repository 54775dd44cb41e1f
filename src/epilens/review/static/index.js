// The index: one row per patient with links to its recordings.
import { byId, el, getJson, showProblem } from './page.js';
import { showQueue } from './queue.js';

function recordingLink(code, file) {
  if (!file.there) return el('li', { class: 'soft' }, `${file.shown}: only sidecars found`);
  const query = new URLSearchParams({ case: code, file: file.name });
  return el('li', {}, el('a', { href: `trace?${query}` }, file.shown),
    file.onsets_s.length ? el('span', { class: 'marked' }, ` ${file.onsets_s.length} marked: ${file.onsets_s.map((s) => `${s.toFixed(1)} s`).join(', ')}`) : '', file.ictal ? '' : el('span', { class: 'soft' }, ' (not a seizure by its name)'));
}

function patientRow(patient) {
  const marked = patient.files.reduce((sum, file) => sum + file.onsets_s.length, 0);
  const words = [marked ? `${marked} onset${marked > 1 ? 's' : ''} marked` : '', patient.bad ? `${patient.bad} bad contact${patient.bad > 1 ? 's' : ''}` : ''];
  const summary = patient.problem ? el('div', { class: 'problem' }, patient.problem) : words.filter(Boolean).join(', ');
  const state = el('td', { 'data-title': 'State', id: `state-${patient.code}` }, summary);
  return el('tr', { id: `case-${patient.code}` }, el('td', { 'data-title': 'Patient' }, patient.code),
    el('td', { 'data-title': 'Recordings' }, el('ul', {}, ...patient.files.map((file) => recordingLink(patient.code, file)))), state);
}

try {
  const { disclaimer, cases } = await getJson('api/cases');
  byId('disclaimer').textContent = disclaimer;
  byId('cases').append(...cases.map(patientRow));
  showQueue(byId('extra')).catch(showProblem);
} catch (problem) { showProblem(problem); }
document.documentElement.dataset.ready = '1';
