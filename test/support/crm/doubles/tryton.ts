import {
  CrmDouble,
  type CrmAsked,
  type KeptRecord,
  type KeptTask,
  type CrmAnswer,
} from './double.ts';

type Note = { id: number; resource: string; message: string; isRead?: boolean };

/** JSON-RPC with sessions that expire, errors inside a 200 answer, and notes attached to parties. */
export class TrytonDouble extends CrmDouble {
  readonly setting = {
    name: 'crm',
    preset: 'tryton',
    url: 'https://tryton.example.com/crm/',
    token: 'password-0123456789',
    options: { user: 'bridge' },
  };
  readonly #notes: Note[] = [];
  #session = 'none yet';

  recordsOf(callId: string): KeptRecord[] {
    return this.#notes
      .filter(({ message }) => message.includes(`trunkline:${callId}`))
      .map(({ id, message, resource }) => ({
        id: String(id),
        text: message,
        contact: resource.split(',')[1],
      }));
  }

  tasksOf(callId: string): KeptTask[] {
    return this.#notes
      .filter(({ message }) => message.includes(`trunkline-task:${callId}.`))
      .map(({ message, resource, isRead }) => {
        const [, until, title] = /^To do(?: by (\S+))?: (.*)$/m.exec(message) ?? [];
        return {
          title: title ?? '',
          until,
          contact: resource.split(',')[1],
          isOpen: isRead !== true,
        };
      })
      .toSorted((one, other) => (one.title < other.title ? -1 : 1));
  }

  doTasks(callId: string): void {
    for (const note of this.#notes)
      if (note.message.includes(`trunkline-task:${callId}.`)) note.isRead = true;
  }

  override remove(id: string): void {
    this.#notes.splice(
      this.#notes.findIndex((one) => String(one.id) === id),
      1,
    );
  }

  override expire(): void {
    this.#session = `ended ${this.newId()}`;
  }

  protected override token({ body }: CrmAsked): CrmAnswer | undefined {
    const { method, params } = body as { method: string; params: [string, { password: string }] };
    if (method !== 'common.db.login') return undefined;
    if (params[1].password !== this.setting.token) return { status: 401 };
    this.#session = `session${this.newId()}`;
    return { status: 200, body: { id: 0, result: [4, this.#session, null] } };
  }

  protected proves({ headers }: CrmAsked): boolean {
    const proof = Buffer.from(`bridge:4:${this.#session}`).toString('base64');
    return headers['authorization'] === `Session ${proof}`;
  }

  protected rules({ path, body }: CrmAsked): CrmAnswer {
    if (path !== '/crm/') return { status: 404 };
    const { method, params } = body as { method: string; params: unknown[] };
    if (method === 'model.party.contact_mechanism.search_read') {
      const wanted = [...JSON.stringify(params[0]).matchAll(/"value_compact","=","([^"]+)"/g)].map(([, one]) => one); // prettier-ignore
      const result = this.people
        .filter(({ phones }) =>
          phones.some((one) => wanted.includes(one.replace('(0)', '').replace(/[ ().-]/g, ''))),
        )
        .map(({ id, phones, name }) => ({
          id: Number(id),
          party: Number(id),
          value: phones[0],
          'party.': { id: Number(id), rec_name: name },
        }));
      return { status: 200, body: { id: 1, result } };
    }
    if (method === 'model.ir.note.search') {
      const byId = /^\[\["id","=",(\d+)\]\]$/.exec(JSON.stringify(params[0]))?.[1];
      if (byId !== undefined)
        return { status: 200, body: { result: this.#notes.filter(({ id }) => String(id) === byId).map(({ id }) => id) } }; // prettier-ignore
      const key = /%(trunkline(?:-task)?:[^%]+)%/.exec(JSON.stringify(params[0]))?.[1] ?? '';
      return { status: 200, body: { result: this.#notes.filter(({ message }) => message.includes(key)).map(({ id }) => id) } }; // prettier-ignore
    }
    if (method === 'model.ir.note.create') {
      const made = (params[0] as Omit<Note, 'id'>[]).map((note) => ({ ...note, id: Number(this.newId()) })); // prettier-ignore
      this.#notes.push(...made);
      return { status: 200, body: { result: made.map(({ id }) => id) } };
    }
    if (method === 'model.ir.note.write') {
      const [ids, values] = params as [number[], Partial<Note>];
      const note = this.#notes.find(({ id }) => id === ids[0]);
      if (!note) return { status: 200, body: { error: ['UserError', ['not found', '']] } };
      Object.assign(note, values);
      return { status: 200, body: { result: null } };
    }
    if (method === 'model.ir.note.delete') {
      const [[id]] = params as [number[]];
      if (!this.#notes.some((note) => note.id === id)) return { status: 200, body: { error: ['UserError', ['not found', '']] } }; // prettier-ignore
      this.remove(String(id));
      return { status: 200, body: { result: null } };
    }
    return { status: 200, body: { error: ['no such method'] } };
  }
}
