// State of the viewer; functions that draw listen to its changes.

export const GUTTER = () => (window.innerWidth < 820 ? 50 : 74);
export const SECONDS = [2, 5, 10, 15, 20, 30, 60];
export const GAINS = [10, 20, 50, 100, 200, 400, 800, 1600, 3200, 6400];

export const state = {
  about: null, start: 0, seconds: 10, gain: 0, montage: 'recorded', high: '0.5', low: '', notch: '',
  tool: 'look', chosen: -1, events: [], suggestions: [], channelHints: [], cursor: null, screen: null,
  marks: { revision: 0, files: {}, bad: {} },
};

const listeners = [];
export function listen(listener) { listeners.push(listener); }
export function changed() { for (const listener of listeners) listener(); }

export function query() { return new URLSearchParams(window.location.search); }
export function fileUrl() {
  const parameters = query();
  return `api/case/${encodeURIComponent(parameters.get('case') || '')}/file/${encodeURIComponent(parameters.get('file') || '')}`;
}

export function rows() { return state.about.rows[state.montage]; }

// Short name of a contact of this recording, as on the traces.
export function shortName(name) {
  const { names, shown } = state.about.rows.recorded;
  const index = names.indexOf(name);
  return index < 0 ? name : shown[index];
}

export function onsets() { return (state.marks.files[state.about.name] || { onsets: [] }).onsets; }

export function isBad(contacts) {
  return contacts.some((name) => name in state.marks.bad || state.about.bad.includes(name));
}

export function show(start) {
  const last = Math.max(0, state.about.length_s - Math.min(state.seconds, state.about.length_s));
  state.start = Math.min(last, Math.max(0, start));
  changed();
}

export function zoom(seconds, around) {
  const length = Math.min(60, Math.max(2, seconds));
  const center = around === undefined ? state.start + state.seconds / 2 : around;
  const share = (center - state.start) / state.seconds;
  state.seconds = length;
  show(center - share * length);
}

// Rounded to milliseconds first, as the seconds next to it are.
export function clock(s) {
  const whole = Math.floor(Number(s.toFixed(3))), pad = (n) => String(n).padStart(2, '0');
  return `${pad(Math.floor(whole / 3600))}:${pad(Math.floor(whole / 60) % 60)}:${pad(whole % 60)}`;
}
