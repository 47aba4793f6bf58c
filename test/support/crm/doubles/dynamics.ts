import { CrmDouble, digits, type CrmAsked, type KeptRecord, type CrmAnswer } from './double.ts';

type PhoneCall = { id: string; fields: Record<string, unknown> };

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
  readonly #notes = new Map<string, Record<string, unknown>>();
  #access = 'first';

  recordsOf(callId: string): KeptRecord[] {
    return this.#calls
      .filter(({ fields }) => String(fields['description']).includes(callId))
      .map(({ id, fields }) => ({
        id,
        text: String(fields['description']),
        contact: /\((.+)\)/.exec(
          (fields['regardingobjectid_contact@odata.bind'] as string | undefined) ?? '',
        )?.[1],
      }));
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
    if (path === '/api/data/v9.2/contacts' && method === 'GET') {
      const wanted = [...(query.get('$filter') ?? '').matchAll(/eq '([^']+)'/g)].map(([, one]) => one); // prettier-ignore
      const value = this.people
        .filter(({ phones }) => phones.some((phone) => wanted.includes(phone) || wanted.includes(digits(phone)))) // prettier-ignore
        .map(({ id, phones, at }) => ({ contactid: id, telephone1: phones[0], mobilephone: phones[1] ?? null, telephone2: null, createdon: at })); // prettier-ignore
      return { status: 200, body: { value } };
    }
    const note = /\/annotations\(([-\da-f]{36})\)$/.exec(path)?.[1];
    if (note !== undefined && method === 'PATCH') {
      this.#notes.set(note, body as Record<string, unknown>);
      return { status: 204 };
    }
    const id = /\/phonecalls\(([-\da-f]{36})\)$/.exec(path)?.[1];
    if (id !== undefined && method === 'GET') {
      const call = this.#calls.find((one) => one.id === id);
      if (!call) return { status: 404, body: {} };
      return { status: 200, body: { activityid: id, statecode: call.fields['statecode'] ?? 0 } };
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
}
