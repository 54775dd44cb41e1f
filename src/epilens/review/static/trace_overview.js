// The strip: line length of each contact against its own median, over the whole recording.
import { askBytes } from './page.js';
import { colours, fit, unpack } from './trace_canvas.js';
import { onsets, place, show, state } from './trace_state.js';

const strip = document.getElementById('overview');
let picture = null, dark = null;

function paint(found) {
  const { rows, buckets, values } = found;
  const canvas = document.createElement('canvas');
  canvas.width = buckets; canvas.height = rows;
  const pen = canvas.getContext('2d'), image = pen.createImageData(buckets, rows);
  dark = matchMedia('(prefers-color-scheme: dark)').matches;
  for (let r = 0; r < rows; r += 1) {
    const line = values.subarray(r * buckets, (r + 1) * buckets);
    const sorted = Float32Array.from(line.filter((v) => !Number.isNaN(v))).sort();
    const usual = sorted[Math.floor(sorted.length / 2)] || 1;
    for (let b = 0; b < buckets; b += 1) {
      const at = 4 * (r * buckets + b), v = line[b];
      const amount = Number.isNaN(v) ? -1 : Math.min(1, Math.max(0, Math.log2((v + 1e-9) / usual) / 3));
      image.data.set(shade(amount), at);
    }
  }
  pen.putImageData(image, 0, 0);
  picture = { canvas, found };
}

function shade(amount) {
  if (amount < 0) return dark ? [38, 46, 55, 255] : [222, 227, 232, 255];
  const from = dark ? [23, 29, 36] : [255, 255, 255], to = dark ? [255, 190, 90] : [150, 30, 20];
  return [...from.map((low, i) => Math.round(low + amount * (to[i] - low))), 255];
}

export function drawOverview() {
  if (!state.about) return;
  const { pen, width, height } = fit(strip, 70), colour = colours(), length = state.about.length_s;
  if (picture && dark !== matchMedia('(prefers-color-scheme: dark)').matches) paint(picture.found);
  pen.imageSmoothingEnabled = false;
  if (picture) pen.drawImage(picture.canvas, 0, 0, width, height);
  const x = (s) => (s / length) * width;
  const tick = (s, c, top, bottom, wide) => { pen.strokeStyle = c; pen.lineWidth = wide; pen.beginPath(); pen.moveTo(x(s), top); pen.lineTo(x(s), bottom); pen.stroke(); };
  for (const event of state.events) tick(event.onset_s, colour.soft, 0, 8, 1);
  for (const one of state.suggestions) { pen.setLineDash([4, 3]); tick(one.onset_s, colour.guess, 0, height, 1.5); pen.setLineDash([]); }
  for (const mark of onsets()) tick(mark.onset_s, colour.mark, 0, height, 2);
  pen.strokeStyle = colour.link; pen.lineWidth = 2;
  pen.strokeRect(x(state.start) + 1, 1, Math.max(3, x(state.seconds) - 2), height - 2);
}

export async function watchOverview() {
  for (;;) {
    let found;
    try { found = unpack(await (await askBytes(`${place()}/overview`)).arrayBuffer()); } catch { return; }
    paint(found);
    drawOverview();
    document.documentElement.dataset.overview = found.share.toFixed(3);
    strip.title = found.share < 0.999 ? `Line length of all contacts: ${Math.round(found.share * 100)} % of the recording read so far` : 'Line length of all contacts against their own medians';
    if (found.share > 0.999 || found.problem) return;
    await new Promise((done) => { setTimeout(done, found.share < 0.1 ? 700 : 2000); });
  }
}

function go(event) {
  const box = strip.getBoundingClientRect();
  show(((event.clientX - box.left) / box.width) * state.about.length_s - state.seconds / 2);
}
strip.addEventListener('pointerdown', (event) => { strip.setPointerCapture(event.pointerId); go(event); });
strip.addEventListener('pointermove', (event) => { if (event.buttons) go(event); });
