import type { CallContact } from '../../protocol/contact.ts';
import type { BridgeConfig } from '../config.ts';
import type { CallEvents } from '../events/call-events.ts';
import type { CallRecord } from '../records/call-record.ts';
import type { CallLanguage } from './call-language.ts';
import type { CallLeg } from './call-leg.ts';
import { changeRequests } from './new-leg.ts';
import type { CallEnvironment } from './environment.ts';
import { withVocabulary } from '../session/session-request.ts';

type ContactSearchOptions = {
  env: Pick<CallEnvironment, 'contacts'> & { config: BridgeConfig };
  record: CallRecord;
  events: Pick<CallEvents, 'overridesChanged' | 'changed'>;
  /** Their sessions listen for the names from now on. */
  legs: () => readonly CallLeg[];
  language: Pick<CallLanguage, 'changedTo'>;
};

/** Shorter parts of a name are ordinary words too often. */
const minNameLetters = 4;

/**
 * Finds out who the other party of a call is. The call does not wait for it: the name comes to the page, and to the
 * sessions of the call, when the CRM has answered.
 */
export class ContactSearch {
  readonly #options: ContactSearchOptions;
  #lookedUp: string | undefined;

  constructor(options: ContactSearchOptions) {
    this.#options = options;
  }

  /** Looks the other party up, once for each number that it turns out to have. */
  async look(): Promise<void> {
    const { env, record, events, legs, language } = this.#options;
    const { id, direction, from, to, startedAt } = record;
    const number = direction === 'outbound' ? to : from;
    if (record.contact !== undefined || number === undefined || number === this.#lookedUp) return;
    this.#lookedUp = number;
    const contact = await env.contacts.find({ id, direction, from, to, startedAt });
    // A callback may have told meanwhile that the other party has another number.
    if (contact === undefined || number !== this.#lookedUp) return;
    record.contact = contact;
    const before = JSON.stringify(record.overrides);
    Object.assign(
      record.overrides,
      withVocabulary(env.config.session, record.overrides, namesOf(contact)),
    );
    events.overridesChanged();
    events.changed();
    if (JSON.stringify(record.overrides) !== before) changeRequests(legs(), record, env.config);
    if (contact.language !== undefined) language.changedTo(contact.language);
  }
}

/** The words to listen for: the whole name, the last part of it, and the company. */
function namesOf({ name, company }: CallContact): string[] {
  const parts = name?.split(' ') ?? [];
  const last = parts.length > 1 ? (parts.at(-1) ?? '') : '';
  return [name ?? '', last, company ?? ''].filter((one) => one.length >= minNameLetters);
}
