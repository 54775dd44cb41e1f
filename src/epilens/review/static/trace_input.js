// What hands do on the paper: mouse, touch and keys.
import { addOnset, moveOnset, toggleBad, toggleFirst } from './trace_marks.js';
import { draw, paper, reading, rowAt, timeAt, xOf } from './trace_canvas.js';
import { GAINS, GUTTER, SECONDS, changed, onsets, rows, show, state, zoom } from './trace_state.js';

let held = null;

function spot(event) {
  const box = paper.getBoundingClientRect();
  return { x: event.clientX - box.left, y: event.clientY - box.top };
}

function markNear(x) { return onsets().findIndex((mark) => Math.abs(xOf(mark.onset_s) - x) < 7); }

function down(event) {
  if (event.button) return;
  const { x, y } = spot(event), near = markNear(x);
  paper.setPointerCapture(event.pointerId);
  held = { x, y, start: state.start, moved: false, mark: -1 };
  if (x < GUTTER()) held.label = true;
  else if (near >= 0 && (state.tool === 'look' || state.tool === 'onset')) { held.mark = near; state.chosen = near; changed(); }
}

function move(event) {
  const { x, y } = spot(event);
  if (held && event.buttons) {
    held.moved = held.moved || Math.abs(x - held.x) > 3;
    if (!held.moved) return;
    if (held.mark >= 0) moveOnset(held.mark, timeAt(x), false);
    else if (state.tool === 'onset' && !held.label) { state.cursor = { s: timeAt(x), row: rowAt(y) }; draw(); } else if (!held.label) show(held.start - ((x - held.x) / (paper.clientWidth - GUTTER())) * state.seconds);
    return;
  }
  if (x < GUTTER()) return;
  state.cursor = { s: timeAt(x), row: rowAt(y) };
  document.getElementById('cursor').textContent = reading(state.cursor.s, state.cursor.row);
  paper.style.cursor = markNear(x) >= 0 && (state.tool === 'look' || state.tool === 'onset') ? 'ew-resize' : '';
  draw();
}

function up(event) {
  const was = held;
  held = null;
  if (!was) return;
  const { x, y } = spot(event), contacts = rows().contacts[rowAt(y)];
  if (was.mark >= 0) { if (was.moved) moveOnset(was.mark, timeAt(x), true); return; }
  if (state.tool === 'onset' && !was.label) addOnset(timeAt(x));
  else if (was.moved) return;
  else if (state.tool === 'bad') toggleBad(contacts);
  else if (state.tool === 'began') toggleFirst(contacts);
}

function wheel(event) {
  if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) { event.preventDefault(); show(state.start + (event.deltaX / paper.clientWidth) * state.seconds); return; }
  const way = Math.sign(event.deltaY);
  event.preventDefault();
  if (event.ctrlKey) zoom(state.seconds * (way > 0 ? 1.25 : 0.8), timeAt(spot(event).x));
  else if (event.shiftKey) taller(way);
  else show(state.start + way * 0.1 * state.seconds);
}

export function taller(way) {
  const at = Math.max(0, GAINS.indexOf(state.gain));
  state.gain = GAINS[Math.min(GAINS.length - 1, Math.max(0, at + way))];
  changed();
}

function longer(way) {
  const at = SECONDS.findIndex((one) => one >= state.seconds);
  zoom(SECONDS[Math.min(SECONDS.length - 1, Math.max(0, at + way))]);
}

function toNext(way) {
  const times = [...onsets(), ...state.suggestions].map((one) => one.onset_s).sort((a, b) => a - b);
  const here = state.start + state.seconds / 2;
  const next = way > 0 ? times.find((s) => s > here + 0.01) : times.reverse().find((s) => s < here - 0.01);
  if (next !== undefined) show(next - state.seconds / 2);
}

export function choose(tool) { state.tool = tool; changed(); }

const KEYS = {
  ArrowLeft: () => show(state.start - state.seconds / 5), ArrowRight: () => show(state.start + state.seconds / 5),
  PageUp: () => show(state.start - state.seconds), PageDown: () => show(state.start + state.seconds),
  Home: () => show(0), End: () => show(Infinity), '+': () => taller(-1), '=': () => taller(-1), '-': () => taller(1),
  '[': () => longer(-1), ']': () => longer(1), n: () => toNext(1), p: () => toNext(-1),
  l: () => choose('look'), o: () => choose('onset'), f: () => choose('began'), b: () => choose('bad'),
};

export function hands() {
  paper.addEventListener('pointerdown', down);
  paper.addEventListener('pointermove', move);
  paper.addEventListener('pointerup', up);
  paper.addEventListener('pointercancel', () => { held = null; });
  paper.addEventListener('wheel', wheel, { passive: false });
  document.addEventListener('keydown', (event) => {
    const inField = event.target.closest('input, select, textarea');
    if (inField || event.ctrlKey || event.metaKey || event.altKey) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (!(key in KEYS)) return;
    event.preventDefault();
    KEYS[key]();
  });
}
