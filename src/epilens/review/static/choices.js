// What can rank contacts, as options of a select.
import { el } from './page.js';

export function choiceOptions(choices) {
  return choices.map((one) => el('option', { value: one.id, disabled: Boolean(one.problem), selected: one.default },
    one.problem ? `${one.title} (${one.problem})` : one.title));
}
