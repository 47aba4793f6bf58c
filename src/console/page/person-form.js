import { h } from './dom.js';

/** @import { ApiPerson, PersonChange } from './shapes.ts' */

const roles = ['agent', 'supervisor', 'quality', 'operator', 'admin'];

/**
 * A form that changes a person. What a provider says of somebody is shown and not changed: it holds again with their
 * next sign-in.
 * @param {ApiPerson} person
 * @param {{ save: (change: Partial<PersonChange>) => void, endSignIns: () => void, close: () => void }} actions
 */
export function personForm(person, { save, endSignIns, close }) {
  const isLocal = person.signs_in_by === 'password';
  const name = h('input', { id: 'person-name', required: true, maxlength: 100, value: person.name }); // prettier-ignore
  const teams = h('input', { id: 'person-teams', value: person.teams.join(', ') });
  const agent = h('input', { id: 'person-agent', maxlength: 200, value: person.agent_id ?? '' });
  const password = h('input', {
    ...{ id: 'person-password', type: 'password', autocomplete: 'new-password' },
    ...{ minlength: 12, maxlength: 200 },
  });
  const boxes = roles.map((role) =>
    h('input', {
      ...{ type: 'checkbox', value: role, disabled: !isLocal },
      checked: person.roles.some((one) => one === role),
    }),
  );
  for (const input of [name, teams, agent]) input.disabled = !isLocal;
  const form = h(
    'form',
    { class: 'new-key', 'aria-label': `Change ${person.name}` },
    h('h3', {}, `Change ${person.name} (${person.login})`),
    !isLocal &&
      h(
        'p',
        { class: 'quiet' },
        'The provider says who this is, at each sign-in. Change it there.',
      ),
    h('label', { for: 'person-name' }, 'Shown name'),
    name,
    h(
      'fieldset',
      { class: 'extras' },
      h('legend', {}, 'Roles'),
      boxes.map((box) => h('label', {}, box, box.value)),
    ),
    h('label', { for: 'person-teams' }, 'Teams, with commas between them'),
    teams,
    h('label', { for: 'person-agent' }, 'Agent: the agent_id of their own calls'),
    agent,
    isLocal && h('label', { for: 'person-password' }, 'New password (none: the old one stays)'),
    isLocal && password,
    h(
      'div',
      { class: 'actions' },
      isLocal && h('button', { type: 'submit', class: 'primary' }, 'Save'),
      h('button', { type: 'button', onclick: endSignIns }, 'End their sign-ins'),
      h('button', { type: 'button', onclick: close }, 'Close'),
    ),
  );
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const chosen = boxes.filter(({ checked }) => checked).map(({ value }) => value);
    save({
      name: name.value.trim(),
      roles: /** @type {PersonChange['roles']} */ (chosen),
      teams: teams.value.split(',').map((team) => team.trim()).filter((team) => team !== ''), // prettier-ignore
      agent_id: agent.value.trim() === '' ? null : agent.value.trim(),
      ...(password.value === '' ? {} : { password: password.value }),
    });
  });
  return form;
}
