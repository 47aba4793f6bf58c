import { CrmDouble, digits, type CrmAsked, type KeptRecord, type CrmAnswer } from './double.ts';

type ZendeskTicket = { id: number; external_id: string; comments: string[]; requester_id?: number };

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
        .map(({ id, phones, at }) => ({ id: Number(id), phone: phones[0], created_at: at }));
      return { status: 200, body: { users, count: users.length } };
    }
    if (path === '/api/v2/tickets.json' && method === 'GET') {
      const tickets = this.#tickets.filter(({ external_id }) => external_id === query.get('external_id')); // prettier-ignore
      return { status: 200, body: { tickets } };
    }
    const given = (body as { ticket?: { external_id?: string; comment?: { body?: string }; requester_id?: number } }).ticket; // prettier-ignore
    if (path === '/api/v2/tickets.json' && method === 'POST') {
      if (typeof given?.comment?.body !== 'string' || given.comment.body.length > 65_535)
        return { status: 422, body: { error: 'RecordInvalid' } };
      const ticket: ZendeskTicket = {
        id: Number(this.newId()),
        external_id: given.external_id ?? '',
        comments: [given.comment.body],
        ...(given.requester_id === undefined ? {} : { requester_id: given.requester_id }),
      };
      this.#tickets.push(ticket);
      return { status: 201, body: { ticket } };
    }
    const id = /^\/api\/v2\/tickets\/(\d+)\.json$/.exec(path)?.[1];
    const ticket = this.#tickets.find((one) => String(one.id) === id);
    if (!ticket || method !== 'PUT') return { status: 404, body: { error: 'RecordNotFound' } };
    if (given?.comment?.body !== undefined) ticket.comments.push(given.comment.body);
    return { status: 200, body: { ticket } };
  }
}
