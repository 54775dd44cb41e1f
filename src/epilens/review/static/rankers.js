// Methods and models as options of a select.
import { el } from './page.js';

export function rankerOptions(rankers) {
  return rankers.map((ranker) => el('option', { value: ranker.id, disabled: Boolean(ranker.problem), selected: ranker.default },
    ranker.problem ? `${ranker.title} (${ranker.problem})` : ranker.title));
}
