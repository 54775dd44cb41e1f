// The ranking compared with known zones, a resection and other methods; the leading contacts in words, for print.
function buildCompare() {
  const parts = data.zones.length ? [zonesPart()] : [];
  if (data.resection) parts.push(resectionPart(data.resection));
  for (const [i, other] of data.comparisons.entries()) parts.push(otherPart(other, i));
  document.querySelector('.compare').hidden = !parts.length;
  fill('compare', ...parts);
}

function named(indices) {
  if (!indices.length) return el('span', { class: 'muted' }, 'none');
  return el('span', { class: 'names' }, ...indices.map((i) => nameButton(i)));
}

function zonesPart() {
  const heads = ['', 'contacts', `of the top ${data.k}`, 'by chance'];
  const row = (zone) => el('tr', {}, el('td', { class: 'left' }, zone.title), ...[zone.count, zone.hits, number(zone.byChance, 1)].map((value) => el('td', {}, String(value))));
  return el('div', { class: 'compared', id: 'zones' }, el('h3', {}, 'Known zones'),
    el('table', { class: 'side' }, el('thead', {}, el('tr', {}, ...heads.map((head) => el('th', {}, head)))), el('tbody', {}, ...data.zones.map(row))),
    ...data.zones.map((zone, z) => el('p', { class: 'small' }, `${capital(zone.title)}: `, named(byShaft.filter((i) => contacts[i].zones[z])))),
    el('p', { class: 'muted small' }, 'No score depends on these zones.'));
}

function resectionPart(cut) {
  const rows = [
    [`Resected, of the top ${cut.k}`, `${Math.round(cut.covered * cut.k)} (${percent(cut.covered)})`],
    [`Not resected, of the top ${cut.k}`, named(cut.notResected)],
    ['Expected by chance', number(cut.byChance, 1)],
    [`Resected, outside the top ${cut.k}`, named(cut.outside)],
  ];
  if (cut.unranked.length) rows.push(['Resected, but not ranked (excluded)', cut.unranked.join(', ')]);
  if (cut.unknown.length) rows.push(['Names that are not contacts of this patient', cut.unknown.join(', ')]);
  return el('div', { class: 'compared' }, el('h3', {}, `Resection of ${plural(cut.count, 'contact')}`),
    el('dl', { class: 'facts wide' }, ...rows.flatMap(([key, value]) => [el('dt', {}, key), el('dd', {}, value)])),
    el('p', { class: 'muted small' }, `Not resected: contacts of the top ${cut.k} outside the resection. A resected contact with a lower rank is not evidence against the resection.`));
}

function otherPart(other, i) {
  const lead = byRank.slice(0, Math.min(C, Math.max(other.k, 10)));
  const theirs = contacts.map((_, c) => c).sort((a, b) => contacts[a].others[i] - contacts[b].others[i]).slice(0, lead.length);
  const row = (a, b, n) => el('tr', {}, el('td', {}, String(n + 1)), el('td', { class: 'left' }, nameButton(a)), el('td', { class: 'left' }, nameButton(b)));
  return el('div', { class: 'compared' }, el('h3', {}, other.title),
    el('p', {}, `Shared in the top ${other.k}: ${other.shared}. Rank correlation: ${number(other.correlation)}.`),
    el('table', { class: 'side' }, el('thead', {}, el('tr', {}, el('th', {}, '#'), el('th', { class: 'left' }, 'This page'), el('th', { class: 'left' }, other.title))),
      el('tbody', {}, ...lead.map((c, n) => row(c, theirs[n], n)))));
}

function nameButton(index) { return button(contacts[index].short, () => choose(index), { class: 'name', title: contacts[index].name }); }

function buildSummaries() {
  fill('summaries', ...byRank.slice(0, Math.min(C, 10)).map((i) => {
    const c = contacts[i];
    return el('div', { class: 'summary' }, el('h3', {}, ranksOnly ? `${c.rank}. ${c.short}` : `${c.rank}. ${c.short}: EZ score ${number(c.ez)}${c.p === null ? '' : `, P(EZ) ${percent(c.p)}${data.abstains ? ' (the model abstains)' : ''}`}`), el('ul', {}, ...c.words.map((sentence) => el('li', {}, sentence))));
  }));
}
