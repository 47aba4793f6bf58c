import {
  CrmDouble,
  digits,
  ofCall,
  type CrmAsked,
  type KeptRecord,
  type KeptTask,
  type CrmAnswer,
} from './double.ts';

type Task = { Id: string; key: string; fields: Record<string, unknown> };

/** Tasks under an external id, and access tokens from client credentials that expire. */
export class SalesforceDouble extends CrmDouble {
  readonly setting = {
    name: 'crm',
    preset: 'salesforce',
    options: { domain: 'example' },
    auth: {
      kind: 'client_credentials' as const,
      clientId: 'consumer-key',
      clientSecret: 'consumer-secret-0123456789',
    },
  };
  readonly #tasks: Task[] = [];
  #access = 'access-token-of-the-crm';
  /** An answer that shows the proof of its request. */
  repeatsProof = false;

  recordsOf(callId: string): KeptRecord[] {
    return this.#tasks
      .filter(({ key }) => key === callId)
      .map(({ Id, fields }) => ({
        id: Id,
        text: String(fields['Description']),
        contact: fields['WhoId'] as string | undefined,
      }));
  }

  tasksOf(callId: string): KeptTask[] {
    return ofCall(this.#tasks, callId, ({ key }) => key).map(({ fields }) => ({
      title: String(fields['Subject']),
      until: fields['ActivityDate'] as string | undefined,
      contact: fields['WhoId'] as string | undefined,
      isOpen: fields['Status'] === 'Not Started',
    }));
  }

  doTasks(callId: string): void {
    for (const { fields } of ofCall(this.#tasks, callId, ({ key }) => key))
      fields['Status'] = 'Completed';
  }

  override remove(id: string): void {
    this.#tasks.splice(
      this.#tasks.findIndex((task) => task.Id === id),
      1,
    );
  }

  override expire(): void {
    this.#access = `access-${this.newId()}`;
  }

  protected override token({ path, body }: CrmAsked): CrmAnswer | undefined {
    if (path !== '/services/oauth2/token') return undefined;
    const form = body as Record<string, string>;
    if (
      form['grant_type'] !== 'client_credentials' ||
      form['client_secret'] !== this.setting.auth.clientSecret
    )
      // prettier-ignore
      return { status: 400, body: { error: 'invalid_client' } };
    return { status: 200, body: { access_token: this.#access, instance_url: 'https://example.my.salesforce.com' } }; // prettier-ignore
  }

  protected proves({ headers }: CrmAsked): boolean {
    return headers['authorization'] === `Bearer ${this.#access}`;
  }

  protected rules({ method, path, query, headers, body }: CrmAsked): CrmAnswer {
    if (this.repeatsProof)
      return { status: 400, body: [{ errorCode: 'BAD', message: `not with ${headers['authorization'] ?? ''}` }] }; // prettier-ignore
    if (path.endsWith('/query') && method === 'GET')
      return { status: 200, body: { records: [{ Id: '900', Subject: 'Broken kettle' }] } };
    if (path.endsWith('/parameterizedSearch/') && method === 'GET') {
      const wanted = query.get('q') ?? '';
      const searchRecords = this.people
        .filter(({ phones }) => phones.some((phone) => digits(phone).endsWith(wanted)))
        .map(({ id, phones, at, name }) => ({ attributes: { type: 'Contact' }, Id: id, Name: name, Phone: phones[0], MobilePhone: phones[1] ?? null, HomePhone: null, OtherPhone: null, CreatedDate: at })); // prettier-ignore
      return { status: 200, body: { searchRecords } };
    }
    const key = /\/sobjects\/Task\/Trunkline_Call_Id__c\/([\w.]{1,64})$/.exec(path)?.[1];
    const gone = /\/sobjects\/Task\/(00T\w+)$/.exec(path)?.[1];
    if (gone !== undefined && method === 'DELETE') {
      if (!this.#tasks.some(({ Id }) => Id === gone)) return { status: 404, body: [{ errorCode: 'ENTITY_IS_DELETED' }] }; // prettier-ignore
      this.remove(gone);
      return { status: 204 };
    }
    if (key !== undefined && method === 'DELETE') {
      const one = this.#tasks.find((task) => task.key === key);
      if (!one) return { status: 404, body: [{ errorCode: 'NOT_FOUND' }] };
      this.remove(one.Id);
      return { status: 204 };
    }
    if (key === undefined || method !== 'PATCH') return { status: 404, body: [{ errorCode: 'NOT_FOUND' }] }; // prettier-ignore
    const fields = body as Record<string, unknown>;
    // A key in the address must not also stand in the body.
    if ('Trunkline_Call_Id__c' in fields) return { status: 400, body: [{ errorCode: 'INVALID_FIELD' }] }; // prettier-ignore
    if (String(fields['Description']).length > 32_000)
      return { status: 400, body: [{ errorCode: 'STRING_TOO_LONG' }] };
    const same = this.#tasks.filter((task) => task.key === key);
    if (same.length > 1) return { status: 300, body: same.map(({ Id }) => Id) };
    const known = same[0];
    if (known) Object.assign(known.fields, fields);
    const task = known ?? { Id: `00T${this.newId()}`, key, fields };
    if (!known) this.#tasks.push(task);
    return { status: known ? 200 : 201, body: { id: task.Id, success: true, errors: [] } };
  }
}
