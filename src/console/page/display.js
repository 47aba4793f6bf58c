import { choice, choose } from './choices.js';
import { h } from './dom.js';
import { computerZone, useTimeZone, zoneNow } from './format.js';
import { menu } from './menu.js';

/** @type {[string, string][]} */
const themes = [
  ['', 'System'],
  ['light', 'Light'],
  ['dark', 'Dark'],
];

/**
 * The display settings of this person: theme, time zone and shortcuts.
 * @param {{ onZone: () => void, onShortcuts: () => void }} actions
 */
export function displayMenu({ onZone, onShortcuts }) {
  return menu(
    'Display',
    themeField(),
    zoneField(onZone),
    h('button', { type: 'button', onclick: onShortcuts }, 'Keyboard shortcuts'),
  );
}

function themeField() {
  const chosen = document.documentElement.dataset.theme ?? '';
  /** @param {[string, string]} theme */
  const one = ([value, name]) => {
    const input = h('input', { type: 'radio', name: 'theme', value, checked: value === chosen });
    input.addEventListener('change', () => {
      choose('theme', value);
      document.documentElement.dataset.theme = value;
      document.dispatchEvent(new Event('theme'));
    });
    return h('label', {}, input, name);
  };
  return h('fieldset', { class: 'extras' }, h('legend', {}, 'Theme'), themes.map(one));
}

/** @param {() => void} onZone */
function zoneField(onZone) {
  const chosen = choice('time-zone');
  /** @param {string} value @param {string} name */
  const option = (value, name) => h('option', { value, selected: value === chosen }, name);
  const zones = Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC');
  const select = h(
    'select',
    { id: 'time-zone' },
    option('', `This computer (${computerZone})`),
    option('UTC', 'UTC'),
    zones.map((zone) => option(zone, zone.replaceAll('_', ' '))),
  );
  // A zone that this browser does not know was never applied.
  if (zoneNow() === '') select.value = '';
  select.addEventListener('change', () => {
    choose('time-zone', select.value);
    useTimeZone(select.value);
    onZone();
  });
  return h('div', { class: 'field' }, h('label', { for: 'time-zone' }, 'Time zone'), select);
}
