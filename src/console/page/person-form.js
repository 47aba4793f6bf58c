import { h } from './dom.js';

/** @import { ApiPerson, NewPerson, PersonChange } from './shapes.ts' */

const roles = ['agent', 'supervisor', 'quality', 'operator', 'admin'];

/**
 * A form that adds a person, who signs in with a name and a password.
 * @param {{ add: (person: NewPerson) => void, close: () => void }} actions
 */
export function newPersonForm({ add, close }) {
  const login = h('input', {
    ...{ id: 'person-login', required: true, maxlength: 100, autocomplete: 'off' },
    spellcheck: 'false',
  });
  const fields = personFields({ name: '', roles: ['agent'], teams: [], agent_id: null });
  const password = passwordField({ required: true });
  const form = h(
    'form',
    { class: 'new-key', 'aria-label': 'Add a person' },
    h('h3', {}, 'Add a person'),
    h('label', { for: 'person-login' }, 'Signs in as'),
    login,
    fields.elements,
    h('label', { for: 'person-password' }, 'First password, 12 characters at least'),
    password,
    h(
      'div',
      { class: 'actions' },
      h('button', { type: 'submit', class: 'primary' }, 'Add'),
      h('button', { type: 'button', onclick: close }, 'Close'),
    ),
  );
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const { name, agent_id: agent, ...more } = fields.read();
    add({
      ...more,
      login: login.value.trim(),
      ...(name === '' ? {} : { name }),
      ...(agent === null ? {} : { agent_id: agent }),
      password: password.value,
    });
  });
  return form;
}

/**
 * A form that changes a person. What a provider says of somebody is shown and not changed: it holds again with their
 * next sign-in.
 * @param {ApiPerson} person
 * @param {{ save: (change: Partial<PersonChange>) => void, endSignIns: () => void, close: () => void }} actions
 */
export function personForm(person, { save, endSignIns, close }) {
  const isLocal = person.signs_in_by === 'password';
  const fields = personFields(person, !isLocal);
  fields.name.required = true;
  const password = passwordField({});
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
    fields.elements,
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
    save({
      ...fields.read(),
      ...(password.value === '' ? {} : { password: password.value }),
    });
  });
  return form;
}

/** @param {{ required?: true }} props */
function passwordField(props) {
  return h('input', {
    ...{ id: 'person-password', type: 'password', autocomplete: 'new-password' },
    ...{ minlength: 12, maxlength: 200, ...props },
  });
}

/**
 * The fields that a new person and one who changes have in common.
 * @param {Pick<ApiPerson, 'name' | 'roles' | 'teams' | 'agent_id'>} person
 * @param {boolean} [disabled]
 */
function personFields(person, disabled = false) {
  const name = h('input', { id: 'person-name', maxlength: 100, value: person.name, disabled });
  const teams = h('input', { id: 'person-teams', value: person.teams.join(', '), disabled });
  const agent = h('input', {
    ...{ id: 'person-agent', maxlength: 200, value: person.agent_id ?? '', disabled },
  });
  const boxes = roles.map((role) =>
    h('input', {
      ...{ type: 'checkbox', value: role, disabled },
      checked: person.roles.some((one) => one === role),
    }),
  );
  const elements = [
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
  ];
  const read = () => ({
    name: name.value.trim(),
    roles: /** @type {PersonChange['roles'] & object} */ (
      boxes.filter(({ checked }) => checked).map(({ value }) => value)
    ),
    teams: teams.value.split(',').map((team) => team.trim()).filter((team) => team !== ''), // prettier-ignore
    agent_id: agent.value.trim() === '' ? null : agent.value.trim(),
  });
  return { name, elements, read };
}
