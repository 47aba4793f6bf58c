import {
  CrmDouble,
  digits,
  ofCall,
  type CrmAsked,
  type KeptRecord,
  type KeptTask,
  type CrmAnswer,
} from './double.ts';

type ZendeskTicket = {
  id: number;
  external_id: string;
  subject: string;
  status: string;
  due_at: string | null | undefined;
  comments: string[];
  requester_id?: number;
};
type GivenTicket = {
  external_id?: string;
  subject?: string;
  status?: string;
  type?: string;
  due_at?: string | null;
  comment?: { body?: string };
  requester_id?: number;
};

/** Tickets whose external id need not be unique: creating one twice makes two. */
export class ZendeskDouble extends CrmDouble {
  readonly setting = {
    name: 'crm',
    preset: 'zendesk',
    token: 'zendesk-token-0123456789',
    options: { subdomain: 'example', email: 'omar@example.com' },
  };
  readonly #tickets: ZendeskTicket[] = [];

  recordsOf(callId: string): KeptRecord[] {
    return this.#tickets
      .filter(({ external_id }) => external_id === callId)
      .map(({ id, comments, requester_id }) => ({
        id: String(id),
        text: comments.join('\n---\n'),
        contact: requester_id === undefined ? undefined : String(requester_id),
      }));
  }

  tasksOf(callId: string): KeptTask[] {
    return ofCall(this.#tickets, callId, (ticket) => ticket.external_id).map((ticket) => ({
      title: ticket.subject,
      until: ticket.due_at?.slice(0, 10),
      contact: ticket.requester_id === undefined ? undefined : String(ticket.requester_id),
      isOpen: ticket.status === 'open',
    }));
  }

  doTasks(callId: string): void {
    for (const ticket of ofCall(this.#tickets, callId, ({ external_id }) => external_id))
      ticket.status = 'solved';
  }

  override remove(id: string): void {
    this.#tickets.splice(
      this.#tickets.findIndex((ticket) => String(ticket.id) === id),
      1,
    );
  }

  protected proves({ headers }: CrmAsked): boolean {
    const { email } = this.setting.options;
    const proof = Buffer.from(`${email}/token:${this.setting.token}`).toString('base64');
    return headers['authorization'] === `Basic ${proof}`;
  }

  protected rules({ method, path, query, body }: CrmAsked): CrmAnswer {
    if (path === '/api/v2/users/search.json') {
      const wanted = digits(query.get('query') ?? '');
      const users = this.people
        .filter(({ phones }) => phones.some((phone) => digits(phone).endsWith(wanted.slice(-9))))
        .map(({ id, phones, at, name }) => ({
          id: Number(id),
          name,
          phone: phones[0],
          created_at: at,
        }));
      return { status: 200, body: { users, count: users.length } };
    }
    if (path.endsWith('/tickets/requested.json'))
      return {
        status: 200,
        body: {
          tickets: [
            { id: 899, status: 'solved', subject: 'Old' },
            { id: 900, status: 'open', subject: 'Broken kettle' },
          ],
        },
      };
    if (path === '/api/v2/tickets.json' && method === 'GET') {
      const tickets = this.#tickets.filter(({ external_id }) => external_id === query.get('external_id')); // prettier-ignore
      return { status: 200, body: { tickets } };
    }
    const given = (body as { ticket?: GivenTicket } | null)?.ticket;
    if (path === '/api/v2/tickets.json' && method === 'POST') {
      if (typeof given?.comment?.body !== 'string' || given.comment.body.length > 65_535)
        return { status: 422, body: { error: 'RecordInvalid' } };
      // Only a ticket of the type task has a day.
      if (given.due_at !== undefined && given.type !== 'task') return { status: 422, body: { error: 'RecordInvalid' } }; // prettier-ignore
      const ticket: ZendeskTicket = {
        id: Number(this.newId()),
        external_id: given.external_id ?? '',
        subject: given.subject ?? '',
        status: given.status ?? 'new',
        due_at: given.due_at,
        comments: [given.comment.body],
        ...(given.requester_id === undefined ? {} : { requester_id: given.requester_id }),
      };
      this.#tickets.push(ticket);
      return { status: 201, body: { ticket } };
    }
    const id = /^\/api\/v2\/tickets\/(\d+)\.json$/.exec(path)?.[1];
    const ticket = this.#tickets.find((one) => String(one.id) === id);
    const commented = /^\/api\/v2\/tickets\/(\d+)\/comments\.json$/.exec(path)?.[1];
    if (commented !== undefined && method === 'GET') {
      const one = this.#tickets.find(({ id: own }) => String(own) === commented);
      if (!one) return { status: 404, body: { error: 'RecordNotFound' } };
      return { status: 200, body: { comments: one.comments.map((text) => ({ body: text })) } };
    }
    if (ticket && method === 'DELETE') {
      this.remove(String(ticket.id));
      return { status: 204 };
    }
    if (!ticket || method !== 'PUT') return { status: 404, body: { error: 'RecordNotFound' } };
    if (given?.comment?.body !== undefined) ticket.comments.push(given.comment.body);
    ticket.subject = given?.subject ?? ticket.subject;
    if (given?.due_at !== undefined) ticket.due_at = given.due_at;
    return { status: 200, body: { ticket } };
  }
}
