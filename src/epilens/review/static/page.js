// What every page needs: elements made of text alone, and requests that carry errors as sentences.

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

export class Refused extends Error {
  constructor(status, text) { super(text); this.status = status; }
}

async function checked(answer) {
  if (answer.ok) return answer;
  let text = `The server answered ${answer.status}.`;
  try { text = (await answer.json()).error; } catch { /* no JSON: keep the number */ }
  throw new Refused(answer.status, text);
}

export async function ask(path, signal) {
  return (await checked(await fetch(path, { signal }))).json();
}

export async function askBytes(path, signal) {
  return (await checked(await fetch(path, { signal })));
}

export async function send(path, tree) {
  const answer = await fetch(path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(tree) });
  return (await checked(answer)).json();
}

export function show(problem) {
  const place = document.getElementById('problem');
  place.textContent = problem ? String(problem.message || problem) : '';
  place.hidden = !problem;
}

export function address(...parts) { return parts.map(encodeURIComponent).join('/'); }
