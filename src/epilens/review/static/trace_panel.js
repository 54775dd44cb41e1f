// Beside the paper: onsets, suggestions, contacts, annotations, each in words.
import { el } from './page.js';
import { addOnset, changeOnset, removeOnset, toggleBad } from './trace_marks.js';
import { called, changed, clock, onsets, show, state } from './trace_state.js';

const at = (id) => document.getElementById(id);
const go = (s) => () => show(s - state.seconds / 2);
const time = (s) => el('button', { class: 'time', title: `${clock(s)}: go there`, onclick: go(s) }, `${s.toFixed(3)} s`);
// Nothing typed: nobody said how sure.
const seconds = (text) => (text.trim() === '' ? null : Math.min(3600, Math.max(0, Number(text) || 0)));
let drawn = '';

function onsetRow(mark, index) {
  const chosen = index === state.chosen;
  const row = el('div', { class: `row onset-row${chosen ? ' is-chosen' : ''}` },
    el('span', { class: 'grow' }, time(mark.onset_s), mark.made_from === 'hand' ? '' : el('span', { class: 'soft' }, ` from ${mark.made_from === 'suggestion' ? 'a suggestion' : 'an annotation'}`)),
    el('button', { onclick: () => { state.chosen = chosen ? -1 : index; changed(); } }, chosen ? 'chosen' : 'choose'),
    el('button', { class: 'remove', title: 'remove this onset', onclick: () => removeOnset(index) }, 'remove'),
    el('label', {}, '± ', el('input', { class: 'unsure', type: 'number', min: '0', max: '3600', step: '0.1', value: mark.uncertainty_s === null ? '' : String(mark.uncertainty_s), onchange: (event) => changeOnset(index, { uncertainty_s: seconds(event.target.value) }) }), ' s'),
    el('label', {}, 'type ', el('input', { class: 'word', maxlength: '40', placeholder: 'e.g. LVFA', value: mark.type, onchange: (event) => changeOnset(index, { type: event.target.value.trim() }) })));
  const first = mark.first.map((name, order) => el('button', { title: `${name}: take out`, onclick: () => changeOnset(index, { first: mark.first.filter((one) => one !== name) }) }, `${order + 1}. ${called(name)}`));
  row.append(el('span', { class: 'grow soft first' }, first.length ? 'began: ' : 'began: press F, then click contacts in their order', ...first));
  return row;
}

function suggestionRow(one) {
  return el('div', { class: 'row guess-row' }, el('span', { class: 'grow guess' }, time(one.onset_s), ` sure ${one.sure.toFixed(2)}`),
    el('button', { class: 'take', onclick: () => addOnset(one.onset_s, 'suggestion') }, 'take as onset'),
    el('span', { class: 'soft grow' }, one.contacts.length ? `first: ${one.contacts.slice(0, 6).map(called).join(', ')}${one.contacts.length > 6 ? ' …' : ''}` : ''));
}

function channelRows() {
  const rows = Object.entries(state.marks.bad).map(([name, why]) => el('div', { class: 'row bad-row', title: name }, el('span', { class: 'grow' }, `${called(name)}: bad (${why})`), el('button', { onclick: () => toggleBad([name]) }, 'good again')));
  const stated = state.about.bad.filter((name) => !(name in state.marks.bad));
  if (stated.length) rows.push(el('p', { class: 'soft small' }, `The file calls ${stated.length} bad: ${stated.slice(0, 8).map(called).join(', ')}${stated.length > 8 ? ' …' : ''}.`));
  const hints = state.channelHints.filter((hint) => !(hint.channel in state.marks.bad));
  rows.push(...hints.map((hint) => el('div', { class: 'row hint-row', title: hint.channel }, el('span', { class: 'grow guess' }, `${called(hint.channel)}? ${hint.words}`), el('button', { class: 'take', onclick: () => toggleBad([hint.channel], hint.what) }, 'mark bad'))));
  return rows.length ? rows : [el('p', { class: 'soft small' }, 'None is marked bad. Press B, then click contacts.')];
}

function eventRow(event) {
  return el('div', { class: 'row' }, el('span', { class: 'grow' }, time(event.onset_s), ` ${event.text}`), el('button', { onclick: () => addOnset(event.onset_s, 'annotation') }, 'take as onset'));
}

export function drawPanel() {
  const now = JSON.stringify([state.marks, state.chosen, state.suggestions, state.channelHints]);
  if (now === drawn || at('onsets').contains(document.activeElement) && document.activeElement.matches('input') && drawn.length && now === drawn) return;
  drawn = now;
  const rows = onsets().map(onsetRow);
  at('onsets').replaceChildren(...(rows.length ? rows : [el('p', { class: 'soft small' }, 'None is marked. Press O, then click where the seizure begins; drag a line to move it.')]));
  const changedFile = (state.marks.files[state.about.name] || {}).fingerprint;
  if (rows.length && changedFile && changedFile !== state.about.fingerprint) at('onsets').prepend(el('p', { class: 'problem small' }, 'The recording has changed since it was marked: check the onsets.'));
  at('suggestions').replaceChildren(...state.suggestions.map(suggestionRow));
  at('channels').replaceChildren(...channelRows());
}

export function drawEvents(leftOff) {
  const rows = state.events.slice(0, 300).map(eventRow), more = state.events.length - rows.length + leftOff;
  at('events').replaceChildren(el('div', { class: 'scroll' }, ...(rows.length ? rows : [el('p', { class: 'soft small' }, 'The recording has none.')])), more > 0 ? el('p', { class: 'soft small' }, `and ${more} more`) : '');
}
