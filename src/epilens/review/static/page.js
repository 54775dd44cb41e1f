// For every page: elements made of text alone, and requests whose errors are sentences.

export const byId = (id) => document.getElementById(id);

export function el(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
    else if (key in node && typeof value !== 'string') node[key] = value;
    else if (value !== null && value !== undefined) node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}

export class RequestError extends Error {
  constructor(status, text) { super(text); this.status = status; }
}

async function checked(response) {
  if (response.ok) return response;
  let text = `The server answered ${response.status}.`;
  try { text = (await response.json()).error; } catch { /* no JSON: keep the number */ }
  throw new RequestError(response.status, text);
}

export async function getJson(path, signal) {
  return (await checked(await fetch(path, { signal }))).json();
}

export async function getBytes(path, signal) {
  return checked(await fetch(path, { signal }));
}

export async function postJson(path, tree) {
  const response = await fetch(path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(tree) });
  return (await checked(response)).json();
}

export function showProblem(problem) {
  const box = byId('problem');
  box.textContent = problem ? String(problem.message || problem) : '';
  box.hidden = !problem;
}

// Methods and models as options of a select.
export function rankerOptions(rankers) {
  return rankers.map((ranker) => el('option', { value: ranker.id, disabled: Boolean(ranker.problem), selected: ranker.default },
    ranker.problem ? `${ranker.title} (${ranker.problem})` : ranker.title));
}

// The terms of the review, loaded when the reader opens the list.
const glossary = byId('glossary');
if (glossary) glossary.addEventListener('toggle', async () => {
  if (glossary.querySelector('dl')) return;
  try {
    const terms = await getJson('api/glossary');
    if (!glossary.querySelector('dl')) glossary.append(el('dl', {}, ...terms.flatMap(([term, text]) => [el('dt', {}, term), el('dd', {}, text)])));
  } catch (problem) { showProblem(problem); }
});
