import { CrmDouble, digits, type CrmAsked, type KeptRecord, type CrmAnswer } from './double.ts';

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
    if (path === '/crm/v3/objects/contacts/search' && method === 'POST')
      return this.#search(body as Search);
    if (path === '/crm/v3/objects/calls/batch/upsert' && method === 'POST')
      return this.#upsert((body as { inputs: { id: string; idProperty: string; properties: Record<string, unknown> }[] }).inputs); // prettier-ignore
    const pair = /^\/crm\/v4\/objects\/calls\/(\w+)\/associations\/default\/contacts\/(\w+)$/.exec(path); // prettier-ignore
    if (pair && method === 'PUT') {
      const call = this.#calls.find(({ id }) => id === pair[1]);
      if (!call || !this.people.some(({ id }) => id === pair[2])) return { status: 404, body: {} };
      call.contacts.add(pair[2] ?? '');
      return { status: 200, body: {} };
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
    const results = hits.slice(0, limit).map(({ id, phones, at }) => ({
      id,
      properties: Object.fromEntries(
        Object.entries({ phone: phones[0], mobilephone: phones[1], createdate: at }).filter(
          ([name]) => properties.includes(name),
        ),
      ),
    }));
    return { status: 200, body: { total: hits.length, results } };
  }

  #upsert(
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
      if (idProperty !== 'trunkline_call_id') throw new Error('no unique property');
      if (Object.values(properties).some((value) => typeof value !== 'string'))
        throw new Error('every property is a string');
      const known = this.#calls.find((call) => call.properties[idProperty] === id);
      const call = known ?? { id: this.newId(), properties: {}, contacts: new Set<string>() };
      if (!known) this.#calls.push(call);
      Object.assign(call.properties, properties, { [idProperty]: id });
      return { id: call.id, new: !known, properties: call.properties };
    });
    return { status: 200, body: { status: 'COMPLETE', results } };
  }
}
