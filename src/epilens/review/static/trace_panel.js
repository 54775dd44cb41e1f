// Next to the traces: onsets, suggestions, contacts and annotations in words.
import { byId, el } from './page.js';
import { addOnset, changeOnset, changeReason, removeOnset, toggleBad } from './trace_marks.js';
import { shortName, changed, clock, onsets, show, state } from './trace_state.js';

const go = (s) => () => show(s - state.seconds / 2);
const time = (s) => el('button', { class: 'time', title: `${clock(s)}: go there`, onclick: go(s) }, `${s.toFixed(3)} s`);
// Empty: the uncertainty is not stated.
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
  const first = mark.first.map((name, order) => el('button', { title: `remove ${name}`, onclick: () => changeOnset(index, { first: mark.first.filter((other) => other !== name) }) }, `${order + 1}. ${shortName(name)}`));
  row.append(el('span', { class: 'grow soft first' }, first.length ? 'first contacts: ' : 'first contacts: press F, then click contacts in order', ...first));
  return row;
}

function suggestionRow(suggestion) {
  return el('div', { class: 'row suggestion-row' }, el('span', { class: 'grow suggestion' }, time(suggestion.onset_s), ` certainty ${suggestion.sure.toFixed(2)}`),
    el('button', { class: 'use', onclick: () => addOnset(suggestion.onset_s, 'suggestion') }, 'use as onset'),
    el('span', { class: 'soft grow' }, suggestion.contacts.length ? `first: ${suggestion.contacts.slice(0, 6).map(shortName).join(', ')}${suggestion.contacts.length > 6 ? ' …' : ''}` : ''));
}

// Reasons are chosen and not typed: outputs contain no free text.
function reasonChoice(name, why) {
  const words = state.about.reasons.includes(why) ? state.about.reasons : [why, ...state.about.reasons];
  const select = el('select', { class: 'reason', 'aria-label': `reason for ${shortName(name)}`, onchange: () => changeReason(name, select.value) }, ...words.map((word) => el('option', { value: word, selected: word === why }, word)));
  return select;
}

function channelRows() {
  const rows = Object.entries(state.marks.bad).map(([name, why]) => el('div', { class: 'row bad-row', title: name }, el('span', { class: 'grow' }, `${shortName(name)}: bad (${why})`), reasonChoice(name, why), el('button', { onclick: () => toggleBad([name]) }, 'mark good')));
  const stated = state.about.bad.filter((name) => !(name in state.marks.bad));
  if (stated.length) rows.push(el('p', { class: 'soft small' }, `Bad according to the file: ${stated.slice(0, 8).map(shortName).join(', ')}${stated.length > 8 ? ' …' : ''}.`));
  const hints = state.channelHints.filter((hint) => !(hint.channel in state.marks.bad));
  rows.push(...hints.map((hint) => el('div', { class: 'row hint-row', title: hint.channel }, el('span', { class: 'grow suggestion' }, `${shortName(hint.channel)}? ${hint.words}`), el('button', { class: 'use', onclick: () => toggleBad([hint.channel], hint.what) }, 'mark bad'))));
  return rows.length ? rows : [el('p', { class: 'soft small' }, 'No contact is marked bad. Press B, then click contacts.')];
}

function eventRow(event) {
  return el('div', { class: 'row' }, el('span', { class: 'grow' }, time(event.onset_s), ` ${event.text}`), el('button', { onclick: () => addOnset(event.onset_s, 'annotation') }, 'use as onset'));
}

export function drawPanel() {
  const now = JSON.stringify([state.marks, state.chosen, state.suggestions, state.channelHints]);
  if (now === drawn) return;
  drawn = now;
  const rows = onsets().map(onsetRow);
  byId('onsets').replaceChildren(...(rows.length ? rows : [el('p', { class: 'soft small' }, 'No onset is marked. Press O, then click where the seizure begins; drag a line to move it.')]));
  const fingerprint = (state.marks.files[state.about.name] || {}).fingerprint;
  if (rows.length && fingerprint && fingerprint !== state.about.fingerprint) byId('onsets').prepend(el('p', { class: 'problem small' }, 'The recording has changed since the onsets were marked. Check them.'));
  byId('suggestions').replaceChildren(...state.suggestions.map(suggestionRow));
  byId('channels').replaceChildren(...channelRows());
}

export function drawEvents(omitted) {
  const rows = state.events.slice(0, 300).map(eventRow), more = state.events.length - rows.length + omitted;
  byId('events').replaceChildren(el('div', { class: 'scroll' }, ...(rows.length ? rows : [el('p', { class: 'soft small' }, 'The recording has no annotations.')])), more > 0 ? el('p', { class: 'soft small' }, `and ${more} more`) : '');
}
