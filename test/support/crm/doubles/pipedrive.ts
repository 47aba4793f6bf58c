import { CrmDouble, digits, type CrmAsked, type KeptRecord, type CrmAnswer } from './double.ts';

type Activity = { id: number; note: string; person: number | undefined; at: number };

/** Activities without a client's key: creating one twice makes two. */
export class PipedriveDouble extends CrmDouble {
  readonly setting = {
    name: 'crm',
    preset: 'pipedrive',
    token: 'pipedrive-token-0123456789',
    options: { company: 'example' },
  };
  readonly #activities: Activity[] = [];

  recordsOf(callId: string): KeptRecord[] {
    return this.#activities
      .filter(({ note }) => note.includes(callId))
      .map(({ id, note, person }) => ({
        id: String(id),
        text: note,
        contact: person === undefined ? undefined : String(person),
      }));
  }

  override remove(id: string): void {
    this.#activities.splice(
      this.#activities.findIndex((one) => String(one.id) === id),
      1,
    );
  }

  protected proves({ headers }: CrmAsked): boolean {
    return headers['x-api-token'] === this.setting.token;
  }

  protected rules({ method, path, query, body }: CrmAsked): CrmAnswer {
    if (path === '/api/v2/persons/search') {
      const wanted = query.get('term') ?? '';
      const items = this.people
        .filter(({ phones }) => phones.some((phone) => digits(phone).includes(wanted)))
        .map(({ id, phones }) => ({ item: { id: Number(id), phones } }));
      return { status: 200, body: { success: true, data: { items } } };
    }
    if (path === '/api/v2/activities' && method === 'GET') {
      const data = [...this.#activities].sort((one, other) => other.at - one.at).slice(0, Number(query.get('limit'))); // prettier-ignore
      return { status: 200, body: { success: true, data } };
    }
    const given = body as { note?: string; type?: string; participants?: { person_id: number }[] };
    if (path === '/api/v2/activities' && method === 'POST') {
      if (given.type !== 'call') return { status: 400, body: { success: false, error: 'type' } };
      const activity = {
        id: Number(this.newId()),
        note: given.note ?? '',
        person: given.participants?.[0]?.person_id,
        at: this.nowMs(),
      };
      this.#activities.push(activity);
      return { status: 201, body: { success: true, data: activity } };
    }
    const id = /^\/api\/v2\/activities\/(\d+)$/.exec(path)?.[1];
    const activity = this.#activities.find((one) => String(one.id) === id);
    if (!activity || method !== 'PATCH') return { status: 404, body: { success: false } };
    activity.note = given.note ?? activity.note;
    return { status: 200, body: { success: true, data: activity } };
  }
}
