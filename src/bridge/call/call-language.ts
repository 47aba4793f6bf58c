import { callLanguageOf } from '../records/leg-language.ts';
import type { BridgeConfig } from '../config.ts';
import type { CallEvents } from '../events/call-events.ts';
import type { CallRecord } from '../records/call-record.ts';
import { callOverrides, languageOverrides, numberLanguages } from '../session/session-request.ts';
import type { CallLeg } from './call-leg.ts';
import { changeRequests, languagesOf } from './new-leg.ts';

type CallLanguageOptions = {
  config: BridgeConfig;
  record: CallRecord;
  events: Pick<CallEvents, 'changed' | 'count' | 'languageKnown' | 'overridesChanged'>;
  legs: () => readonly CallLeg[];
};

/** The languages of one call: which are asked for, and which are spoken. */
export class CallLanguage {
  readonly #options: CallLanguageOptions;

  constructor(options: CallLanguageOptions) {
    this.#options = options;
  }

  /** A leg begins, or its request has changed. A request for one language makes it the language of the leg. */
  asked(leg: CallLeg): void {
    const { record, config } = this.#options;
    if (leg.language.asked(languagesOf(record, config))) this.known(leg);
  }

  /** The language of a leg is another one now. */
  known(leg: CallLeg): void {
    const { record, events, legs } = this.#options;
    record.language = callLanguageOf([...new Set([...legs(), leg])]) ?? record.language;
    events.languageKnown(leg);
    events.changed();
  }

  /** The carrier changes the language. The operator may have forbidden it. */
  changedByCarrier(code: string): void {
    const { events, config } = this.#options;
    events.count('language');
    this.#change(callOverrides({ language: code }, config.callParameters).overrides);
  }

  /** A rule of a playbook or the CRM names the language. */
  changedTo(named: string): void {
    const overrides = languageOverrides(named);
    if (overrides !== undefined) this.#change(overrides);
  }

  /** A callback told the numbers of the call. What the call itself has asked for stays. */
  numbersLearnt(): void {
    const { record, config } = this.#options;
    if (record.overrides['language_config'] !== undefined) return;
    const overrides = numberLanguages(config.numberLanguages, record);
    if (overrides !== undefined) this.#change(overrides);
  }

  /** The legs go on in this language from the next frame on. Each leg starts a new session. */
  #change(overrides: Record<string, unknown>): void {
    const { record, events, legs, config } = this.#options;
    const before = JSON.stringify(record.overrides);
    Object.assign(record.overrides, overrides);
    if (JSON.stringify(record.overrides) === before) return;
    events.overridesChanged();
    changeRequests(legs(), record, config);
    for (const leg of legs()) if (!leg.isDone) this.asked(leg);
  }
}
