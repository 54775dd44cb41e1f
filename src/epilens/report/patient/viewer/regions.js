// Regions of a template's atlas: of one contact, and counted by side and region.
const ATLAS = data.anatomy.atlases[0];
const SIDE = { left: 'L', right: 'R' };

function regionOf(c) { return c.regions.length ? c.regions[0] : null; }
function regionText(region) { return region ? `${capital(region.name)}${region.side ? ` ${SIDE[region.side]}` : ''}` : '–'; }
function regionCell(c) {
  const region = regionOf(c);
  return region ? el('span', { title: `${ATLAS}: ${region.name} ${region.side}, ${percent(region.share)} of the ${data.anatomy.near} mm around` }, regionText(region), el('span', { class: 'sd' }, ` ${percent(region.share)}`)) : '–';
}
function regionFacts(c) {
  if (!c.mm) return [];
  return data.anatomy.atlases.map((atlas, a) => [`${atlas} (template)`, c.regions[a] ? `${regionText(c.regions[a])}, ${percent(c.regions[a].share)}` : 'no region nearby']);
}

// By side and region: how many contacts, how many flagged, the best of them, when it is recruited.
function regionGroups() {
  const groups = new Map();
  for (const i of byRank) {
    const c = contacts[i];
    if (!c.mm) continue;
    const region = regionOf(c);
    const side = region && region.side ? region.side : Math.abs(c.mm[0]) < 2 ? 'midline' : c.mm[0] < 0 ? 'left' : 'right';
    const name = region ? region.name : 'no region nearby (white matter, or outside the atlas)';
    const key = `${side} ${name}`;
    if (!groups.has(key)) groups.set(key, { side, name, members: [] });
    groups.get(key).members.push(i);
  }
  return [...groups.values()];
}

function buildRegions() {
  const placed = contacts.some((c) => c.mm);
  document.querySelector('.where').hidden = !placed;
  if (!placed) return;
  if (!ATLAS) { fill('where', el('p', { class: 'muted pad' }, `No regions are shown: ${data.anatomy.why}.`)); return; }
  fill('where-tools', el('span', { class: 'muted small' }, 'a template, not this patient’s brain'));
  const groups = regionGroups();
  fill('where', el('div', { class: 'sides' }, ...['left', 'right', 'midline'].filter((side) => groups.some((g) => g.side === side)).map((side) => sideTable(side, groups.filter((g) => g.side === side)))),
    el('p', { class: 'muted small pad' }, `Atlas ${ATLAS} at the positions of the contacts (${data.space}); a bipolar pair is placed in its middle. Percentages: fraction of the atlas voxels within ${data.anatomy.near} mm. Best contact: the one with the highest rank. First: the earliest clear rise of its contacts (median over seizures).`));
}

function sideTable(side, groups) {
  const n = groups.reduce((sum, group) => sum + group.members.length, 0);
  const heads = ['Region', 'Contacts', data.abstains ? null : ranksOnly ? 'Marked' : 'Flagged', ranksOnly ? 'Median rank' : 'Mean score', contacts[0].p === null ? null : 'Mean P(EZ)', 'Best contact', 'First'].filter(Boolean);
  return el('table', { class: 'side' }, el('caption', {}, `${side === 'midline' ? 'Midline' : side === 'left' ? 'Left' : 'Right'}: ${plural(n, 'contact')}`),
    el('thead', {}, el('tr', {}, ...heads.map((head) => el('th', { class: head === 'Region' || head === 'Best contact' ? 'left' : '' }, head)))),
    el('tbody', { 'data-side': side }, ...groups.map(regionRow)));
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return (sorted[Math.floor((sorted.length - 1) / 2)] + sorted[Math.ceil((sorted.length - 1) / 2)]) / 2;
}

function regionRow({ name, members }) {
  const inRegion = members.map((i) => contacts[i]);
  const mean = (values) => values.reduce((sum, v) => sum + v, 0) / values.length;
  const times = inRegion.map((c) => c.first).filter((t) => t !== null);
  return el('tr', {}, el('td', { class: 'left wrap' }, capital(name)), el('td', {}, String(inRegion.length)),
    data.abstains ? null : el('td', { class: 'above' }, String(inRegion.filter(isFlagged).length)),
    el('td', {}, ranksOnly ? number(median(inRegion.map((c) => c.rank)), 0) : number(mean(inRegion.map((c) => c.ez)))),
    inRegion[0].p === null ? null : el('td', {}, probability(mean(inRegion.map((c) => c.p)))),
    el('td', { class: 'left' }, nameButton(members[0]), ` #${inRegion[0].rank}`), el('td', {}, times.length ? seconds(Math.min(...times)) : '–'));
}
