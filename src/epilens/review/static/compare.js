// Two runs side by side: what was asked otherwise, how alike the rankings are, who moved.
import { ask, el, show } from './page.js';

function picker(label, runs, number, change) {
  const select = el('select', { onchange: () => change(Number(select.value)) },
    ...runs.map((run) => el('option', { value: String(run.number), selected: run.number === number }, `Run ${run.number}: ${run.title}`)));
  return el('label', {}, `${label} `, select);
}

function row(one) {
  const shift = one.shift === null ? 'only in one' : one.shift === 0 ? '=' : `${one.shift > 0 ? '▲' : '▼'} ${Math.abs(one.shift)}`;
  const tone = one.shift > 0 ? 'up' : one.shift < 0 ? 'down' : 'soft';
  const top = { both: 'both', old: 'old only', new: 'new only', '': '' }[one.top];
  return el('tr', { class: one.top ? 'top' : '' }, el('td', { title: one.name }, one.short), el('td', {}, one.old === null ? '–' : String(one.old)),
    el('td', {}, one.new === null ? '–' : String(one.new)), el('td', { class: tone }, shift), el('td', {}, top));
}

function numbers(told) {
  const facts = [['top-K shared', `${told.shared} of ${told.k}`],
    ['rank correlation (Spearman)', told.correlation === null ? 'not defined' : told.correlation.toFixed(2)],
    ['contacts in both', String(told.common)], ['largest shift', `${told.largest_shift} places`]];
  return el('dl', { class: 'numbers' }, ...facts.map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value))));
}

export async function compareView(place, code, runs, shown) {
  if (runs.length < 2) {
    place.replaceChildren(el('h2', {}, 'Compare runs'), el('p', {}, 'There is one run. Change an onset, leave a contact out or choose another method, and run again.'));
    return;
  }
  const known = runs.map((run) => run.number);
  const fresh = known.includes(shown) && shown !== known[0] ? shown : known[known.length - 1];
  await draw(place, code, runs, known[known.indexOf(fresh) - 1], fresh);
}

async function draw(place, code, runs, old, fresh) {
  const told = await ask(`api/compare?${new URLSearchParams({ case: code, old, new: fresh })}`);
  const again = (a, b) => draw(place, code, runs, a, b).catch(show);
  const changed = told.changed.length ? el('ul', {}, ...told.changed.map((text) => el('li', {}, text)))
    : el('p', {}, 'Both were asked the same.');
  place.replaceChildren(el('h2', {}, `Run ${old} and run ${fresh}`),
    el('div', { class: 'line' }, picker('Old', runs, old, (n) => again(n, fresh)), picker('New', runs, fresh, (n) => again(old, n))),
    changed, numbers(told),
    el('div', { class: 'scroll' }, el('table', { class: 'compare' },
      el('thead', {}, el('tr', {}, ...['Contact', `Rank in run ${old}`, `Rank in run ${fresh}`, 'Shift', `In the top ${told.k}`].map((t) => el('th', {}, t)))),
      el('tbody', {}, ...told.contacts.map(row)))),
    el('p', { class: 'soft' }, 'Shifts are counted among the contacts that both runs rank; ▲ is nearer to the top in the new run.'));
}
