import type { Kysely, Transaction } from 'kysely';
import { CallRules } from '../../assist/call-rules.ts';
import type { HeardFinal } from '../../assist/heard-text.ts';
import { hitsOf } from '../../assist/hit-rows.ts';
import { articlesAsPlaybook, type Done, type Hit } from '../../assist/hits.ts';
import type { RuleSet } from '../../assist/rule-set.ts';
import { settledS } from '../../assist/trial.ts';
import { round3 } from '../../lib/round.ts';
import type { NamedEntity } from '../../protocol/addons.ts';
import { Role } from '../../protocol/events.ts';
import { keepQuestion } from '../../knowledge/question-rows.ts';
import type { Database } from '../../store/schema.ts';
import type { CallRecord } from '../records/call-record.ts';
import { utteranceIdOf, type Result, type Said } from '../records/timeline.ts';
import { callInputs } from './assist-inputs.ts';
import { KnowledgeCards, type CallKnowledge } from './knowledge-cards.ts';
import type { ToldLeg } from './told-leg.ts';

type AssistanceOptions = {
  set: RuleSet;
  record: CallRecord;
  /** Stores a hit with its events, after everything that was told before. */
  tell(hit: Hit, said: Said[]): void;
  /** The articles that are shown while a customer speaks. */
  knowledge: CallKnowledge | undefined;
  /** Stores rows in the order of the call, after everything that was told before. */
  keep(rows: (tx: Transaction<Database>) => Promise<void>): void;
  now(): number;
  /** Pauses the call for so many seconds. */
  pause(seconds: number): void;
  /** Hears the call in this language from now on. */
  speakIn(language: string): void;
  /** A mistake in the rules costs no result. */
  failed(error: unknown): void;
};

/** Something that the rules hear. Its text has to be understood first, where a rule waits for a meaning. */
type HeardInput = { text?: string; hear: (direction?: HeardFinal['direction']) => void };

/** Behind so many inputs a final is heard by its words alone: the model is much too slow then. */
const maxUnderstoodWaiting = 100;
/** After a restart so many finals are understood again. Older ones have told what they meant. */
const maxUnderstoodAgain = 30;

/**
 * The rules of playbooks in one running call. They hear what everybody else reads: redacted words, in the order in
 * which they are told.
 */
export class Assistance {
  readonly #options: AssistanceOptions;
  readonly #rules: CallRules;
  readonly #cards: KnowledgeCards | undefined;
  readonly #inputs: HeardInput[] = [];
  #isUnderstanding = false;
  #isRestoring = false;
  #settled = Promise.withResolvers<undefined>();

  constructor(options: AssistanceOptions) {
    this.#options = options;
    const { record } = options;
    const { direction = null, carrier, to = null, metadata } = record;
    this.#rules = new CallRules(options.set, {
      ...{ direction, carrier, to, metadata },
      get language() {
        return record.language ?? null;
      },
    });
    const { knowledge } = options;
    this.#cards =
      knowledge &&
      new KnowledgeCards({
        knowledge,
        // The card takes its place behind finals that are still being understood.
        show: (hit) => this.#after(() => this.#tell(this.#rules.offer(hit))),
        unanswered: (question) =>
          options.keep((tx) =>
            keepQuestion(tx, { callId: options.record.id, atMs: options.now(), ...question }),
          ),
        failed: (error) => options.failed(error),
      });
  }

  get isIdle(): boolean {
    return this.#rules.isIdle && this.#cards === undefined;
  }

  /** Hears what a leg's session brought. */
  take(leg: ToldLeg, result: Result): void {
    if (this.isIdle) return;
    const { sessionId, channel, start, end } = result;
    const legId = leg.record.id;
    const role = leg.roleOf(channel);
    const utteranceId = utteranceIdOf(legId, sessionId, result.data.utterance_id);
    if (result.type === 'call.transcript') {
      // The wordings of a playbook are those of speech.
      const text = result.spoken ?? result.text;
      const final = { utteranceId, legId, role, start, end, text };
      this.#take(role, text, (direction) => this.#heard({ ...final, direction }));
    }
    if (result.type === 'call.sentiment')
      this.#after(() => {
        for (const { sentiment } of result.data.results) this.#felt(role, end, sentiment);
      });
    if (result.type === 'call.entities')
      this.#after(() => {
        for (const entity of result.data.results) this.#entity(role, utteranceId, entity);
      });
  }

  /** Resolves when everything that came so far has been heard. */
  async settled(): Promise<void> {
    if (this.#isUnderstanding) await this.#settled.promise;
  }

  #take(role: string, text: string, hear: (direction?: HeardFinal['direction']) => void): void {
    const isUnderstood = this.#inputs.length < maxUnderstoodWaiting && this.#options.set.means.wants(role, text); // prettier-ignore
    this.#inputs.push(isUnderstood ? { text, hear } : { hear });
    this.#work();
  }

  /** Everything keeps its order: nothing overtakes a final that is being understood, which takes 0.3 s at most. */
  #after(hear: () => void): void {
    this.#inputs.push({ hear });
    this.#work();
  }

  #work(): void {
    while (!this.#isUnderstanding) {
      const input = this.#inputs.shift();
      if (input === undefined) return;
      if (input.text === undefined) this.#hear(input);
      else void this.#understand(input.text, input);
    }
  }

  async #understand(text: string, input: HeardInput): Promise<void> {
    this.#begin();
    const direction = await this.#options.set.means.live(text).catch(() => undefined);
    this.#hear(input, direction);
    this.#end();
  }

  /** A mistake in the rules must cost no result. */
  #hear(input: HeardInput, direction?: HeardFinal['direction']): void {
    try {
      input.hear(direction);
    } catch (error) {
      this.#options.failed(error);
    }
  }

  #begin(): void {
    this.#isUnderstanding = true;
  }

  /** Hears what came meanwhile. */
  #end(): void {
    this.#isUnderstanding = false;
    this.#work();
    if (this.#isUnderstanding) return;
    this.#settled.resolve(undefined);
    this.#settled = Promise.withResolvers();
  }

  #heard(final: HeardFinal): void {
    this.#tell(this.#rules.heard(final));
    if (!this.#isRestoring) this.#cards?.heard(final);
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
    this.#after(() => this.#tell(this.#rules.pressed(atS)));
  }

  /** Judges what depends on time, once the finals of that time have come. */
  tick(nowS: number): void {
    if (!this.isIdle) this.#after(() => this.#advance(nowS));
  }

  #advance(nowS: number): void {
    this.#tell(this.#rules.advance(nowS - settledS));
    if (!this.#isRestoring) this.#cards?.ask(nowS);
  }

  /** Hears again what an earlier process heard. Its hits have the same keys, and only those that are missing are told. */
  async restore(db: Kysely<Database>): Promise<void> {
    if (this.isIdle) return;
    this.#begin();
    this.#isRestoring = true;
    try {
      await this.#hearAgain(db);
    } finally {
      this.#isRestoring = false;
      this.#end();
    }
  }

  async #hearAgain(db: Kysely<Database>): Promise<void> {
    const { record, set } = this.#options;
    const inputs = await callInputs(db, record.id);
    const again = new Set(inputs.filter(({ kind }) => kind === 'final').slice(-maxUnderstoodAgain));
    const hits = await hitsOf(db, record.id);
    const told = Map.groupBy(
      hits.filter(({ cause }) => cause.by === 'meaning'),
      ({ cause }) => cause.utterance_id,
    );
    for (const input of inputs) {
      this.#advance(input.end);
      if (input.kind === 'final') {
        const { role, text, utteranceId } = input;
        const isUnderstood = again.has(input) && set.means.wants(role, text);
        this.#cards?.remember(input);
        this.#heard(isUnderstood ? { ...input, direction: await set.means.live(text) } : input);
        for (const hit of told.get(utteranceId) ?? []) this.#rules.restored(hit);
      }
      if (input.kind === 'sentiment') this.#felt(input.role, input.end, input.sentiment);
      if (input.kind === 'dtmf') this.#tell(this.#rules.pressed(input.end));
      if (input.kind === 'entity') {
        const { role, type, utteranceId: utterance_id, start, end } = input;
        this.#tell(this.#rules.entity(role, type, { utterance_id, start, end }));
      }
    }
    // The next second asks for the last words again, unless there was a card for them.
    for (const hit of hits) if (hit.playbook === articlesAsPlaybook) this.#cards?.restored(hit);
  }

  #tell(hits: readonly Hit[]): void {
    for (const hit of hits) {
      const said = hit.isShadow ? [] : hit.did.flatMap((done) => toldOf(hit, done) ?? []);
      this.#options.tell(hit, said);
      if (hit.isShadow || this.#isRestoring) continue;
      for (const done of hit.did) {
        if (done.kind === 'pause') this.#options.pause(done.seconds);
        if (done.kind === 'language') this.#options.speakIn(done.language);
      }
    }
  }
}

/** The event of an action. A pause has the events that every pause has. */
function toldOf(hit: Hit, done: Done): Said | undefined {
  const { utterance_id, role, start, end, matched, score, by } = hit.cause;
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
      by,
    },
  };
  switch (done.kind) {
    case 'hint': {
      const { source, title, text, say, links, priority } = done;
      return { type: 'call.hint', data: { ...ofRule, source, title, text, say, links, priority } };
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
    case 'language':
      return undefined;
    case 'signal':
      return { type: 'call.signal', data: { ...ofRule, name: done.name, data: done.data } };
  }
}
