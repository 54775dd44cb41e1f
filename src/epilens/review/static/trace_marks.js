// Marks: every change is sent to the server, one after the other; an outdated one is refused.
import { getJson, postJson, showProblem } from './page.js';
import { changed, onsets, query, state } from './trace_state.js';

const path = () => `api/case/${encodeURIComponent(query().get('case') || '')}/marks`;
let sending = false, waiting = false;
// Marks as they were before each change of this tab; `saved` are those before the next one.
let history = [], saved = '';
const content = () => JSON.stringify({ files: state.marks.files, bad: state.marks.bad });

function adopt(marks) {
  state.marks = { revision: marks.revision, files: marks.files, bad: marks.bad };
  saved = content();
  if (state.chosen >= onsets().length) state.chosen = onsets().length - 1;
}

function showStatus(text) { document.getElementById('saved').textContent = text; }

export async function load() {
  adopt(await getJson(path()));
  changed();
}

async function save(isUndo) {
  const now = content();
  if (!isUndo && saved && now !== saved) history.push(saved);
  saved = now;
  changed();
  if (sending) { waiting = true; return; }
  sending = true;
  showStatus('saving …');
  try {
    do {
      waiting = false;
      const answer = await postJson(path(), state.marks);
      if (waiting) state.marks.revision = answer.revision; else adopt(answer);
    } while (waiting);
    showStatus(`saved, revision ${state.marks.revision}`);
    showProblem(null);
  } catch (problem) {
    waiting = false;
    showStatus('not saved');
    const again = problem.status ? ' The saved marks are shown.' : ' Is the server still running? Nothing was saved.';
    showProblem(`${problem.message}${again}`);
    history = []; // marks of the server follow, to which older ones do not belong
    if (problem.status) await load().catch(() => {});
  } finally {
    sending = false;
    changed();
  }
}

// Another tab may have changed something: check when nothing is being sent.
export function watch() {
  const look = async () => {
    if (sending || document.hidden) return;
    try {
      const marks = await getJson(path());
      if (!sending && marks.revision !== state.marks.revision) { history = []; adopt(marks); showStatus(`another tab changed this: revision ${marks.revision}`); changed(); }
    } catch (problem) { showStatus(problem.status ? 'the marks cannot be read' : 'the server does not answer'); }
  };
  setInterval(look, 2500);
  window.addEventListener('focus', look);
  document.addEventListener('visibilitychange', look);
}

export function canUndo() { return history.length > 0; }

export function undo() {
  if (!history.length) return undefined;
  Object.assign(state.marks, JSON.parse(history.pop()));
  if (state.chosen >= onsets().length) state.chosen = onsets().length - 1;
  return save(true);
}

function withFile() {
  const name = state.about.name;
  if (!state.marks.files[name]) state.marks.files[name] = { onsets: [] };
  state.marks.files[name].fingerprint = state.about.fingerprint;
  return state.marks.files[name];
}

const rounded = (s) => Math.round(Math.min(state.about.length_s, Math.max(0, s)) * 1000) / 1000;

export function addOnset(onset_s, made_from) {
  const file = withFile();
  const mark = { onset_s: rounded(onset_s), uncertainty_s: null, type: '', first: [], made_from: made_from || 'hand' };
  file.onsets.push(mark);
  file.onsets.sort((a, b) => a.onset_s - b.onset_s);
  state.chosen = file.onsets.indexOf(mark);
  return save();
}

// Nothing is sent while dragging; `done` sends it.
export function moveOnset(index, onset_s, done) {
  const file = withFile(), mark = file.onsets[index];
  mark.onset_s = rounded(onset_s);
  mark.made_from = 'hand';
  if (!done) { changed(); return undefined; }
  file.onsets.sort((a, b) => a.onset_s - b.onset_s);
  state.chosen = file.onsets.indexOf(mark);
  return save();
}

export function removeOnset(index) { withFile().onsets.splice(index, 1); state.chosen = -1; return save(); }

export function changeOnset(index, change) { Object.assign(withFile().onsets[index], change); return save(); }

export function toggleFirst(names) {
  const mark = onsets()[state.chosen];
  if (!mark) { showProblem('Choose or mark an onset first, then click the contacts in order.'); return undefined; }
  const isComplete = names.every((name) => mark.first.includes(name));
  const first = isComplete ? mark.first.filter((name) => !names.includes(name)) : [...mark.first, ...names.filter((name) => !mark.first.includes(name))];
  return changeOnset(state.chosen, { first });
}

export function toggleBad(names, why) {
  const bad = state.marks.bad;
  if (names.every((name) => name in bad)) for (const name of names) delete bad[name];
  else for (const name of names) bad[name] = why || 'by eye';
  return save();
}

export function changeReason(name, why) {
  state.marks.bad[name] = why;
  return save();
}
