// The trace viewer: connects its parts.
import { byId, el, getJson, showProblem } from './page.js';
import { listenToInput, chooseTool } from './trace_input.js';
import { canUndo, load, undo, watch } from './trace_marks.js';
import { drawOverview, watchOverview } from './trace_overview.js';
import { drawEvents, drawPanel } from './trace_panel.js';
import { draw, fetchScreen, tracesCanvas, describeCursor, defaultGain } from './trace_canvas.js';
import { GAINS, SECONDS, changed, clock, listen, fileUrl, query, show, state, zoom } from './trace_state.js';

const TOOLS = [['look', 'Look (L)'], ['onset', 'Onset (O)'], ['first', 'First contacts (F)'], ['bad', 'Bad (B)']];
const NAMES = { recorded: 'as recorded', bipolar: 'bipolar', average: 'average' };

function options(id, choices, value, change) {
  const select = byId(id);
  select.replaceChildren(...choices.map(([key, text]) => el('option', { value: String(key) }, text)));
  select.value = String(value);
  select.addEventListener('change', () => { change(select.value); tracesCanvas.focus({ preventScroll: true }); });
}

function tools() {
  const nyquist = state.about.fs / 2;
  const hertz = (list) => [['', 'off'], ...list.filter((hz) => hz < nyquist).map((hz) => [hz, `${hz} Hz`])];
  const set = (key) => (value) => { state[key] = value; changed(); };
  options('montage', Object.keys(state.about.rows).map((key) => [key, NAMES[key]]), state.montage, set('montage'));
  options('high', hertz([0.1, 0.5, 1, 3, 10, 30, 80]), state.high, set('high'));
  options('low', hertz([15, 30, 70, 100, 150, 250, 500]), state.low, set('low'));
  options('notch', hertz([50, 60]), state.notch, set('notch'));
  options('gain', GAINS.map((gain) => [gain, `${gain} µV`]), state.gain, (value) => { state.gain = Number(value); changed(); });
  options('seconds', SECONDS.map((s) => [s, `${s} s`]), state.seconds, (value) => zoom(Number(value)));
  byId('tool').replaceChildren(...TOOLS.map(([key, text]) => el('button', { role: 'radio', 'data-tool': key, onclick: () => chooseTool(key) }, text)));
  byId('back').addEventListener('click', () => show(state.start - state.seconds));
  byId('undo').addEventListener('click', () => undo());
  byId('on').addEventListener('click', () => show(state.start + state.seconds));
}

function drawTools() {
  for (const button of byId('tool').children) button.setAttribute('aria-checked', String(button.dataset.tool === state.tool));
  tracesCanvas.className = state.tool;
  byId('undo').disabled = !canUndo();
  byId('gain').value = String(state.gain);
  const exact = SECONDS.includes(state.seconds);
  byId('seconds').value = exact ? String(state.seconds) : '';
}

let isScheduled = false;
function redraw() {
  if (isScheduled) return;
  isScheduled = true;
  requestAnimationFrame(() => {
    isScheduled = false;
    if (state.screen && !state.gain) state.gain = defaultGain();
    drawTools(); draw(); drawOverview(); drawPanel();
    if (state.cursor) byId('cursor').textContent = describeCursor(state.cursor.s, state.cursor.row);
    fetchScreen(redraw);
  });
}

async function watchSuggestions() {
  for (;;) {
    let answer;
    try { answer = await getJson(`${fileUrl()}/suggestions`); } catch { return; }
    state.suggestions = answer.onsets;
    state.channelHints = answer.channels || [];
    byId('suggesting').textContent = answer.problem || (answer.done ? (answer.onsets.length ? 'Computed from the signal alone. Check one before you use it. The certainty orders the suggestions; it is not a probability.' : 'No suggestion.') : `searching … ${Math.round(answer.share * 100)} %`);
    changed();
    if (answer.done) { document.documentElement.dataset.suggested = '1'; return; }
    await new Promise((done) => { setTimeout(done, 1000); });
  }
}

// Links to the recordings before and after this one.
async function neighbours() {
  const { cases } = await getJson('api/cases');
  const files = (cases.find((one) => one.code === state.about.code)?.files || []).filter((file) => file.there);
  const at = files.findIndex((file) => file.name === state.about.name);
  for (const [id, file] of [['previous-file', files[at - 1]], ['next-file', files[at + 1]]]) {
    byId(id).hidden = !file;
    if (file) { byId(id).href = `trace?${new URLSearchParams({ case: state.about.code, file: file.name })}`; byId(id).title = file.shown; }
  }
}

async function events() {
  const answer = await getJson(`${fileUrl()}/events`);
  state.events = answer.events;
  drawEvents(answer.left_off);
  changed();
}

async function begin() {
  state.about = await getJson(`${fileUrl()}/about`);
  const { about } = state;
  byId('disclaimer').textContent = about.disclaimer;
  byId('title').textContent = about.shown.startsWith(about.code) ? about.shown : `${about.code} · ${about.shown}`;
  document.title = `${about.code}: traces`;
  byId('patient').href = `patient?${new URLSearchParams({ case: about.code })}`;
  const hidden = about.not_shown ? `, ${about.not_shown} other channel${about.not_shown > 1 ? 's' : ''} not shown` : '';
  byId('facts').textContent = `${about.contacts.length} contacts, ${about.fs} Hz, ${clock(about.length_s)}${hidden}`;
  await load().catch(showProblem); // damaged marks do not hide the traces
  tools(); listenToInput(); listen(redraw);
  show(Number(query().get('at')) || 0);
  watch(); watchOverview(); watchSuggestions(); neighbours().catch(showProblem);
  events().catch((problem) => { byId('events').textContent = problem.message; });
  new ResizeObserver(redraw).observe(tracesCanvas);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
  tracesCanvas.focus({ preventScroll: true });
}

begin().catch(showProblem).finally(() => { document.documentElement.dataset.ready = '1'; });
