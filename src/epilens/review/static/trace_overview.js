// The overview strip: line length of each contact relative to its median, over the whole recording.
import { getBytes } from './page.js';
import { colours, fit, unpack } from './trace_canvas.js';
import { onsets, fileUrl, show, state } from './trace_state.js';

const strip = document.getElementById('overview');
let picture = null, dark = null;

function paint(overview) {
  const { rows, buckets, values } = overview;
  const canvas = document.createElement('canvas');
  canvas.width = buckets; canvas.height = rows;
  const context = canvas.getContext('2d'), image = context.createImageData(buckets, rows);
  dark = matchMedia('(prefers-color-scheme: dark)').matches;
  for (let r = 0; r < rows; r += 1) {
    const line = values.subarray(r * buckets, (r + 1) * buckets);
    const sorted = Float32Array.from(line.filter((v) => !Number.isNaN(v))).sort();
    const median = sorted[Math.floor(sorted.length / 2)] || 1;
    for (let b = 0; b < buckets; b += 1) {
      const offset = 4 * (r * buckets + b), v = line[b];
      const amount = Number.isNaN(v) ? -1 : Math.min(1, Math.max(0, Math.log2((v + 1e-9) / median) / 3));
      image.data.set(shade(amount), offset);
    }
  }
  context.putImageData(image, 0, 0);
  picture = { canvas, overview };
}

function shade(amount) {
  if (amount < 0) return dark ? [38, 46, 55, 255] : [222, 227, 232, 255];
  const from = dark ? [23, 29, 36] : [255, 255, 255], to = dark ? [255, 190, 90] : [150, 30, 20];
  return [...from.map((low, i) => Math.round(low + amount * (to[i] - low))), 255];
}

export function drawOverview() {
  if (!state.about) return;
  const { context, width, height } = fit(strip, 70), colour = colours(), length = state.about.length_s;
  if (picture && dark !== matchMedia('(prefers-color-scheme: dark)').matches) paint(picture.overview);
  context.imageSmoothingEnabled = false;
  if (picture) context.drawImage(picture.canvas, 0, 0, width, height);
  const x = (s) => (s / length) * width;
  const tick = (s, c, top, bottom, wide) => { context.strokeStyle = c; context.lineWidth = wide; context.beginPath(); context.moveTo(x(s), top); context.lineTo(x(s), bottom); context.stroke(); };
  for (const event of state.events) tick(event.onset_s, colour.soft, 0, 8, 1);
  for (const suggestion of state.suggestions) { context.setLineDash([4, 3]); tick(suggestion.onset_s, colour.suggestion, 0, height, 1.5); context.setLineDash([]); }
  for (const mark of onsets()) tick(mark.onset_s, colour.mark, 0, height, 2);
  context.strokeStyle = colour.link; context.lineWidth = 2;
  context.strokeRect(x(state.start) + 1, 1, Math.max(3, x(state.seconds) - 2), height - 2);
}

export async function watchOverview() {
  for (;;) {
    let overview;
    try { overview = unpack(await (await getBytes(`${fileUrl()}/overview`)).arrayBuffer()); } catch { return; }
    paint(overview);
    drawOverview();
    document.documentElement.dataset.overview = overview.share.toFixed(3);
    strip.title = overview.share < 0.999 ? `Line length of all contacts: ${Math.round(overview.share * 100)} % of the recording read so far` : 'Line length of all contacts relative to their medians';
    if (overview.share > 0.999 || overview.problem) return;
    await new Promise((done) => { setTimeout(done, overview.share < 0.1 ? 700 : 2000); });
  }
}

function go(event) {
  const box = strip.getBoundingClientRect();
  show(((event.clientX - box.left) / box.width) * state.about.length_s - state.seconds / 2);
}
strip.addEventListener('pointerdown', (event) => { strip.setPointerCapture(event.pointerId); go(event); });
strip.addEventListener('pointermove', (event) => { if (event.buttons) go(event); });
