import {
  CrmDouble,
  digits,
  ofCall,
  type CrmAsked,
  type KeptRecord,
  type KeptTask,
  type CrmAnswer,
} from './double.ts';

type HubspotCall = { id: string; properties: Record<string, string>; contacts: Set<string> };
type Search = {
  filterGroups: { filters: { propertyName: string; operator: string; value: string }[] }[];
  properties: string[];
  sorts: unknown[];
  limit: number;
  after: string;
};

/** Calls with a unique property, batches that answer 207, and associations that may be repeated. */
export class HubspotDouble extends CrmDouble {
  readonly setting = { name: 'crm', preset: 'hubspot', token: 'pat-na1-0123456789abcdef' };
  readonly #calls: HubspotCall[] = [];
  readonly #tasks: HubspotCall[] = [];
  /** True to refuse the next batch inside a 207. */
  refuseNext = false;

  recordsOf(callId: string): KeptRecord[] {
    return this.#calls
      .filter(({ properties }) => properties['trunkline_call_id'] === callId)
      .map(({ id, properties, contacts }) => ({
        id,
        text: properties['hs_call_body'] ?? '',
        contact: [...contacts].join(' ') || undefined,
      }));
  }

  tasksOf(callId: string): KeptTask[] {
    return ofCall(this.#tasks, callId, ({ properties }) => properties['trunkline_task_id']).map(
      ({ properties, contacts }) => ({
        title: properties['hs_task_subject'] ?? '',
        until: properties['hs_timestamp']?.slice(0, 10),
        contact: [...contacts].join(' ') || undefined,
        isOpen: properties['hs_task_status'] === 'NOT_STARTED',
      }),
    );
  }

  doTasks(callId: string): void {
    for (const { properties } of this.#tasks)
      if (properties['trunkline_task_id']?.startsWith(`${callId}.`) === true)
        properties['hs_task_status'] = 'COMPLETED';
  }

  override remove(id: string): void {
    this.#calls.splice(
      this.#calls.findIndex((call) => call.id === id),
      1,
    );
  }

  protected proves({ headers }: CrmAsked): boolean {
    return headers['authorization'] === `Bearer ${this.setting.token}`;
  }

  protected rules({ method, path, body }: CrmAsked): CrmAnswer {
    if (path === '/crm/v3/objects/tickets/search' && method === 'POST')
      return {
        status: 200,
        body: { results: [{ id: '900', properties: { subject: 'Broken kettle' } }] },
      };
    if (path === '/crm/v3/objects/contacts/search' && method === 'POST')
      return this.#search(body as Search);
    const batch = /^\/crm\/v3\/objects\/(calls|tasks)\/batch\/upsert$/.exec(path)?.[1];
    if (batch !== undefined && method === 'POST')
      return this.#upsert(batch === 'calls' ? this.#calls : this.#tasks, batch === 'calls' ? 'trunkline_call_id' : 'trunkline_task_id', (body as { inputs: { id: string; idProperty: string; properties: Record<string, unknown> }[] }).inputs); // prettier-ignore
    const pair = /^\/crm\/v4\/objects\/(calls|tasks)\/(\w+)\/associations\/default\/contacts\/(\w+)$/.exec(path); // prettier-ignore
    if (pair && method === 'PUT') {
      const call = (pair[1] === 'calls' ? this.#calls : this.#tasks).find(
        ({ id }) => id === pair[2],
      );
      if (!call || !this.people.some(({ id }) => id === pair[3])) return { status: 404, body: {} };
      call.contacts.add(pair[3] ?? '');
      return { status: 200, body: {} };
    }
    const gone = /^\/crm\/v3\/objects\/(calls|tasks)\/(\w+)$/.exec(path);
    if (gone && method === 'DELETE') {
      const kept = gone[1] === 'calls' ? this.#calls : this.#tasks;
      const at = kept.findIndex(({ id }) => id === gone[2]);
      if (at >= 0) kept.splice(at, 1);
      return { status: 204 };
    }
    return { status: 404, body: { message: 'no such path' } };
  }

  #search({ filterGroups, limit, after, sorts, properties }: Search): CrmAnswer {
    if (
      filterGroups.length > 6 ||
      !Array.isArray(sorts) ||
      limit > 200 ||
      typeof after !== 'string'
    )
      return { status: 400, body: { message: 'invalid search' } };
    const hits = this.people.filter(({ phones }) =>
      filterGroups.some(({ filters }) =>
        filters.every(({ propertyName, value }) => {
          const typed = propertyName === 'mobilephone' ? phones[1] : phones[0];
          if (typed === undefined) return false;
          return propertyName === 'hs_searchable_calculated_phone_number'
            ? phones.some((phone) => digits(phone).endsWith(value))
            : typed === value;
        }),
      ),
    );
    const results = hits.slice(0, limit).map(({ id, phones, at, name }) => ({
      id,
      properties: Object.fromEntries(
        Object.entries({
          phone: phones[0],
          mobilephone: phones[1],
          createdate: at,
          lastname: name,
          company: name && 'Acme Ltd',
        }).filter(([name]) => properties.includes(name)),
      ),
    }));
    return { status: 200, body: { total: hits.length, results } };
  }

  #upsert(
    kept: HubspotCall[],
    unique: string,
    inputs: { id: string; idProperty: string; properties: Record<string, unknown> }[],
  ): CrmAnswer {
    if (this.refuseNext) {
      this.refuseNext = false;
      return {
        status: 207,
        body: { status: 'COMPLETE', results: [], numErrors: 1, errors: [{ message: 'Property values were not valid' }] },
      }; // prettier-ignore
    }
    const results = inputs.map(({ id, idProperty, properties }) => {
      if (idProperty !== unique) throw new Error('no unique property');
      if (Object.values(properties).some((value) => typeof value !== 'string'))
        throw new Error('every property is a string');
      if (unique === 'trunkline_task_id' && !('hs_timestamp' in properties))
        throw new Error('a task has a day');
      const known = kept.find((call) => call.properties[idProperty] === id);
      const call = known ?? { id: this.newId(), properties: {}, contacts: new Set<string>() };
      if (!known) kept.push(call);
      Object.assign(call.properties, properties, { [idProperty]: id });
      return { id: call.id, new: !known, properties: call.properties };
    });
    return { status: 200, body: { status: 'COMPLETE', results } };
  }
}
