// Propagation of the seizure: contacts by the time of their first clear rise, played on implant and
// electrodes, drawn for every seizure side by side, and as a table of order and times.
const recruitmentTimes = contacts.flatMap((c) => c.times.filter((t) => t !== null));
const PROPAGATION = { from: Math.floor(Math.min(0, ...recruitmentTimes) - 1), to: Math.ceil(Math.max(1, ...recruitmentTimes) + 1) };
const PLAY_MS = 80;
const MOST_ON_PAPER = 20;
const little = [];
let playing = null;

// How a contact looks now: by its score, or, while propagation is shown, by when it was recruited.
function lookOf(i) {
  const c = contacts[i];
  if (state.moment === null) return { fill: ofContact(c), ink: onContact(c), level: levelOf(c) };
  return lookAt(c.times[state.wave], state.moment);
}
function lookAt(time, moment) {
  if (time === null || time > moment) return { fill: css(hue.waiting), ink: hue.soft, level: 0.2 };
  // By the root, because most contacts are reached early.
  const level = 1 - 0.8 * Math.sqrt((time - PROPAGATION.from) / (PROPAGATION.to - PROPAGATION.from));
  return { fill: css(mix(hue.ramp, level)), ink: (level > 0.52) === (hue === DAY) ? '#ffffff' : '#1c2530', level };
}
function reached(s, moment) { return contacts.filter((c) => c.times[s] !== null && c.times[s] <= moment).length; }
function momentText() { return `${short(state.wave)} at ${seconds(state.moment)}: ${reached(state.wave, state.moment)} of ${C} reached`; }

function buildPropagation() {
  document.querySelector('section.propagation').hidden = !recruitmentTimes.length;
  if (!recruitmentTimes.length) return;
  const slider = el('input', { type: 'range', id: 'moment', min: PROPAGATION.from, max: PROPAGATION.to, step: 0.25, value: PROPAGATION.to, 'aria-label': 'Time from onset', input: (event) => { pause(); set({ moment: Number(event.target.value) }); } });
  const [which, markWhich] = choice(data.seizures.map((seizure, s) => [s, short(s), seizure.name]), () => state.wave, (wave) => set({ wave, moment: state.moment ?? PROPAGATION.to }));
  watch('wave', markWhich);
  fill('propagation-tools', el('output', { id: 'moment-note', class: 'muted small', for: 'moment' }), S > 1 ? which : null,
    button('▶ Play', play, { id: 'play', title: 'Play on implant and electrodes' }), slider, button('Show scores', () => { pause(); set({ moment: null }); }, { id: 'propagation-off', title: 'Colour implant and electrodes by score' }));
  fill('propagation', el('div', { class: 'propagation-grid' }, el('div', { class: 'waves', id: 'waves' }, ...data.seizures.map((_, s) => wave(s))), el('div', { class: 'scroll propagation-table', tabindex: '0' }, propagationTable())),
    el('p', { class: 'muted small pad' }, `Reached: first clear rise of beta, gamma or line length (3 SD or more in three consecutive windows), accurate to about a second.${S > 1 ? ' Contacts that are reached in more seizures come first.' : ''} Stronger colours are earlier; pale or grey contacts are not reached yet, or never.${propagationRows().length > MOST_ON_PAPER ? ` On paper, the first ${MOST_ON_PAPER} of ${propagationRows().length}.` : ''}`));
  refreshPropagation();
}

// A seizure's electrodes, small: a row of dots each.
function wave(s) {
  const groups = [...new Set(byShaft.map((i) => contacts[i].shaft))];
  const lines = groups.map((name) => byShaft.filter((i) => contacts[i].shaft === name));
  const longest = Math.min(20, Math.max(...lines.map((members) => members.length)));
  const parts = [];
  let row = 0;
  lines.forEach((members, g) => {
    parts.push(el('text', { x: 0, y: 12 * row + 9, class: 'wave-name' }, (groups[g] ?? '·').slice(0, 5)));
    members.forEach((i, k) => {
      const circle = el('circle', { cx: 34 + 12 * (k % longest), cy: 12 * (row + Math.floor(k / longest)) + 6, r: 4.6, class: 'wave-dot', click: () => choose(i) });
      hint(circle, i);
      little.push({ s, i, circle });
      parts.push(circle);
    });
    row += Math.ceil(members.length / longest);
  });
  const svg = el('svg', { viewBox: `0 0 ${34 + 12 * longest} ${12 * row + 2}`, role: 'img', 'aria-label': `Propagation in ${short(s)}` }, ...parts);
  svg.style.maxWidth = `${1.6 * (34 + 12 * longest)}px`;
  return el('div', { class: 'wave' }, el('h3', { id: `wave-${s}` }, short(s)), svg);
}

// In how many seizures a contact is reached: those of one seizure come last, however early.
function timesReached(i) { return contacts[i].times.filter((time) => time !== null).length; }
function propagationRows() { return byRank.filter((i) => contacts[i].first !== null).sort((a, b) => timesReached(b) - timesReached(a) || contacts[a].first - contacts[b].first || contacts[a].rank - contacts[b].rank); }

function propagationTable() {
  const place = data.seizures.map((_, s) => contacts.map((c) => (c.times[s] === null ? null : 1 + contacts.filter((o) => o.times[s] !== null && o.times[s] < c.times[s]).length)));
  const heads = ['Contact', ...(ATLAS ? ['Region'] : []), 'Median', ...data.seizures.map((_, s) => short(s))];
  const cells = (i) => data.seizures.map((_, s) => el('td', {}, place[s][i] === null ? el('span', { class: 'muted' }, '–') : `${place[s][i]}. `, place[s][i] === null ? null : el('span', { class: 'sd' }, seconds(contacts[i].times[s]))));
  return el('table', {}, el('thead', {}, el('tr', {}, ...heads.map((head, n) => el('th', { class: n && head !== 'Region' ? '' : 'left' }, head)))),
    el('tbody', { id: 'propagation-rows' }, ...propagationRows().map((i) => el('tr', {}, el('td', { class: 'left' }, nameButton(i)), ATLAS ? el('td', { class: 'left' }, regionText(regionOf(contacts[i]))) : null, el('td', {}, seconds(contacts[i].first)), ...cells(i)))));
}

function refreshPropagation() {
  if (!recruitmentTimes.length) return;
  const moment = state.moment ?? PROPAGATION.to;
  for (const { s, i, circle } of little) {
    circle.setAttribute('fill', lookAt(contacts[i].times[s], moment).fill);
    circle.classList.toggle('is-chosen', i === state.chosen);
  }
  data.seizures.forEach((_, s) => { document.getElementById(`wave-${s}`).textContent = `${short(s)}: ${reached(s, moment)} reached${state.moment === null ? '' : ` at ${seconds(moment)}`}`; });
  fill('moment-note', state.moment === null ? 'whole seizure' : `${seconds(state.moment)} from onset`);
  document.getElementById('moment').value = moment;
  document.getElementById('propagation-off').disabled = state.moment === null;
}

function play() {
  if (playing !== null) { pause(); return; }
  const from = state.moment === null || state.moment >= PROPAGATION.to ? PROPAGATION.from : state.moment;
  document.getElementById('play').textContent = '❚❚ Pause';
  set({ moment: from });
  playing = setInterval(() => {
    const next = Math.min(PROPAGATION.to, state.moment + 0.25);
    set({ moment: next });
    if (next >= PROPAGATION.to) pause();
  }, PLAY_MS);
}
function pause() {
  if (playing !== null) clearInterval(playing);
  playing = null;
  document.getElementById('play').textContent = '▶ Play';
}
