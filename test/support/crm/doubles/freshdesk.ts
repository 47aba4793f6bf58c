import {
  CrmDouble,
  ofCall,
  type CrmAsked,
  type KeptRecord,
  type KeptTask,
  type CrmAnswer,
} from './double.ts';

type FreshdeskTicket = {
  id: number;
  key: string;
  description: string;
  subject: string;
  status: number;
  dueBy: string | undefined;
  requester: string;
  madeAt: number;
};

/** The search finds a ticket only a minute after it was created. */
const searchLagMs = 60_000;

/** Tickets without a client's key, and a search index that is updated late. */
export class FreshdeskDouble extends CrmDouble {
  readonly setting = {
    name: 'crm',
    preset: 'freshdesk',
    token: 'freshdesk-key-0123456789',
    options: { subdomain: 'example' },
  };
  readonly #tickets: FreshdeskTicket[] = [];

  recordsOf(callId: string): KeptRecord[] {
    return this.#tickets
      .filter(({ key }) => key === callId)
      .map(({ id, description, requester }) => ({
        id: String(id),
        text: description,
        contact: this.people.some((one) => one.id === requester) ? requester : undefined,
      }));
  }

  tasksOf(callId: string): KeptTask[] {
    return ofCall(this.#tickets, callId, ({ key }) => key).map(
      ({ subject, dueBy, requester, status }) => ({
        title: subject,
        until: dueBy?.slice(0, 10),
        contact: this.people.some((one) => one.id === requester) ? requester : undefined,
        isOpen: status === 2,
      }),
    );
  }

  doTasks(callId: string): void {
    for (const ticket of ofCall(this.#tickets, callId, ({ key }) => key)) ticket.status = 5;
  }

  override remove(id: string): void {
    this.#tickets.splice(
      this.#tickets.findIndex((one) => String(one.id) === id),
      1,
    );
  }

  protected proves({ headers }: CrmAsked): boolean {
    return headers['authorization'] === `Basic ${Buffer.from(`${this.setting.token}:X`).toString('base64')}`; // prettier-ignore
  }

  protected rules({ method, path, query, body }: CrmAsked): CrmAnswer {
    if (path === '/api/v2/search/contacts') {
      const asked = query.get('query') ?? '';
      // A longer query is refused.
      if (asked.length > 512 || !/^".*"$/.test(asked)) return { status: 400, body: { description: 'Validation failed' } }; // prettier-ignore
      const wanted = [...asked.matchAll(/'([^']+)'/g)].map(([, one]) => one);
      const results = this.people
        .filter(({ phones }) => wanted.includes(phones[asked.includes('mobile:') ? 1 : 0]))
        .map(({ id, phones, at, name }) => ({ id: Number(id), name, phone: phones[0], mobile: phones[1] ?? null, created_at: at })); // prettier-ignore
      return { status: 200, body: { results, total: results.length } };
    }
    if (path === '/api/v2/tickets' && method === 'GET')
      return { status: 200, body: [{ id: 899, status: 5, subject: 'Old' }, { id: 900, status: 2, subject: 'Broken kettle' }] }; // prettier-ignore
    if (path === '/api/v2/search/tickets') {
      const key = /^"cf_trunkline_call_id:'(.+)'"$/.exec(query.get('query') ?? '')?.[1];
      if (key === undefined) return { status: 400, body: { description: 'Validation failed' } };
      const results = this.#tickets.filter((one) => one.key === key && this.nowMs() - one.madeAt >= searchLagMs); // prettier-ignore
      return { status: 200, body: { results, total: results.length } };
    }
    const given = body as { description?: string; phone?: string; name?: string; requester_id?: number; subject?: string; status?: number; due_by?: string; fr_due_by?: string; custom_fields?: Record<string, string> }; // prettier-ignore
    // A day of resolution needs an earlier one of the first answer.
    if (given?.due_by !== undefined && !((given.fr_due_by ?? '~') < given.due_by))
      return { status: 400, body: { description: 'Validation failed' } };
    if (path === '/api/v2/tickets' && method === 'POST') {
      if (
        given.requester_id === undefined &&
        (given.phone === undefined || given.name === undefined)
      )
        // prettier-ignore
        return { status: 400, body: { description: 'Validation failed' } };
      const ticket = {
        id: Number(this.newId()),
        key: given.custom_fields?.['cf_trunkline_call_id'] ?? '',
        description: given.description ?? '',
        subject: given.subject ?? '',
        status: given.status ?? 2,
        dueBy: given.due_by,
        requester: String(given.requester_id ?? given.phone),
        madeAt: this.nowMs(),
      };
      this.#tickets.push(ticket);
      return { status: 201, body: ticket };
    }
    const id = /^\/api\/v2\/tickets\/(\d+)$/.exec(path)?.[1];
    const ticket = this.#tickets.find((one) => String(one.id) === id);
    if (ticket && method === 'DELETE') {
      this.remove(String(ticket.id));
      return { status: 204 };
    }
    if (!ticket || method !== 'PUT') return { status: 404 };
    ticket.description = given.description ?? ticket.description;
    ticket.subject = given.subject ?? ticket.subject;
    ticket.dueBy = given.due_by ?? ticket.dueBy;
    return { status: 200, body: ticket };
  }
}
