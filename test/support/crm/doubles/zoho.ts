import {
  CrmDouble,
  digits,
  ofCall,
  type CrmAsked,
  type KeptRecord,
  type KeptTask,
  type CrmAnswer,
} from './double.ts';

type ZohoCall = { id: string; fields: Record<string, unknown> };

const keyOf = ({ fields }: ZohoCall): string => String(fields['Trunkline_Task_Id']);

/** Upserts that answer 200 even for refused records, and refresh tokens that change with each use. */
export class ZohoDouble extends CrmDouble {
  readonly setting = {
    name: 'crm',
    preset: 'zoho',
    auth: {
      kind: 'oauth_refresh' as const,
      clientId: 'client',
      clientSecret: 'client-secret-0123456789',
      refreshToken: 'refresh-0',
    },
  };
  readonly #calls: ZohoCall[] = [];
  readonly #tasks: ZohoCall[] = [];
  #access = 'none yet';
  #refresh = 'refresh-0';

  recordsOf(callId: string): KeptRecord[] {
    return this.#calls
      .filter(({ fields }) => fields['Trunkline_Call_Id'] === callId)
      .map(({ id, fields }) => ({
        id,
        text: String(fields['Description']),
        contact: (fields['Who_Id'] as { id: string } | undefined)?.id,
      }));
  }

  tasksOf(callId: string): KeptTask[] {
    return ofCall(this.#tasks, callId, keyOf).map(({ fields }) => ({
      title: String(fields['Subject']),
      until: fields['Due_Date'] as string | undefined,
      contact: (fields['Who_Id'] as { id: string } | undefined)?.id,
      isOpen: fields['Status'] === 'Not Started',
    }));
  }

  doTasks(callId: string): void {
    for (const { fields } of ofCall(this.#tasks, callId, keyOf)) fields['Status'] = 'Completed';
  }

  override remove(id: string): void {
    this.#calls.splice(
      this.#calls.findIndex((call) => call.id === id),
      1,
    );
  }

  override expire(): void {
    this.#access = `ended ${this.newId()}`;
  }

  protected override token({ path, body }: CrmAsked): CrmAnswer | undefined {
    if (path !== '/oauth/v2/token') return undefined;
    const form = body as Record<string, string>;
    if (form['refresh_token'] !== this.#refresh) return { status: 400, body: { error: 'invalid_grant' } }; // prettier-ignore
    this.#refresh = `refresh-${this.newId()}`;
    this.#access = `access-${this.newId()}`;
    return { status: 200, body: { access_token: this.#access, refresh_token: this.#refresh, expires_in: 3600 } }; // prettier-ignore
  }

  protected proves({ headers }: CrmAsked): boolean {
    return headers['authorization'] === `Zoho-oauthtoken ${this.#access}`;
  }

  protected rules({ method, path, query, body }: CrmAsked): CrmAnswer {
    if (path === '/crm/v8/Contacts/search') {
      const wanted = query.get('phone') ?? '';
      const data = this.people
        .filter(({ phones }) => phones.some((phone) => digits(phone).endsWith(wanted)))
        .map(({ id, phones, at, name }) => ({ id, Full_Name: name, Account_Name: name === undefined ? null : { name: 'Acme Ltd' }, Phone: phones[0], Mobile: phones[1] ?? null, Created_Time: at })); // prettier-ignore
      return data.length === 0 ? { status: 204 } : { status: 200, body: { data } };
    }
    const gone = /^\/crm\/v8\/(Calls|Tasks)\/(\d+)$/.exec(path);
    if (gone && method === 'DELETE') {
      const of = gone[1] === 'Calls' ? this.#calls : this.#tasks;
      const at = of.findIndex(({ id }) => id === gone[2]);
      if (at < 0) return { status: 404, body: {} };
      of.splice(at, 1);
      return { status: 200, body: { data: [{ code: 'SUCCESS' }] } };
    }
    const unique = {
      '/crm/v8/Calls/upsert': 'Trunkline_Call_Id',
      '/crm/v8/Tasks/upsert': 'Trunkline_Task_Id',
    }[path];
    const kept = unique === 'Trunkline_Call_Id' ? this.#calls : this.#tasks;
    if (unique === undefined || method !== 'POST') return { status: 404, body: {} };
    const { data, duplicate_check_fields: keys } = body as { data: Record<string, unknown>[]; duplicate_check_fields: string[] }; // prettier-ignore
    if (keys[0] !== unique) return { status: 400, body: {} };
    const results = data.map((fields) => {
      if (
        kept === this.#calls &&
        !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/.test(String(fields['Call_Start_Time']))
      )
        return { code: 'INVALID_DATA', status: 'error', message: 'invalid data', details: {} };
      const known = kept.find((call) => call.fields[unique] === fields[unique]);
      const call = known ?? { id: this.newId(), fields };
      if (known) Object.assign(known.fields, fields);
      else kept.push(call);
      return { code: 'SUCCESS', status: 'success', details: { id: call.id } };
    });
    return { status: 200, body: { data: results } };
  }
}
