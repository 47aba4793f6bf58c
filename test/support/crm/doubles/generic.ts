import {
  CrmDouble,
  digits,
  type CrmAsked,
  type KeptRecord,
  type KeptTask,
  type CrmAnswer,
} from './double.ts';

type GenericTask = {
  call: string;
  what: string;
  title?: string;
  until?: string | null;
  contact?: number;
  isDone?: boolean;
};

/** The simplest CRM: one PUT per call. */
export class GenericDouble extends CrmDouble {
  readonly setting = {
    name: 'crm',
    preset: 'generic',
    url: 'https://crm.example.com/api',
    token: 'generic-token-0123456789',
  };
  readonly #tasks = new Map<string, GenericTask>();
  readonly #wrapUps = new Map<string, string>();
  readonly #calls = new Map<string, { text: string; contact?: number }>();

  recordsOf(callId: string): KeptRecord[] {
    const call = this.#calls.get(callId);
    return call
      ? [{ id: callId, text: call.text, contact: call.contact === undefined ? undefined : String(call.contact) }]
      : []; // prettier-ignore
  }

  tasksOf(callId: string): KeptTask[] {
    return [...this.#tasks]
      .filter(([, { call }]) => call === callId)
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([, { what, title, until, contact, isDone }]) => ({
        title: title ?? what,
        until: until ?? undefined,
        contact: contact === undefined ? undefined : String(contact),
        isOpen: isDone !== true,
      }));
  }

  doTasks(callId: string): void {
    for (const task of this.#tasks.values()) if (task.call === callId) task.isDone = true;
  }

  override wrapUpOf(callId: string): string | undefined {
    return this.#wrapUps.get(callId);
  }

  override remove(id: string): void {
    this.#calls.delete(id);
  }

  protected proves({ headers }: CrmAsked): boolean {
    return headers['authorization'] === `Bearer ${this.setting.token}`;
  }

  protected rules({ method, path, query, body }: CrmAsked): CrmAnswer {
    if (path === '/api/contacts') {
      const items = this.people
        .filter(({ phones }) =>
          phones.some((one) => digits(one).endsWith(query.get('phone')?.slice(-9) ?? '-')),
        )
        .map(({ id, phones, at, name }) => ({
          id: Number(id),
          name,
          company: name === undefined ? null : 'Acme Ltd',
          phones,
          created_at: at,
        }));
      return { status: 200, body: { items } };
    }
    if (/^\/api\/contacts\/\d+\/tickets$/.test(path))
      return { status: 200, body: { items: [{ id: 900, title: 'Broken kettle' }] } };
    const task = /^\/api\/tasks\/([\w.]+)$/.exec(path)?.[1];
    if (task !== undefined && method === 'PUT') {
      const isDone = this.#tasks.get(task)?.isDone === true;
      this.#tasks.set(task, { ...(body as GenericTask), isDone });
      return { status: 200, body: {} };
    }
    if (task !== undefined && method === 'DELETE')
      return { status: this.#tasks.delete(task) ? 204 : 404 };
    if (path === '/api/tasks' && method === 'POST') {
      const made = `task${this.#tasks.size}`;
      this.#tasks.set(made, body as GenericTask);
      return { status: 201, body: { id: made } };
    }
    const wrapped = /^\/api\/calls\/(\w+)\/wrap-up$/.exec(path)?.[1];
    if (wrapped !== undefined) {
      this.#wrapUps.set(wrapped, (body as { text: string }).text);
      return { status: 200, body: {} };
    }
    const id = /^\/api\/calls\/(\w+)$/.exec(path)?.[1];
    if (id !== undefined && method === 'DELETE')
      return { status: this.#calls.delete(id) ? 204 : 404 };
    if (id === undefined || method !== 'PUT') return { status: 404 };
    this.#calls.set(id, body as { text: string; contact?: number });
    return { status: 200, body: {} };
  }
}
