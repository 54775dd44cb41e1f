// The threshold, the keyboard, and who is redrawn when.
function buildThreshold() {
  const range = ranksOnly ? { min: 1, max: C, step: 1, 'aria-label': 'Number of top-ranked contacts to mark' } : { min: 0, max: 1, step: 0.005, 'aria-label': 'Display threshold of the EZ score' };
  const slider = el('input', { type: 'range', id: 'cut', ...range, value: state.cut,
    input: (event) => set({ cut: nearLocked(Number(event.target.value)) }) });
  const mark = el('span', { class: 'locked-mark', title: 'Value fixed in training' });
  if (locked !== null) mark.style.left = `calc(8px + ${locked} * (100% - 16px))`;
  const note = el('output', { id: 'cut-note', for: 'cut' });
  const back = locked === null ? null : button('Reset', () => set({ cut: locked }), { id: 'cut-back', title: 'Back to the value that was fixed in training (key r)' });
  fill('threshold', el('label', { for: 'cut' }, ranksOnly ? 'Top-ranked contacts (display)' : 'Threshold (display)'), el('span', { class: 'slider' }, slider, locked === null ? null : mark), back, note);
  refreshThreshold();
}

// The slider's steps must not make the locked value unreachable.
function nearLocked(value) { return locked !== null && Math.abs(value - locked) < 0.0026 ? locked : value; }

function refreshThreshold() {
  const slider = document.getElementById('cut');
  if (Number(slider.value) !== state.cut) slider.value = state.cut;
  const n = contacts.filter(isFlagged).length;
  const moved = locked !== null && state.cut !== locked;
  const what = ranksOnly ? `${plural(n, 'top-ranked contact')} marked` : data.abstains ? `${n} above ${number(state.cut, 3)}; EpiLENS abstains` : `${plural(n, 'contact')} above ${number(state.cut, 3)}`;
  const tail = locked === null ? '; there is no decision threshold' : moved ? `; decisions still use ${number(locked, 3)}` : ' (fixed in training)';
  fill('cut-note', what + tail);
  document.getElementById('cut-note').classList.toggle('moved', moved);
}

function globalKeys(event) {
  // A slider takes arrows only: letters are still keys of the page.
  const typing = ['SELECT', 'TEXTAREA'].includes(event.target.tagName) || (event.target.tagName === 'INPUT' && event.target.type !== 'range');
  if (event.key === 'Escape' && event.target.id === 'search') { event.target.value = ''; event.target.dispatchEvent(new Event('input')); event.target.blur(); return; }
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === '/') { event.preventDefault(); document.getElementById('search').focus(); }
  if (event.key === 'j') step(shown, 1);
  if (event.key === 'k') step(shown, -1);
  if (event.key === 'r' && locked !== null) set({ cut: locked });
}

function paintAll() { for (const one of [implantCanvas, heatCanvas, tracesCanvas, stripsCanvas]) if (one) one.paint(); }

// By day, at night and on paper, which is always by day.
function dress() {
  hue = night.matches && !onPaper ? NIGHT : DAY;
  dyes.forEach(([node, colour]) => { node.style.background = colour(); });
  refreshRows(); refreshShafts(); refreshPropagation(); buildChosen(); paintAll();
}
function print(begins) {
  if (begins && state.moment !== null) { pause(); set({ moment: null }); }
  onPaper = begins;
  dress();
}

buildHeader();
buildThreshold();
buildTableTools();
buildTable();
buildShafts();
buildImplant();
buildTraces();
buildHeat();
buildStrips();
buildChosen();
buildPropagation();
buildRegions();
buildImplantation();
buildCompare();
buildSummaries();
buildAbout();
refreshShafts();

watch('chosen', () => { markChosenRow(); refreshShafts(); refreshPropagation(); buildChosen(); paintAll(); });
watch('cut', () => { refreshThreshold(); buildRegions(); refreshRows(); refreshShafts(); buildChosen(); paintAll(); });
watch('seizure quantity order', () => { noteHeat(); heatCanvas.paint(); if (stripsCanvas) stripsCanvas.paint(); });
watch('moment wave', () => { refreshShafts(); refreshPropagation(); if (implantCanvas) implantCanvas.paint(); });
watch('span', () => { tracesCanvas.paint(); stripsCanvas.paint(); });
document.addEventListener('keydown', globalKeys);
night.addEventListener('change', dress);
window.addEventListener('beforeprint', () => print(true));
window.addEventListener('afterprint', () => print(false));
paintAll();
document.documentElement.dataset.ready = String(Math.round(performance.now()));
