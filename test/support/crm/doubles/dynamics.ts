import { expressionFunctions } from '../../../../src/crm/expression-functions.ts';
import {
  CrmDouble,
  type CrmAsked,
  type KeptRecord,
  type KeptTask,
  type CrmAnswer,
} from './double.ts';

type PhoneCall = { id: string; fields: Record<string, unknown> };

/** Tests name their promises so. */
function isTaskOf(id: string, callId: string): boolean {
  return ['p1', 'p2', 'p3'].some(
    (promise) => expressionFunctions['uuidOf']?.(`${callId}/${promise}`) === id,
  );
}

/** Phone calls under a key chosen by the client. A completed call cannot be changed any more. */
export class DynamicsDouble extends CrmDouble {
  readonly setting = {
    name: 'crm',
    preset: 'dynamics',
    options: { organization: 'example' },
    auth: {
      kind: 'client_credentials' as const,
      tokenUrl: 'https://login.example.com/tenant/oauth2/v2.0/token',
      clientId: 'application',
      clientSecret: 'client-secret-0123456789',
      scope: 'https://example.crm.dynamics.com/.default',
    },
  };
  readonly #calls: PhoneCall[] = [];
  readonly #tasks: PhoneCall[] = [];
  readonly #notes = new Map<string, Record<string, unknown>>();
  #access = 'first';

  recordsOf(callId: string): KeptRecord[] {
    return this.#calls
      .filter(({ fields }) => String(fields['description']).includes(callId))
      .map(({ id, fields }) => ({
        id,
        text: String(fields['description']),
        contact: /\((.+)\)/.exec(
          (fields['regardingobjectid_contact_phonecall@odata.bind'] as string | undefined) ?? '',
        )?.[1],
      }));
  }

  tasksOf(callId: string): KeptTask[] {
    return this.#tasks
      .filter(({ id }) => isTaskOf(id, callId))
      .map(({ fields }) => ({
        title: String(fields['subject']),
        until: (fields['scheduledend'] as string | null)?.slice(0, 10),
        contact: /\((.+)\)/.exec(String(fields['regardingobjectid_contact_task@odata.bind']))?.[1],
        isOpen: fields['statecode'] !== 1,
      }))
      .toSorted((one, other) => (one.title < other.title ? -1 : 1));
  }

  doTasks(callId: string): void {
    for (const { id, fields } of this.#tasks) if (isTaskOf(id, callId)) fields['statecode'] = 1;
  }

  override wrapUpOf(callId: string): string | undefined {
    const notes = [...this.#notes.values()].filter(({ subject }) => subject === 'Wrap-up');
    return notes
      .map(({ notetext }) => String(notetext))
      .find((text) => text.includes(`(${callId})`));
  }

  get notes(): number {
    return this.#notes.size;
  }

  override expire(): void {
    this.#access = `access-${this.newId()}`;
  }

  protected override token({ path, body }: CrmAsked): CrmAnswer | undefined {
    if (!path.endsWith('/oauth2/v2.0/token')) return undefined;
    const form = body as Record<string, string>;
    if (form['scope'] !== this.setting.auth.scope) return { status: 400, body: { error: 'invalid_scope' } }; // prettier-ignore
    return { status: 200, body: { access_token: this.#access, expires_in: 3599 } };
  }

  protected proves({ headers }: CrmAsked): boolean {
    return headers['authorization'] === `Bearer ${this.#access}`;
  }

  protected rules({ method, path, query, headers, body }: CrmAsked): CrmAnswer {
    if (path === '/api/data/v9.2/incidents')
      return { status: 200, body: { value: [{ incidentid: '900', title: 'Broken kettle' }] } };
    if (path === '/api/data/v9.2/contacts' && method === 'GET') {
      const filter = query.get('$filter') ?? '';
      const [, equal, end, middle] = /^\(telephone1 eq '([^']+)' or \(endswith\(telephone1,'(\d+)'\) and contains\(telephone1,'(\d+)'\)\)\)/.exec(filter) ?? []; // prettier-ignore
      if (equal === undefined || end === undefined || middle === undefined) return { status: 400, body: { error: { message: 'a filter that nobody expects' } } }; // prettier-ignore
      const value = this.people
        .filter(({ phones }) => phones.some((phone) => phone === equal || (phone.endsWith(end) && phone.includes(middle)))) // prettier-ignore
        .slice(0, Number(query.get('$top')))
        .map(({ id, phones, at, name }) => ({ contactid: id, fullname: name, parentcustomerid_account: name === undefined ? null : { name: 'Acme Ltd' }, telephone1: phones[0], mobilephone: phones[1] ?? null, telephone2: null, createdon: at })); // prettier-ignore
      return { status: 200, body: { value } };
    }
    const note = /\/annotations\(([-\da-f]{36})\)$/.exec(path)?.[1];
    if (note !== undefined && method === 'PATCH') {
      this.#notes.set(note, body as Record<string, unknown>);
      return { status: 204 };
    }
    const task = /\/tasks\(([-\da-f]{36})\)$/.exec(path)?.[1];
    if (task !== undefined) return this.#task(task, method, body as Record<string, unknown>);
    const id = /\/phonecalls\(([-\da-f]{36})\)$/.exec(path)?.[1];
    if (id !== undefined && method === 'GET') {
      const call = this.#calls.find((one) => one.id === id);
      if (!call) return { status: 404, body: {} };
      return { status: 200, body: { activityid: id, statecode: call.fields['statecode'] ?? 0 } };
    }
    if (id !== undefined && method === 'DELETE') {
      const at = this.#calls.findIndex((one) => one.id === id);
      if (at < 0) return { status: 404, body: {} };
      this.#calls.splice(at, 1);
      return { status: 204 };
    }
    if (id === undefined || method !== 'PATCH') return { status: 404, body: {} };
    const fields = body as Record<string, unknown>;
    const known = this.#calls.find((call) => call.id === id);
    if (!known && headers['if-match'] === '*') return { status: 404, body: {} };
    if (known?.fields['statecode'] === 1)
      return { status: 400, body: { error: { message: 'The phone call is completed' } } };
    if (!known && 'statecode' in fields) return { status: 400, body: {} };
    if (((fields['description'] as string | undefined) ?? '').length > 2_000)
      return { status: 400, body: {} };
    if (known) Object.assign(known.fields, fields);
    else this.#calls.push({ id, fields });
    return { status: 204 };
  }

  /** A completed task takes no change, like a completed call. */
  #task(id: string, method: string, fields: Record<string, unknown>): CrmAnswer {
    const known = this.#tasks.find((one) => one.id === id);
    if (method === 'PATCH') {
      if (known?.fields['statecode'] === 1) return { status: 400, body: { error: { message: 'The task is completed' } } }; // prettier-ignore
      if (known) Object.assign(known.fields, fields);
      else this.#tasks.push({ id, fields: { ...fields, statecode: 0 } });
      return { status: 204 };
    }
    if (!known) return { status: 404, body: {} };
    if (method === 'GET') return { status: 200, body: { statecode: known.fields['statecode'] } };
    this.#tasks.splice(this.#tasks.indexOf(known), 1);
    return { status: 204 };
  }
}
