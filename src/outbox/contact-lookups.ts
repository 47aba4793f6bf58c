import type { TokenRows } from '../crm/token-rows.ts';
import { wait, type Clock } from '../lib/clock.ts';
import { reasonOf } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import type { CallContact, LookedUpCall } from '../protocol/contact.ts';
import type { Endpoint } from './config.ts';
import { ContactLookup, lookupDeadlineMs } from './contact-lookup.ts';
import type { WebhookClient } from './sender.ts';

/** Further calls that begin at the same time get no contact: a slow CRM must not make a queue. */
const maxLookupsAtOnce = 32;

type ContactLookupsOptions = {
  /** The endpoints of now: some may be connected while the process runs. */
  endpoints: () => readonly Endpoint[];
  tokens: TokenRows | undefined;
  client?: WebhookClient | undefined;
  clock: Clock;
  log: Logger;
};

/** Looks up who calls, at every CRM that is connected by a preset. The first of them that knows the number tells. */
export class ContactLookups implements AsyncDisposable {
  readonly #options: ContactLookupsOptions;
  readonly #lookups = new Map<string, ContactLookup>();
  readonly #ended = new AbortController();
  #running = 0;

  constructor(options: ContactLookupsOptions) {
    this.#options = options;
  }

  /** Undefined where no CRM knows exactly one contact with the number in time. Never rejects. */
  async find(call: LookedUpCall): Promise<CallContact | undefined> {
    const { clock, log } = this.#options;
    const number = call.direction === 'outbound' ? call.to : call.from;
    const lookups = this.#current();
    if (number === undefined || lookups.length === 0) return undefined;
    if (this.#running >= maxLookupsAtOnce) return undefined;
    this.#running++;
    const deadline = new AbortController();
    const signal = AbortSignal.any([deadline.signal, this.#ended.signal]);
    const late = wait(clock, lookupDeadlineMs, signal).then(() => {
      deadline.abort();
      return undefined;
    });
    try {
      const all = lookups.map((lookup) =>
        lookup.find(call, signal).catch((error: unknown) => {
          const { name } = lookup.endpoint;
          log.info({ endpoint: name, callId: call.id, reason: reasonOf(error).slice(0, 200) }, 'contact was not looked up'); // prettier-ignore
          return undefined;
        }),
      );
      for (const one of all) {
        const contact = await Promise.race([one, late]);
        if (contact !== undefined) return contact;
      }
      return undefined;
    } finally {
      this.#running--;
      deadline.abort();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort();
    await Promise.all([...this.#lookups.values()].map((one) => one[Symbol.asyncDispose]()));
    this.#lookups.clear();
  }

  #current(): ContactLookup[] {
    const { endpoints, clock, tokens, client } = this.#options;
    const all = endpoints();
    for (const [name, lookup] of this.#lookups)
      if (!all.includes(lookup.endpoint)) {
        this.#lookups.delete(name);
        void lookup[Symbol.asyncDispose]();
      }
    return all.flatMap((endpoint) => {
      const steps = endpoint.lookup;
      if (steps === undefined) return [];
      const known = this.#lookups.get(endpoint.name);
      if (known !== undefined) return [known];
      const lookup = new ContactLookup({ endpoint, steps, clock, tokens, client });
      this.#lookups.set(endpoint.name, lookup);
      return [lookup];
    });
  }
}
