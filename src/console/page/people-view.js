import { erase, get, patch, post } from './api.js';
import { h, setText, tryAction } from './dom.js';
import { fullMoment } from './format.js';
import { PageState } from './page-state.js';
import { newPersonForm, personForm } from './person-form.js';

/** @import { ApiKeyShown, ApiPerson } from './shapes.ts' */

const scopes = ['read', 'operate', 'speech', 'ingest', 'assist', 'admin'];
const linesShown = 100;

/** People, keys, sign-ins and the record of who did what, for admins. */
export class PeopleView {
  title = 'People';
  #state = new PageState('the people', () => this.#load());
  #problem = h('p', { class: 'error', role: 'alert' });
  #said = h('p', { class: 'new-key-told', role: 'status' });
  #people = table('People', ['Name', 'Signs in as', 'Roles', 'Teams', 'Agent', '', '']);
  #person = h('div');
  #keys = table('Keys', ['Name', 'Scopes', 'State', 'Made', 'Until', '']);
  #signIns = table('Sign-ins', ['Who', 'From', 'Since', '']);
  #record = table('Who did what', ['Line', 'When', 'Who', 'Did', 'Call', 'Detail', 'From']);

  constructor() {
    this.element = h(
      'div',
      { class: 'view people-view' },
      h('h1', {}, 'People'),
      this.#state.element,
      this.#problem,
      this.#said,
      this.#people.element,
      this.#person,
      h(
        'p',
        {},
        h('button', { type: 'button', onclick: () => this.#openNew() }, 'Add a person'),
        h('span', { class: 'quiet' }, ' or “npx trunkline people add”.'),
      ),
      this.#keys.element,
      this.#keyForm(),
      this.#signIns.element,
      this.#record.element,
      h('p', {}, h('a', { href: '/api/audit/export', download: '' }, 'Save the whole record')),
    );
    void this.#load();
  }

  close() {
    this.#state.close();
  }

  async #load() {
    try {
      const [people, keys, signIns, record] = await Promise.all([
        get('/api/people'),
        get('/api/keys'),
        get('/api/sign-ins'),
        get(`/api/audit?limit=${linesShown}`),
      ]);
      this.#people.draw(
        people.items.map((one) => [
          ...[one.name, one.login, one.roles.join(', '), one.teams.join(', ')],
          ...[one.agent_id ?? '', this.#changeButton(one)],
          this.#button('Remove', one.login, `/api/people/${one.id}`),
        ]),
        'Nobody was added yet.',
      );
      this.#keys.draw(
        keys.items.map((key) => this.#keyRow(key)),
        'No key was made yet.',
      );
      this.#signIns.draw(
        signIns.items.map((one) => [
          one.this_one ? `${one.who} (here)` : one.who,
          ...[one.address, fullMoment(one.made_at)],
          this.#button('End', one.who, `/api/sign-ins/${one.id}`),
        ]),
        'Nobody is signed in.',
      );
      this.#record.draw(
        record.items.map((line) => [
          ...[String(line.seq), fullMoment(line.at), line.actor, line.action],
          line.call_id === null ? '' : h('a', { href: `#/calls/${line.call_id}` }, line.call_id),
          ...[line.detail, line.address],
        ]),
        'Nothing was kept yet.',
      );
      this.#state.ready();
    } catch (error) {
      this.#state.failed(error);
    }
  }

  /** @param {ApiKeyShown} key */
  #keyRow(key) {
    const until = key.revoked_at ?? key.expires_at;
    return [
      ...[key.name, key.scopes.join(', '), key.state, fullMoment(key.made_at)],
      until === null ? '' : fullMoment(until),
      key.state === 'good' && this.#button('Revoke', key.name, `/api/keys/${key.id}`),
    ];
  }

  /**
   * @param {string} verb
   * @param {string} name
   * @param {string} path
   */
  #button(verb, name, path) {
    const run = () => this.#do(() => erase(path));
    return h('button', { type: 'button', 'aria-label': `${verb} ${name}`, onclick: run }, verb);
  }

  #openNew() {
    const form = newPersonForm({
      add: (person) =>
        void this.#do(async () => {
          await post('/api/people', person);
          this.#person.replaceChildren();
          setText(this.#said, `${person.login} may sign in.`);
        }),
      close: () => this.#person.replaceChildren(),
    });
    this.#person.replaceChildren(form);
    form.querySelector('input')?.focus();
  }

  /** @param {ApiPerson} person */
  #changeButton(person) {
    const open = () => {
      const form = personForm(person, {
        save: (change) =>
          void this.#do(async () => {
            await patch(`/api/people/${person.id}`, change);
            this.#person.replaceChildren();
            setText(this.#said, `${person.login} was changed.`);
          }),
        endSignIns: () =>
          void this.#do(async () => {
            const { items } = await get('/api/sign-ins');
            const theirs = items.filter(({ holder }) => holder === person.id);
            for (const { id } of theirs) await erase(`/api/sign-ins/${id}`);
            setText(this.#said, theirs.length === 0 ? `${person.login} was not signed in.` : `${person.login} is signed out everywhere.`); // prettier-ignore
          }),
        close: () => this.#person.replaceChildren(),
      });
      this.#person.replaceChildren(form);
      form.querySelector('input')?.focus();
    };
    return h('button', { type: 'button', 'aria-label': `Change ${person.login}`, onclick: open }, 'Change'); // prettier-ignore
  }

  #keyForm() {
    const name = h('input', { id: 'key-name', required: true, maxlength: 100 });
    const days = h('input', { id: 'key-days', type: 'number', min: 1, max: 3650 });
    const boxes = scopes.map((scope) => h('input', { type: 'checkbox', value: scope }));
    const form = h(
      'form',
      { class: 'new-key' },
      h('label', { for: 'key-name' }, 'Name of a new key'),
      name,
      h('label', { for: 'key-days' }, 'Days until it ends (none: no end)'),
      days,
      h(
        'fieldset',
        { class: 'extras' },
        h('legend', {}, 'Scopes'),
        boxes.map((box) => h('label', {}, box, box.value)),
      ),
      h('button', { type: 'submit' }, 'Make a key'),
    );
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      const chosen = boxes.filter(({ checked }) => checked).map(({ value }) => value);
      const life = days.value === '' ? {} : { days: Number(days.value) };
      void this.#do(async () => {
        const made = await post('/api/keys', { name: name.value, scopes: chosen, ...life });
        form.reset();
        setText(this.#said, `The key “${made.name}” is shown this once: ${made.key}`);
      });
    });
    return form;
  }

  /** @param {() => Promise<unknown>} run */
  #do(run) {
    return tryAction({ said: this.#said, problem: this.#problem }, async () => {
      await run();
      await this.#load();
    });
  }
}

let tables = 0;

/**
 * A heading and a table, which says so where it has no row.
 * @param {string} name
 * @param {readonly string[]} headings
 */
function table(name, headings) {
  const id = `people-table-${++tables}`;
  const rows = h('tbody');
  const none = h('p', { class: 'quiet', hidden: true });
  const frame = h(
    'div',
    { class: 'wide', tabindex: '0', role: 'region', 'aria-labelledby': id, hidden: true },
    h(
      'table',
      {},
      h('thead', {}, h('tr', {}, headings.map((one) => one === '' ? h('td') : h('th', { scope: 'col' }, one)))), // prettier-ignore
      rows,
    ),
  );
  return {
    element: h('section', {}, h('h2', { id }, name), frame, none),
    /**
     * @param {(string | Node | false)[][]} cells
     * @param {string} words
     */
    draw(cells, words) {
      rows.replaceChildren(
        ...cells.map((row) =>
          h(
            'tr',
            {},
            row.map((cell) => h('td', {}, cell)),
          ),
        ),
      );
      frame.hidden = cells.length === 0;
      none.hidden = cells.length > 0;
      setText(none, words);
    },
  };
}
