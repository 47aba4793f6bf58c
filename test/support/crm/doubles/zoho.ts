import { CrmDouble, digits, type CrmAsked, type KeptRecord, type CrmAnswer } from './double.ts';

type ZohoCall = { id: string; fields: Record<string, unknown> };

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
        .map(({ id, phones, at }) => ({ id, Phone: phones[0], Mobile: phones[1] ?? null, Created_Time: at })); // prettier-ignore
      return data.length === 0 ? { status: 204 } : { status: 200, body: { data } };
    }
    if (path !== '/crm/v8/Calls/upsert' || method !== 'POST') return { status: 404, body: {} };
    const { data, duplicate_check_fields: keys } = body as { data: Record<string, unknown>[]; duplicate_check_fields: string[] }; // prettier-ignore
    if (keys[0] !== 'Trunkline_Call_Id') return { status: 400, body: {} };
    const results = data.map((fields) => {
      if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/.test(String(fields['Call_Start_Time'])))
        return { code: 'INVALID_DATA', status: 'error', message: 'invalid data', details: {} };
      const known = this.#calls.find((call) => call.fields['Trunkline_Call_Id'] === fields['Trunkline_Call_Id']); // prettier-ignore
      const call = known ?? { id: this.newId(), fields };
      if (known) Object.assign(known.fields, fields);
      else this.#calls.push(call);
      return { code: 'SUCCESS', status: 'success', details: { id: call.id } };
    });
    return { status: 200, body: { data: results } };
  }
}
