// Two runs next to each other: different inputs, similarity of the rankings, shifts of contacts.
import { getJson, el, showProblem } from './page.js';
import { reader } from './read.js';

function picker(label, runs, number, change) {
  const select = el('select', { onchange: () => change(Number(select.value)) },
    ...runs.map((run) => el('option', { value: String(run.number), selected: run.number === number }, `Run ${run.number}: ${run.title}`)));
  return el('label', {}, `${label} `, select);
}

function contactRow(contact) {
  const shift = contact.shift === null ? 'in one run only' : contact.shift === 0 ? '=' : `${contact.shift > 0 ? '▲' : '▼'} ${Math.abs(contact.shift)}`;
  const tone = contact.shift > 0 ? 'up' : contact.shift < 0 ? 'down' : 'soft';
  const top = { both: 'both', old: 'old only', new: 'new only', '': '' }[contact.top];
  return el('tr', { class: contact.top ? 'top' : '' }, el('td', { title: contact.name }, contact.short), el('td', {}, contact.old === null ? '–' : String(contact.old)),
    el('td', {}, contact.new === null ? '–' : String(contact.new)), el('td', { class: tone }, shift), el('td', {}, top));
}

function numbers(comparison) {
  const facts = [['top-K shared', `${comparison.shared} of ${comparison.k}`],
    ['rank correlation (Spearman)', comparison.correlation === null ? 'not defined' : comparison.correlation.toFixed(2)],
    ['contacts in both', String(comparison.common)], ['largest shift', `${comparison.largest_shift} places`]];
  return el('dl', { class: 'numbers' }, ...facts.map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value))));
}

export async function compareView(place, code, runs, current) {
  if (runs.length < 2) {
    place.replaceChildren(el('h2', {}, 'Compare runs'), el('p', {}, 'There is only one run. Change an onset, exclude a contact or choose another method, and run again.'));
    return;
  }
  const numbersOfRuns = runs.map((run) => run.number);
  const recent = numbersOfRuns.includes(current) && current !== numbersOfRuns[0] ? current : numbersOfRuns[numbersOfRuns.length - 1];
  await draw(place, code, runs, numbersOfRuns[numbersOfRuns.indexOf(recent) - 1], recent);
}

async function draw(place, code, runs, old, recent) {
  const comparison = await getJson(`api/compare?${new URLSearchParams({ case: code, old, new: recent, reader: reader() })}`);
  const again = (a, b) => draw(place, code, runs, a, b).catch(showProblem);
  const changed = comparison.changed.length ? el('ul', {}, ...comparison.changed.map((text) => el('li', {}, text)))
    : el('p', {}, 'Both runs have the same inputs.');
  place.replaceChildren(el('h2', {}, `Run ${old} and run ${recent}`),
    el('div', { class: 'line' }, picker('Old', runs, old, (n) => again(n, recent)), picker('New', runs, recent, (n) => again(old, n))),
    changed, numbers(comparison),
    el('div', { class: 'scroll' }, el('table', { class: 'compare' },
      el('thead', {}, el('tr', {}, ...['Contact', `Rank in run ${old}`, `Rank in run ${recent}`, 'Shift', `In the top ${comparison.k}`].map((t) => el('th', {}, t)))),
      el('tbody', {}, ...comparison.contacts.map(contactRow)))),
    el('p', { class: 'soft' }, 'Shifts are counted among the contacts in both runs. ▲: nearer to the top in the new run.'));
}
