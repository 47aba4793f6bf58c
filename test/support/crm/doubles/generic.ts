import { CrmDouble, digits, type CrmAsked, type KeptRecord, type CrmAnswer } from './double.ts';

/** The simplest CRM: one PUT per call. */
export class GenericDouble extends CrmDouble {
  readonly setting = {
    name: 'crm',
    preset: 'generic',
    url: 'https://crm.example.com/api',
    token: 'generic-token-0123456789',
  };
  readonly #tasks = new Map<string, { call: string; what: string; until?: string | null; contact?: number }>(); // prettier-ignore
  readonly #calls = new Map<string, { text: string; contact?: number }>();

  recordsOf(callId: string): KeptRecord[] {
    const call = this.#calls.get(callId);
    return call
      ? [{ id: callId, text: call.text, contact: call.contact === undefined ? undefined : String(call.contact) }]
      : []; // prettier-ignore
  }

  tasksOf(callId: string) {
    return [...this.#tasks].flatMap(([id, { call, what, until, contact }]) =>
      call === callId ? [{ id, what, until, contact }] : [],
    );
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
        .filter(({ phones }) => phones.some((one) => `+${digits(one)}` === query.get('phone')))
        .map(({ id, phones, at }) => ({ id: Number(id), phones, created_at: at }));
      return { status: 200, body: { items } };
    }
    const task = /^\/api\/tasks\/([\w.]+)$/.exec(path)?.[1];
    if (task !== undefined && method === 'PUT') {
      this.#tasks.set(task, body as { call: string; what: string });
      return { status: 200, body: {} };
    }
    if (path === '/api/tasks' && method === 'POST') {
      const made = `task${this.#tasks.size}`;
      this.#tasks.set(made, body as { call: string; what: string });
      return { status: 201, body: { id: made } };
    }
    if (/^\/api\/calls\/\w+\/wrap-up$/.test(path)) return { status: 200, body: {} };
    const id = /^\/api\/calls\/(\w+)$/.exec(path)?.[1];
    if (id === undefined || method !== 'PUT') return { status: 404 };
    this.#calls.set(id, body as { text: string; contact?: number });
    return { status: 200, body: {} };
  }
}
