import {
  CrmDouble,
  digits,
  type CrmAsked,
  type KeptRecord,
  type KeptTask,
  type CrmAnswer,
} from './double.ts';

type Activity = {
  id: number;
  type: string;
  subject: string;
  note: string;
  day: string | undefined;
  isDone: boolean;
  person: number | undefined;
  at: number;
};

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
      .filter(({ note }) => note.includes(`trunkline:${callId}`))
      .map(({ id, note, person }) => ({
        id: String(id),
        text: note,
        contact: person === undefined ? undefined : String(person),
      }));
  }

  tasksOf(callId: string): KeptTask[] {
    return this.#activities
      .filter(({ type, note }) => type === 'task' && note.includes(`${callId}.`))
      .map(({ subject, day, person, isDone }) => ({
        title: subject,
        until: day,
        contact: person === undefined ? undefined : String(person),
        isOpen: !isDone,
      }))
      .toSorted((one, other) => (one.title < other.title ? -1 : 1));
  }

  doTasks(callId: string): void {
    for (const one of this.#activities)
      if (one.type === 'task' && one.note.includes(`${callId}.`)) one.isDone = true;
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
        .map(({ id, phones, name }) => ({
          item: {
            id: Number(id),
            phones,
            name,
            organization: name === undefined ? null : { name: 'Acme Ltd' },
          },
        }));
      return { status: 200, body: { success: true, data: { items } } };
    }
    if (path === '/api/v2/deals')
      return { status: 200, body: { success: true, data: [{ id: 900, title: 'Broken kettle' }] } };
    if (path === '/api/v2/activities' && method === 'GET') {
      const data = [...this.#activities].sort((one, other) => other.at - one.at).slice(0, Number(query.get('limit'))); // prettier-ignore
      return { status: 200, body: { success: true, data } };
    }
    const given = body as {
      note?: string;
      type?: string;
      subject?: string;
      due_date?: string;
      done?: boolean;
      participants?: { person_id: number }[];
    };
    if (path === '/api/v2/activities' && method === 'POST') {
      if (given.type !== 'call' && given.type !== 'task')
        return { status: 400, body: { success: false, error: 'type' } };
      const activity = {
        id: Number(this.newId()),
        type: given.type,
        subject: given.subject ?? '',
        day: given.due_date,
        isDone: given.done === true,
        note: given.note ?? '',
        person: given.participants?.[0]?.person_id,
        at: this.nowMs(),
      };
      this.#activities.push(activity);
      return { status: 201, body: { success: true, data: activity } };
    }
    const id = /^\/api\/v2\/activities\/(\d+)$/.exec(path)?.[1];
    const activity = this.#activities.find((one) => String(one.id) === id);
    if (activity && method === 'DELETE') {
      this.remove(String(activity.id));
      return { status: 200, body: { success: true } };
    }
    if (!activity || method !== 'PATCH') return { status: 404, body: { success: false } };
    activity.note = given.note ?? activity.note;
    activity.subject = given.subject ?? activity.subject;
    activity.day = given.due_date ?? activity.day;
    activity.isDone = given.done ?? activity.isDone;
    return { status: 200, body: { success: true, data: activity } };
  }
}
