// The trace viewer: puts its parts together.
import { ask, el, show as showProblem } from './page.js';
import { hands, choose } from './trace_input.js';
import { load, watch } from './trace_marks.js';
import { drawOverview, watchOverview } from './trace_overview.js';
import { drawEvents, drawPanel } from './trace_panel.js';
import { draw, fetchScreen, paper, reading, usualGain } from './trace_canvas.js';
import { GAINS, SECONDS, changed, clock, listen, place, query, show, state, zoom } from './trace_state.js';

const at = (id) => document.getElementById(id);
const TOOLS = [['look', 'Look (L)'], ['onset', 'Onset (O)'], ['began', 'Began (F)'], ['bad', 'Bad (B)']];
const NAMES = { recorded: 'as recorded', bipolar: 'bipolar', average: 'average' };

function options(id, choices, value, change) {
  const select = at(id);
  select.replaceChildren(...choices.map(([key, text]) => el('option', { value: String(key) }, text)));
  select.value = String(value);
  select.addEventListener('change', () => { change(select.value); paper.focus({ preventScroll: true }); });
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
  at('tool').replaceChildren(...TOOLS.map(([key, text]) => el('button', { role: 'radio', 'data-tool': key, onclick: () => choose(key) }, text)));
  at('back').addEventListener('click', () => show(state.start - state.seconds));
  at('on').addEventListener('click', () => show(state.start + state.seconds));
}

function drawTools() {
  for (const button of at('tool').children) button.setAttribute('aria-checked', String(button.dataset.tool === state.tool));
  paper.className = state.tool;
  at('gain').value = String(state.gain);
  const exact = SECONDS.includes(state.seconds);
  at('seconds').value = exact ? String(state.seconds) : '';
}

let asked = false;
function redraw() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => {
    asked = false;
    if (state.screen && !state.gain) state.gain = usualGain();
    drawTools(); draw(); drawOverview(); drawPanel();
    if (state.cursor) at('cursor').textContent = reading(state.cursor.s, state.cursor.row);
    fetchScreen(redraw);
  });
}

async function watchSuggestions() {
  for (;;) {
    let told;
    try { told = await ask(`${place()}/suggestions`); } catch { return; }
    state.suggestions = told.onsets;
    state.channelHints = told.channels || [];
    at('suggesting').textContent = told.problem || (told.done ? (told.onsets.length ? 'From the signal alone: look before you take one. “Sure” orders them; it is no probability.' : 'The signal suggests none.') : `looking … ${Math.round(told.share * 100)} %`);
    changed();
    if (told.done) { document.documentElement.dataset.suggested = '1'; return; }
    await new Promise((done) => { setTimeout(done, 1000); });
  }
}

async function events() {
  const told = await ask(`${place()}/events`);
  state.events = told.events;
  drawEvents(told.left_off);
  changed();
}

async function begin() {
  state.about = await ask(`${place()}/about`);
  const { about } = state;
  at('disclaimer').textContent = about.disclaimer;
  at('title').textContent = about.shown.startsWith(about.code) ? about.shown : `${about.code} · ${about.shown}`;
  document.title = `${about.code}: traces`;
  at('patient').href = `patient?${new URLSearchParams({ case: about.code })}`;
  const hidden = about.not_shown ? `, ${about.not_shown} other channel${about.not_shown > 1 ? 's' : ''} not shown` : '';
  at('facts').textContent = `${about.contacts.length} contacts, ${about.fs} Hz, ${clock(about.length_s)}${hidden}`;
  await load();
  tools(); hands(); listen(redraw);
  show(Number(query().get('at')) || 0);
  watch(); watchOverview(); watchSuggestions();
  events().catch((problem) => { at('events').textContent = problem.message; });
  new ResizeObserver(redraw).observe(paper);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
  paper.focus({ preventScroll: true });
}

begin().catch(showProblem).finally(() => { document.documentElement.dataset.ready = '1'; });
