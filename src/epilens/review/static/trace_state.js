// What the viewer shows and what is marked; whoever draws listens.

export const GUTTER = () => (window.innerWidth < 820 ? 50 : 74);
export const SECONDS = [2, 5, 10, 15, 20, 30, 60];
export const GAINS = [10, 20, 50, 100, 200, 400, 800, 1600, 3200, 6400];

export const state = {
  about: null, start: 0, seconds: 10, gain: 0, montage: 'recorded', high: '0.5', low: '', notch: '',
  tool: 'look', chosen: -1, events: [], suggestions: [], channelHints: [], cursor: null, screen: null,
  marks: { revision: 0, files: {}, bad: {} },
};

const listeners = [];
export function listen(what) { listeners.push(what); }
export function changed() { for (const what of listeners) what(); }

export function query() { return new URLSearchParams(window.location.search); }
export function place() {
  const asked = query();
  return `api/case/${encodeURIComponent(asked.get('case') || '')}/file/${encodeURIComponent(asked.get('file') || '')}`;
}

export function rows() { return state.about.rows[state.montage]; }

// What the traces call a contact of this recording.
export function called(name) {
  const { names, shown } = state.about.rows.recorded;
  const at = names.indexOf(name);
  return at < 0 ? name : shown[at];
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
  const wanted = Math.min(60, Math.max(2, seconds));
  const at = around === undefined ? state.start + state.seconds / 2 : around;
  const share = (at - state.start) / state.seconds;
  state.seconds = wanted;
  show(at - share * wanted);
}

export function clock(s) {
  const whole = Math.floor(s), pad = (n) => String(n).padStart(2, '0');
  return `${pad(Math.floor(whole / 3600))}:${pad(Math.floor(whole / 60) % 60)}:${pad(whole % 60)}`;
}
