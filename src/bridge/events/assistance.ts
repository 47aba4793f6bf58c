import type { Kysely } from 'kysely';
import { CallRules } from '../../assist/call-rules.ts';
import type { HeardFinal } from '../../assist/heard-text.ts';
import type { Done, Hit } from '../../assist/hits.ts';
import type { RuleSet } from '../../assist/rule-set.ts';
import { settledS } from '../../assist/trial.ts';
import { round3 } from '../../lib/round.ts';
import type { NamedEntity } from '../../protocol/addons.ts';
import { Role } from '../../protocol/events.ts';
import type { Database } from '../../store/schema.ts';
import type { CallRecord } from '../records/call-record.ts';
import { utteranceIdOf, type Result, type Said } from '../records/timeline.ts';
import { callInputs } from './assist-inputs.ts';
import type { ToldLeg } from './told-leg.ts';

type AssistanceOptions = {
  set: RuleSet;
  record: CallRecord;
  /** Stores a hit with its events, after everything that was told before. */
  tell(hit: Hit, said: Said[]): void;
  /** Pauses the call for so many seconds. */
  pause(seconds: number): void;
};

/**
 * The rules of playbooks in one running call. They hear what everybody else reads: redacted words, in the order in
 * which they are told.
 */
export class Assistance {
  readonly #options: AssistanceOptions;
  readonly #rules: CallRules;
  #isRestoring = false;

  constructor(options: AssistanceOptions) {
    this.#options = options;
    const { direction = null, carrier, to = null, metadata } = options.record;
    this.#rules = new CallRules(options.set, { direction, carrier, to, metadata });
  }

  get isIdle(): boolean {
    return this.#rules.isIdle;
  }

  /** Hears what a leg's session brought. */
  take(leg: ToldLeg, result: Result): void {
    if (this.isIdle) return;
    const { sessionId, channel, start, end } = result;
    const legId = leg.record.id;
    const role = leg.roleOf(channel);
    const utteranceId = utteranceIdOf(legId, sessionId, result.data.utterance_id);
    if (result.type === 'call.transcript')
      // The wordings of a playbook are those of speech.
      this.#heard({ utteranceId, legId, role, start, end, text: result.spoken ?? result.text });
    if (result.type === 'call.sentiment')
      for (const { sentiment } of result.data.results) this.#felt(role, end, sentiment);
    if (result.type === 'call.entities')
      for (const entity of result.data.results) this.#entity(role, utteranceId, entity);
  }

  #heard(final: HeardFinal): void {
    this.#tell(this.#rules.heard(final));
  }

  #felt(role: string, end: number, sentiment: string): void {
    this.#tell(this.#rules.felt(role, end, sentiment));
  }

  #entity(role: string, utterance_id: string, { entity_type, start, end }: NamedEntity): void {
    this.#tell(this.#rules.entity(role, entity_type, { utterance_id, start, end }));
  }

  speaking(atS: number): void {
    this.#rules.speaking(atS);
  }

  pressed(atS: number): void {
    this.#tell(this.#rules.pressed(atS));
  }

  /** Judges what depends on time, once the finals of that time have come. */
  tick(nowS: number): void {
    if (!this.isIdle) this.#tell(this.#rules.advance(nowS - settledS));
  }

  /** Hears again what an earlier process heard. Its hits have the same keys, and only those that are missing are told. */
  async restore(db: Kysely<Database>): Promise<void> {
    if (this.isIdle) return;
    this.#isRestoring = true;
    for (const input of await callInputs(db, this.#options.record.id)) {
      this.tick(input.end);
      if (input.kind === 'final') this.#heard(input);
      if (input.kind === 'sentiment') this.#felt(input.role, input.end, input.sentiment);
    }
    this.#isRestoring = false;
  }

  #tell(hits: readonly Hit[]): void {
    for (const hit of hits) {
      const said = hit.isShadow ? [] : hit.did.flatMap((done) => toldOf(hit, done) ?? []);
      this.#options.tell(hit, said);
      if (hit.isShadow || this.#isRestoring) continue;
      for (const done of hit.did) if (done.kind === 'pause') this.#options.pause(done.seconds);
    }
  }
}

/** The event of an action. A pause has the events that every pause has. */
function toldOf(hit: Hit, done: Done): Said | undefined {
  const { utterance_id, role, start, end, matched, score } = hit.cause;
  const ofRule = {
    hit_id: hit.key,
    rule: hit.rule,
    playbook: hit.playbook,
    version: hit.version,
    digest: hit.digest,
    at: round3(hit.at),
    cause: {
      utterance_id,
      role: Role.optional().parse(role),
      start: round3(start),
      end: round3(end),
      matched,
      score,
    },
  };
  switch (done.kind) {
    case 'hint': {
      const { title, text, say, links, priority } = done;
      return { type: 'call.hint', data: { ...ofRule, title, text, say, links, priority } };
    }
    case 'alert': {
      const { level, title, text } = done;
      return { type: 'call.alert', data: { ...ofRule, level, title, text } };
    }
    case 'step': {
      const { checklist, step, title } = done;
      return { type: 'call.checklist', data: { ...ofRule, checklist, step, title, state: 'done' } };
    }
    case 'tag':
      return { type: 'call.tagged', data: { ...ofRule, added: [done.tag] } };
    case 'pause':
      return undefined;
    case 'signal':
      return { type: 'call.signal', data: { ...ofRule, name: done.name, data: done.data } };
  }
}
