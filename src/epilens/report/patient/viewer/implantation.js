// The implantation as a list: per electrode its trajectory, and the regions of its contacts.
function electrodes() {
  const groups = new Map();
  for (const i of byShaft) {
    const name = contacts[i].shaft;
    if (name === null) continue;
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(i);
  }
  return [...groups];
}

// Neighbours along the electrode in one region, as one run: [region, [contacts]].
function runsAlong(members) {
  const runs = [];
  for (const i of members) {
    const text = contacts[i].mm ? regionText(regionOf(contacts[i])) : '–';
    const last = runs[runs.length - 1];
    if (last && last[0] === text) last[1].push(i);
    else runs.push([text, [i]]);
  }
  return runs;
}

function numbersOf(members) {
  const [first, last] = [contacts[members[0]], contacts[members[members.length - 1]]];
  return members.length === 1 ? first.short : `${first.short}–${last.number}`;
}

function implantationRow([name, members]) {
  const runs = runsAlong(members);
  const named = runs.map(([text]) => text).filter((text) => text !== '–').filter((text, n, all) => text !== all[n - 1]);
  const trajectory = isGrid(members) ? [...new Set(named)].join(', ') : named.join(' – ');
  const best = [...members].sort((a, b) => contacts[a].rank - contacts[b].rank)[0];
  return el('tr', {}, el('td', { class: 'left' }, name), el('td', { class: 'left wrap' }, trajectory || 'no region nearby'),
    el('td', { class: 'left wrap' }, runs.map(([text, run]) => `${numbersOf(run)} ${text}`).join('; ')), el('td', {}, String(members.length)),
    el('td', { class: 'left' }, nameButton(best), ` #${contacts[best].rank}`));
}

function buildImplantation() {
  const shown = Boolean(ATLAS) && contacts.some(regionOf);
  document.querySelector('.implantation').hidden = !shown;
  if (!shown) return;
  fill('implantation-tools', el('span', { class: 'muted small' }, 'a template, not this patient’s brain'));
  fill('implantation', el('div', { class: 'table-box' }, el('table', {},
    el('thead', {}, el('tr', {}, ...['Electrode', 'Trajectory', 'Contacts by region', 'Contacts', 'Best contact'].map((head, n) => el('th', { class: n === 3 ? '' : 'left' }, head)))),
    el('tbody', {}, ...electrodes().map(implantationRow)))),
    el('p', { class: 'muted small pad' }, `Regions of ${ATLAS} along each electrode, from contact 1 (the innermost of a depth electrode) to the last (the outermost). –: no region within ${data.anatomy.near} mm, or no position.`));
}
