// Input on the traces: mouse, touch and keys.
import { addOnset, moveOnset, toggleBad, toggleFirst, undo } from './trace_marks.js';
import { draw, tracesCanvas, describeCursor, rowAt, timeAt, xOf } from './trace_canvas.js';
import { GAINS, GUTTER, SECONDS, changed, onsets, rows, show, state, zoom } from './trace_state.js';

let drag = null;

function position(event) {
  const box = tracesCanvas.getBoundingClientRect();
  return { x: event.clientX - box.left, y: event.clientY - box.top };
}

function markNear(x) { return onsets().findIndex((mark) => Math.abs(xOf(mark.onset_s) - x) < 7); }

function down(event) {
  if (event.button) return;
  const { x, y } = position(event), near = markNear(x);
  tracesCanvas.setPointerCapture(event.pointerId);
  drag = { x, y, start: state.start, moved: false, mark: -1 };
  if (x < GUTTER()) drag.label = true;
  else if (near >= 0 && (state.tool === 'look' || state.tool === 'onset')) { drag.mark = near; state.chosen = near; changed(); }
}

function move(event) {
  const { x, y } = position(event);
  if (drag && event.buttons) {
    drag.moved = drag.moved || Math.abs(x - drag.x) > 3;
    if (!drag.moved) return;
    if (drag.mark >= 0) moveOnset(drag.mark, timeAt(x), false);
    else if (state.tool === 'onset' && !drag.label) { state.cursor = { s: timeAt(x), row: rowAt(y) }; draw(); } else if (!drag.label) show(drag.start - ((x - drag.x) / (tracesCanvas.clientWidth - GUTTER())) * state.seconds);
    return;
  }
  if (x < GUTTER()) return;
  state.cursor = { s: timeAt(x), row: rowAt(y) };
  document.getElementById('cursor').textContent = describeCursor(state.cursor.s, state.cursor.row);
  tracesCanvas.style.cursor = markNear(x) >= 0 && (state.tool === 'look' || state.tool === 'onset') ? 'ew-resize' : '';
  draw();
}

function up(event) {
  const ended = drag;
  drag = null;
  if (!ended) return;
  const { x, y } = position(event), contacts = rows().contacts[rowAt(y)];
  if (ended.mark >= 0) { if (ended.moved) moveOnset(ended.mark, timeAt(x), true); return; }
  if (state.tool === 'onset' && !ended.label) addOnset(timeAt(x));
  else if (ended.moved) return;
  else if (state.tool === 'bad') toggleBad(contacts);
  else if (state.tool === 'first') toggleFirst(contacts);
}

function wheel(event) {
  if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) { event.preventDefault(); show(state.start + (event.deltaX / tracesCanvas.clientWidth) * state.seconds); return; }
  const direction = Math.sign(event.deltaY);
  event.preventDefault();
  if (event.ctrlKey) zoom(state.seconds * (direction > 0 ? 1.25 : 0.8), timeAt(position(event).x));
  else if (event.shiftKey) changeGain(direction);
  else show(state.start + direction * 0.1 * state.seconds);
}

export function changeGain(direction) {
  const index = Math.max(0, GAINS.indexOf(state.gain));
  state.gain = GAINS[Math.min(GAINS.length - 1, Math.max(0, index + direction))];
  changed();
}

function changeSeconds(direction) {
  const index = SECONDS.findIndex((seconds) => seconds >= state.seconds);
  zoom(SECONDS[Math.min(SECONDS.length - 1, Math.max(0, index + direction))]);
}

function toNext(direction) {
  const times = [...onsets(), ...state.suggestions].map(({ onset_s }) => onset_s).sort((a, b) => a - b);
  const here = state.start + state.seconds / 2;
  const next = direction > 0 ? times.find((s) => s > here + 0.01) : times.reverse().find((s) => s < here - 0.01);
  if (next !== undefined) show(next - state.seconds / 2);
}

function toFile(id) { const link = document.getElementById(id); if (!link.hidden) link.click(); }

export function chooseTool(tool) { state.tool = tool; changed(); }

const KEYS = {
  ArrowLeft: () => show(state.start - state.seconds / 5), ArrowRight: () => show(state.start + state.seconds / 5),
  PageUp: () => show(state.start - state.seconds), PageDown: () => show(state.start + state.seconds),
  Home: () => show(0), End: () => show(Infinity), '+': () => changeGain(-1), '=': () => changeGain(-1), '-': () => changeGain(1),
  '[': () => changeSeconds(-1), ']': () => changeSeconds(1), n: () => toNext(1), p: () => toNext(-1),
  u: undo, '.': () => toFile('next-file'), ',': () => toFile('previous-file'),
  l: () => chooseTool('look'), o: () => chooseTool('onset'), f: () => chooseTool('first'), b: () => chooseTool('bad'),
};

export function listenToInput() {
  tracesCanvas.addEventListener('pointerdown', down);
  tracesCanvas.addEventListener('pointermove', move);
  tracesCanvas.addEventListener('pointerup', up);
  tracesCanvas.addEventListener('pointercancel', () => { drag = null; });
  tracesCanvas.addEventListener('wheel', wheel, { passive: false });
  document.addEventListener('keydown', (event) => {
    const inField = event.target.closest('input, select, textarea');
    if (!inField && event.key.toLowerCase() === 'z' && (event.ctrlKey || event.metaKey) && !event.shiftKey) { event.preventDefault(); undo(); return; }
    if (inField || event.ctrlKey || event.metaKey || event.altKey) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (!(key in KEYS)) return;
    event.preventDefault();
    KEYS[key]();
  });
}
