import { h } from './dom.js';
import { clock } from './format.js';

/** @import { PlaybookTrial } from './shapes.ts' */

/**
 * The hits of a playbook on past calls, those with most first.
 * @param {PlaybookTrial} trial
 */
export function playbookHits({ calls, left_out: isLeftOut, rules }) {
  const found = rules
    .filter(({ hits }) => hits > 0)
    .toSorted((one, other) => other.hits - one.hits);
  const silent = rules.filter(({ hits }) => hits === 0);
  const hits = found.reduce((sum, rule) => sum + rule.hits, 0);
  const rest = isLeftOut === 0 ? '' : ` ${isLeftOut} more were left out: the time was over.`;
  const told = calls === 0 ? `There is no call of the last 30 days to try it on.${rest}` : `${hits} ${hits === 1 ? 'hit' : 'hits'} in the newest ${calls} ${calls === 1 ? 'call' : 'calls'} of the last 30 days.${rest}`; // prettier-ignore
  const element = h(
    'div',
    {},
    ...found.map((rule) =>
      h(
        'details',
        {},
        h('summary', {}, `${rule.title}: ${rule.hits} in ${rule.calls} of ${calls} calls`),
        h('ul', {}, ...rule.places.map((place) => h('li', {}, ...lineOf(place)))),
      ),
    ),
    silent.length === 0 || calls === 0 ? null : h('p', { class: 'quiet' }, `Never: ${silent.map(({ title }) => title).join(', ')}`), // prettier-ignore
  );
  return { told, element };
}

/** @param {PlaybookTrial['rules'][number]['places'][number]} place */
function lineOf({ call_id: id, at, role, matched }) {
  const link = h('a', { href: `#/calls/${id}?t=${Math.max(0, at - 2).toFixed(1)}` }, clock(at));
  return [link, ` ${role ?? 'time'}${matched === null ? '' : `: “${matched}”`}`];
}
