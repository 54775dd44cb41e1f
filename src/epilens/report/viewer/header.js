// Before the results: patient, source, certainty, exclusions.
function buildHeader() {
  const { about } = data;
  const used = data.seizures.length;
  const gone = data.leftOut.length;
  const facts = [
    ['Seizures', `${used} used${gone ? `, ${gone} left out` : ''}`],
    ['Contacts', `${C}${data.dropped.length ? `, ${plural(data.dropped.length, 'channel')} left out` : ''}`],
    ['Agreement of seizures', data.agreement === null ? '–' : `${number(data.agreement)} (mean rank correlation)`],
    ['Flagged signals', String(contacts.filter((c) => c.quality !== 'good').length)],
  ];
  for (const one of data.sets) facts.push([`${percent(one.coverage)} set`, `${one.size} of ${C} contacts (contained ${percent(one.reached)} of the EZ in cross-validation)`]);
  for (const one of data.distances) facts.push([`Distance from training patients: ${one.what}`, `${number(one.distance, 1)} (limit ${number(one.limit, 1)})`]);
  const grave = data.cautions.filter((caution) => caution.level === 'abstain');
  const others = data.cautions.filter((caution) => caution.level !== 'abstain');
  // `epilens view` and `review` have an index above their pages; a file has none.
  const back = window.location.protocol.startsWith('http') && window.top === window ? el('a', { href: './', class: 'back' }, '← All patients') : null;
  fill('header', back,
    grave.length ? el('div', { class: 'banner', role: 'alert' }, el('strong', {}, 'EpiLENS abstains: no decision should be read from these scores.'), el('ul', {}, ...grave.map((one) => el('li', {}, one.text)))) : null,
    el('div', { class: 'title' }, el('h1', {}, data.patient),
      el('p', {}, `Contacts ranked by how much they look like the epileptogenic zone (EZ). ${about.title}`, about.isModel ? ` “${about.source}”.` : '.')),
    about.simulated ? el('p', { class: 'simulated' }, 'This patient is simulated: nothing on this page is clinical evidence.') : null,
    about.trainedOnSimulated ? el('p', { class: 'simulated' }, 'The model was trained on simulated patients: its scores are not clinical evidence.') : null,
    el('ul', { class: 'caveats', id: 'caveats' }, ...data.caveats.map((sentence) => el('li', {}, sentence))),
    el('dl', { class: 'facts header-facts' }, ...facts.map(([key, value]) => el('div', {}, el('dt', {}, key), el('dd', {}, value)))),
    others.length ? el('ul', { class: 'cautions' }, ...others.map((one) => el('li', { class: one.level }, one.text))) : null);
}

function buildAbout() {
  const { about } = data;
  const list = (rows) => el('dl', { class: 'facts wide' }, ...rows.flatMap(([key, value]) => [el('dt', {}, key), el('dd', {}, value)]));
  const used = data.seizures.map((one, s) => [short(s), seizureText(one)]);
  fill('about',
    el('div', {}, el('h3', {}, data.about.isModel ? 'Model card' : 'Method'), list(data.about.card)),
    el('div', { id: 'analysed' }, el('h3', {}, 'What was analysed'), list(used), list(analysisRows()),
      data.leftOut.length ? el('h3', {}, 'Seizures left out') : null, data.leftOut.length ? list(data.leftOut) : null),
    el('div', {}, data.dropped.length ? el('h3', {}, 'Channels left out') : null, data.dropped.length ? list(data.dropped) : null,
      el('h3', {}, 'How to read it'), el('ul', { class: 'reading' }, ...READING.filter(([forModels, line]) => line && (about.isModel || !forModels)).map(([, line]) => el('li', {}, line))),
      el('details', { id: 'glossary' }, el('summary', {}, 'What the words mean'), list(data.glossary))));
  const keys = el('span', { class: 'keys' }, el('kbd', {}, '/'), ' search, ', el('kbd', {}, 'j'), ' ', el('kbd', {}, 'k'), ' next and previous contact, ', el('kbd', {}, 'r'), ' threshold back to its locked value; arrow keys in table, implant and heatmap.');
  fill('footer', el('span', {}, `${data.software}, plan ${data.about.plan}, analysed on ${data.analysed.date}. `), keys);
}

function seizureText(one) {
  const file = one.file === null ? one.name : `file ${one.file} (${one.name})`;
  const at = one.at === null ? '' : ` at ${one.at.toFixed(3).replace(/\.?0+$/, '')} s of the file`;
  const rate = one.rate === null ? '' : `, ${one.rate} Hz`;
  const [from, to] = one.interval.map((s) => signed(s, 1));
  return `${file}; onset${at}, ${one.onset}; read from ${from} to ${to} s around it${rate}; ${one.contacts} contacts; ${one.windows} windows before onset, ${one.ictal} after.`;
}

function analysisRows() {
  const { analysed } = data;
  return [
    ['Montage', analysed.montage], ['Filter', analysed.filter], ['Windows', analysed.windows],
    ['Date of analysis', `${analysed.date} (UTC)`],
    ['Versions', analysed.versions.map(([name, version]) => `${name} ${version}`).join(', ')],
  ];
}

// Whether a line is for models only, and the line.
const READING = [
  [false, ranksOnly ? 'The method gives an order and no more: its numbers are not shown, because they would look like those of a model.' : null],
  [true, 'The EZ score ranks the contacts of one patient; it is not a probability.'],
  [true, '“EZ likely”: the contact is above the locked threshold, and P(EZ) is 50 % or more. “flagged”, or a thin ring: above the threshold, but P(EZ) is lower or unknown, so it is more likely not in the EZ.'],
  [true, 'P(EZ) is a probability as far as the training cohort is like this patient.'],
  [true, 'The threshold was locked before this patient was analysed. Moving the slider changes the display, never the decision.'],
  [true, 'A set of stated coverage contains at least that fraction of the EZ contacts, on average over cross-validated patients.'],
  [true, data.why ? `Contributions answer: how would the score change if this contact had ${data.why.average}, ${data.why.others}?` : null],
  [true, data.why ? 'A seizure’s part is what it adds on its own, so it has the sign of its own score; what only the score of all seizures shows is listed separately.' : null],
  [true, data.why && data.why.timed ? 'Windows are shown from 10 s before onset on, against what the contact shows all the time.' : null],
  [false, 'Z-Δ compares a window with the same contact before onset, in that seizure, in its own standard deviations.'],
  [false, 'Ranks compare what was sampled: an EZ far from every contact cannot be detected.'],
];
