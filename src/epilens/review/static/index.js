// The index: a row for each patient, its recordings as links.
import { ask, el, show } from './page.js';
import { queue } from './queue.js';

function link(code, file) {
  if (!file.there) return el('li', { class: 'soft' }, `${file.shown}: only sidecars are there`);
  const query = new URLSearchParams({ case: code, file: file.name });
  return el('li', {}, el('a', { href: `trace?${query}` }, file.shown),
    file.onsets_s.length ? el('span', { class: 'marked' }, ` ${file.onsets_s.length} marked: ${file.onsets_s.map((s) => `${s.toFixed(1)} s`).join(', ')}`) : '', file.ictal ? '' : el('span', { class: 'soft' }, ' (no seizure by its name)'));
}

function row(one) {
  const marked = one.files.reduce((sum, file) => sum + file.onsets_s.length, 0);
  const words = [marked ? `${marked} onset${marked > 1 ? 's' : ''} marked` : 'not reviewed', one.bad ? `${one.bad} bad contact${one.bad > 1 ? 's' : ''}` : ''];
  const summary = one.problem ? el('div', { class: 'problem' }, one.problem) : words.filter(Boolean).join(', ');
  const state = el('td', { 'data-title': 'State', id: `state-${one.code}` }, summary);
  return el('tr', { id: `case-${one.code}` }, el('td', { 'data-title': 'Patient' }, one.code),
    el('td', { 'data-title': 'Recordings' }, el('ul', {}, ...one.files.map((file) => link(one.code, file)))), state);
}

try {
  const told = await ask('api/cases');
  document.getElementById('disclaimer').textContent = told.disclaimer;
  document.getElementById('cases').append(...told.cases.map(row));
  queue(document.getElementById('extra')).catch(show);
} catch (problem) { show(problem); }
document.documentElement.dataset.ready = '1';
