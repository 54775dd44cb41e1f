// The ranked table: sort, search, choose.
const columns = [
  { key: 'rank', title: '#', help: 'Rank by EZ score', value: (c) => c.rank, text: (c) => String(c.rank), up: true },
  { key: 'name', title: 'Contact', help: 'Hover to see the name in the recording', cell: nameCell, text: (c) => c.short, up: true, left: true },
  { key: 'ez', title: 'EZ score', help: 'Mean over the ensemble, 1 − p_nez; ± SD over its members', value: (c) => c.ez, cell: scoreCell, text: (c) => number(c.ez, 4), show: () => !ranksOnly },
  { key: 'p', title: 'P(EZ)', help: 'Probability of EZ, calibrated on cross-validated patients of the training cohort', value: (c) => c.p, cell: (c) => probability(c.p), text: (c) => percent(c.p), show: () => contacts.some((c) => c.p !== null) },
  { key: 'decision', title: ranksOnly ? 'Marked' : 'Flagged', help: ranksOnly ? 'Among the top-ranked contacts chosen with the slider; this is not a decision' : 'EZ likely: above the threshold, and P(EZ) is 50 % or more; flagged: above the threshold, but P(EZ) is lower or unknown', value: (c) => Number(isFlagged(c)), cell: flaggedCell, text: (c) => c.decision },
  { key: 'region', title: 'Region', help: `${ATLAS}, a template: not this patient’s brain; share of the ${data.anatomy.near} mm around`, cell: regionCell, text: (c) => regionText(regionOf(c)), left: true, show: () => contacts.some(regionOf) },
  { key: 'alone', title: 'Seizures', help: ranksOnly ? 'Rank in each seizure alone' : 'EZ score from each seizure alone', value: (c) => c.sd, cell: aloneCell, text: (c) => c.alone.map((_, s) => aloneText(c, s)).join(' '), left: true, show: () => S > 1 },
  { key: 'top', title: `Top ${data.k}`, help: `Fraction of its seizures, each alone, in which it is among the top ${data.k}`, value: (c) => c.top, text: (c) => percent(c.top), show: () => S > 1 },
  { key: 'first', title: 'First', help: 'Time of the first clear rise from onset, median over seizures', value: (c) => c.first, text: (c) => seconds(c.first), up: true },
  { key: 'quality', title: 'Signal', help: 'Quality of the signal', text: (c) => c.quality, left: true, show: () => contacts.some((c) => c.quality !== 'good') },
  { key: 'stated', title: 'Annotated', help: 'Seizures that began in this contact according to the annotations; no score depends on it', value: (c) => c.statedIn, text: (c) => (c.statedIn ? String(c.statedIn) : ''), show: () => contacts.some((c) => c.statedIn !== null) },
  ...data.zones.map((zone, z) => ({ key: `zone${z}`, title: capital(zone.title), help: `In the ${zone.title}; no score depends on it`, value: (c) => Number(c.zones[z]), text: (c) => (c.zones[z] ? 'yes' : '') })),
  { key: 'resected', title: 'Resected', help: 'In the given resection', value: (c) => Number(c.resected), text: (c) => (c.resected ? 'yes' : ''), show: () => data.resection !== null },
  ...data.comparisons.map((other, i) => ({ key: `other${i}`, title: `#${initials(other.title)}`, help: `Rank by ${other.title}`, value: (c) => c.others[i], text: (c) => String(c.others[i]), up: true })),
].filter((column) => !column.show || column.show());

function initials(title) { return title.split(/[\s-]+/).map((word) => word[0].toUpperCase()).join(''); }

const sorting = { key: 'rank', down: false };
let query = '';
let shown = byRank.slice();
const rows = new Map();

function nameCell(c) { return el('span', { title: c.name }, c.short); }

function scoreCell(c) {
  const bar = el('span', { class: 'score-fill' });
  bar.style.width = `${100 * c.ez}%`;
  bar.style.background = ofContact(c);
  return el('span', { class: 'score' }, el('span', { class: 'score-bar' }, bar), el('span', {}, number(c.ez)), c.ensembleSd === null ? null : el('span', { class: 'sd' }, `±${number(c.ensembleSd)}`));
}

function flaggedCell(c) {
  if (data.abstains) return el('span', { class: 'muted' }, 'abstained');
  if (!isFlagged(c)) return el('span', { class: 'muted' }, '–');
  // Only the locked threshold makes a decision; elsewhere a score is merely above.
  if (ranksOnly) return el('span', { class: 'flagged display' }, 'top');
  if (state.cut !== locked) return el('span', { class: 'flagged display' }, 'above');
  const why = c.p === null ? 'no calibrated probability is known' : `P(EZ) is ${percent(c.p)}`;
  return el('span', { class: `flagged${isFaint(c) ? ' faint' : ''}`, title: `Above the threshold; ${why}` }, isFaint(c) ? 'flagged' : 'EZ likely');
}

function aloneCell(c) {
  return el('span', { class: 'squares' }, ...c.alone.map((v, s) => {
    const square = el('span', { class: 'square', title: `${short(s)}: ${aloneText(c, s)}` });
    square.style.background = ofLevel(aloneLevel(c, s));
    if (v === null) square.classList.add('absent');
    return square;
  }));
}

function buildTable() {
  const heads = columns.map((column) => el('th', { scope: 'col', class: column.left ? 'left' : '', 'data-key': column.key },
    button(column.title, () => sortBy(column), { title: column.help })));
  const body = el('tbody', { keydown: moveInTable });
  fill('ranking', el('table', {}, el('thead', {}, el('tr', {}, ...heads)), body));
  for (const index of byRank) {
    const row = el('tr', { tabindex: '-1', 'data-index': index, click: () => choose(index) },
      ...columns.map((column) => el('td', { class: column.left ? 'left' : '' })));
    rows.set(index, row);
  }
  arrange();
  refreshRows();
}

function refreshRows() {
  for (const [index, row] of rows) {
    const c = contacts[index];
    columns.forEach((column, i) => row.children[i].replaceChildren(column.cell ? column.cell(c) : column.text(c)));
    row.classList.toggle('is-flagged', isFlagged(c) && !data.abstains);
  }
}

function sortBy(column) {
  const first = column.up !== true;
  sorting.down = sorting.key === column.key ? !sorting.down : first;
  sorting.key = column.key;
  arrange();
}

function arrange() {
  const column = columns.find((one) => one.key === sorting.key);
  const wanted = query.trim().toLowerCase();
  shown = byRank.filter((i) => !wanted || `${contacts[i].short} ${contacts[i].name}`.toLowerCase().includes(wanted));
  const sign = sorting.down ? -1 : 1;
  shown.sort((a, b) => {
    if (!column.value) return sign * (column.key === 'name' ? 0 : column.text(contacts[a]).localeCompare(column.text(contacts[b]))) || sign * compareNames(contacts[a], contacts[b]);
    const [x, y] = [column.value(contacts[a]), column.value(contacts[b])];
    if (x === null || y === null) return (x === null) - (y === null);  // nothing known goes last
    return sign * (x - y) || contacts[a].rank - contacts[b].rank;
  });
  const body = document.querySelector('#ranking tbody');
  body.replaceChildren(...shown.map((index) => rows.get(index)));
  if (!shown.length) body.append(el('tr', {}, el('td', { colspan: columns.length, class: 'left muted' }, 'No contact has this name.')));
  for (const head of document.querySelectorAll('#ranking th')) {
    const current = head.dataset.key === sorting.key;
    head.setAttribute('aria-sort', current ? (sorting.down ? 'descending' : 'ascending') : 'none');
  }
  markChosenRow(false);
}

function markChosenRow(scroll = true) {
  for (const [index, row] of rows) {
    const chosen = index === state.chosen;
    row.classList.toggle('is-chosen', chosen);
    row.setAttribute('aria-selected', String(chosen));
    row.tabIndex = chosen ? 0 : -1;
  }
  const row = rows.get(state.chosen);
  if (!scroll || !row.isConnected) return;
  // Only the table scrolls, never the page.
  const box = document.getElementById('ranking');
  const top = row.offsetTop - 34;
  if (top < box.scrollTop) box.scrollTop = top;
  else if (row.offsetTop + row.offsetHeight > box.scrollTop + box.clientHeight) box.scrollTop = row.offsetTop + row.offsetHeight - box.clientHeight;
}

function step(list, by) {
  const at = list.indexOf(state.chosen);
  const next = at < 0 ? 0 : Math.max(0, Math.min(list.length - 1, at + by));
  if (list.length) choose(list[next]);
}

function moveInTable(event) {
  const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -C, End: C }[event.key];
  if (!by) return;
  event.preventDefault();
  step(shown, by);
  rows.get(state.chosen).focus({ preventScroll: true });
}

function buildTableTools() {
  const search = el('input', { type: 'search', id: 'search', placeholder: 'Search (press /)', 'aria-label': 'Search contacts',
    input: (event) => { query = event.target.value; arrange(); },
    keydown: (event) => { if (event.key === 'Enter' && shown.length) choose(shown[0]); } });
  fill('ranking-tools', search, button('Save TSV', saveTsv, { id: 'export', title: 'Save the contacts shown as a table' }), button('Save xlsx', saveXlsx, { id: 'export-xlsx', title: 'Save the contacts shown for Excel' }));
}
