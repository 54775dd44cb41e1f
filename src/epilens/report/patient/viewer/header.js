// Before the results: patient, source, certainty, exclusions.
function buildHeader() {
  const { about } = data;
  const used = data.seizures.length;
  const gone = data.leftOut.length;
  const facts = [
    ['Seizures', `${used} used${gone ? `, ${gone} excluded` : ''}`],
    ['Contacts', `${C}${data.dropped.length ? `, ${plural(data.dropped.length, 'channel')} excluded` : ''}`],
    ['Agreement between seizures', data.agreement === null ? '–' : `${number(data.agreement)} (mean rank correlation)`],
    ['Contacts with poor signal', String(contacts.filter((c) => c.quality !== 'good').length)],
  ];
  for (const one of data.sets) facts.push([`Set for ${percent(one.coverage)} of the EZ`, `${one.size} of ${C} contacts (contained ${percent(one.reached)} of the EZ in cross-validation)`]);
  for (const one of data.distances) facts.push([`Distance from training patients: ${one.what}`, `${number(one.distance, 1)} (limit ${number(one.limit, 1)})`]);
  const grave = data.cautions.filter((caution) => caution.level === 'abstain');
  const others = data.cautions.filter((caution) => caution.level !== 'abstain');
  // `epilens view` and `review` have an index above their pages; a file has none.
  const back = window.location.protocol.startsWith('http') && window.top === window ? el('a', { href: './', class: 'back' }, '← All patients') : null;
  fill('header', back,
    grave.length ? el('div', { class: 'banner', role: 'alert' }, el('strong', {}, 'EpiLENS abstains: these scores do not support a decision.'), el('ul', {}, ...grave.map((one) => el('li', {}, ...sentence(one.text))))) : null,
    el('div', { class: 'title' }, el('h1', {}, data.patient),
      el('p', {}, `Contacts ranked by similarity to the epileptogenic zone (EZ). ${about.title}`, about.isModel ? ` “${about.source}”.` : '.')),
    about.simulated ? el('p', { class: 'simulated' }, 'This patient is simulated: nothing on this page is clinical evidence.') : null,
    about.trainedOnSimulated ? el('p', { class: 'simulated' }, 'The model was trained on simulated patients: its scores are not clinical evidence.') : null,
    el('div', { class: 'summary-top', id: 'summary' }, ...data.summary.map((text) => el('p', {}, text))),
    el('ul', { class: data.implausible ? 'caveats grave' : 'caveats', id: 'caveats' }, ...data.caveats.map((text) => el('li', {}, ...sentence(text)))),
    el('dl', { class: 'facts header-facts' }, ...facts.map(([key, value]) => el('div', {}, el('dt', {}, key), el('dd', {}, value)))),
    others.length ? el('ul', { class: 'cautions' }, ...others.map((one) => el('li', { class: one.level }, ...sentence(one.text)))) : null);
}

function buildAbout() {
  const { about } = data;
  const list = (rows) => el('dl', { class: 'facts wide' }, ...rows.flatMap(([key, value]) => [el('dt', {}, key), el('dd', {}, ...sentence(String(value)))]));
  const used = data.seizures.map((one, s) => [short(s), seizureText(one)]);
  fill('about',
    el('div', {}, el('h3', {}, data.about.isModel ? 'Model card' : 'Method'), list(data.about.card)),
    el('div', { id: 'analysed' }, el('h3', {}, 'Recordings and settings'), list(used), list(analysisRows()),
      data.leftOut.length ? el('h3', {}, 'Excluded seizures') : null, data.leftOut.length ? list(data.leftOut) : null),
    el('div', {}, data.dropped.length ? el('h3', {}, 'Excluded channels') : null, data.dropped.length ? list(data.dropped) : null,
      el('h3', {}, 'How to read this page'), el('ul', { class: 'reading' }, ...READING.filter(([forModels, line]) => line && (about.isModel || !forModels)).map(([, line]) => el('li', {}, line))),
      el('details', { id: 'glossary' }, el('summary', {}, 'What the words mean'), list(data.glossary))));
  const keys = el('span', { class: 'keys' }, el('kbd', {}, '/'), ' search, ', el('kbd', {}, 'j'), ' ', el('kbd', {}, 'k'), ' next or previous contact, ', el('kbd', {}, 'r'), ' reset the threshold; arrow keys work in the table, the implant and the heatmap.');
  fill('footer', el('span', {}, `${data.software}, plan ${data.about.plan}, analysed on ${data.analysed.date}. `), keys);
}

function seizureText(one) {
  const file = one.file === null ? one.name : `file ${one.file} (${one.name})`;
  const at = one.at === null ? '' : ` at ${one.at.toFixed(3).replace(/\.?0+$/, '')} s of the file`;
  const within = one.uncertainty === null ? '' : `, ± ${one.uncertainty} s (as marked)`;
  const rate = one.rate === null ? '' : `, ${one.rate} Hz`;
  const [from, to] = one.interval.map((s) => signed(s, 1));
  return `${file}; onset${at}${within}, ${one.onset}; analysed from ${from} to ${to} s around onset${rate}; ${one.contacts} contacts; ${one.windows} windows before onset, ${one.ictal} after.`;
}

function analysisRows() {
  const { analysed } = data;
  const scoresFrom = analysed.scores_from;
  const shown = scoresFrom ? ' of the signals shown' : '';
  return [
    ...(scoresFrom ? [['Scores computed from', scoresFrom]] : []),
    [`Montage${shown}`, analysed.montage], [`Filter${shown}`, analysed.filter],
    [scoresFrom ? 'Windows of the changes shown' : 'Windows', analysed.windows],
    ['Date of analysis', `${analysed.date} (UTC)`], ['Plan', data.about.plan],
    ['Versions', Object.entries(analysed.versions).map(([name, version]) => `${name} ${version}`).join(', ')],
  ];
}

// Whether a line is for models only, and the line.
const READING = [
  [false, ranksOnly ? 'This method only ranks the contacts. Its numbers are not shown, because they are neither probabilities nor scores of a model.' : null],
  [true, 'The EZ score ranks the contacts of one patient; it is not a probability.'],
  [true, '“EZ likely”: above the threshold, and P(EZ) is 50 % or more. “flagged”, or a thin ring: above the threshold, but P(EZ) is lower or unknown, so the contact is more likely not in the EZ.'],
  [true, 'P(EZ) is valid only if this patient is similar to the training cohort. A low P(EZ) does not exclude a contact: where the EZ is large, more than 10 % of the contacts with a P(EZ) below 10 % are in it.'],
  [true, 'The threshold was fixed in training. The slider changes the display, not the decision.'],
  [true, 'A set for 80 % of the EZ contains at least that fraction of the EZ contacts, on average over cross-validated patients.'],
  [true, data.why ? `A contribution states how the score would change if this contact had ${data.why.average}, ${data.why.others}.` : null],
  [true, data.why ? 'The contribution of a seizure is what it adds on its own. What only all seizures together add is listed separately.' : null],
  [true, data.why && data.why.timed ? 'Contributions over time begin 10 s before onset and are relative to what the contact shows throughout.' : null],
  [false, 'Z-Δ compares a window with the baseline of the same contact in the same seizure, in standard deviations of that baseline.'],
  [false, 'Only implanted sites are compared: an EZ far from every contact cannot be detected.'],
];
