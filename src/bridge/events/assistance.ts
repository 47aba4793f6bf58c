import type { Kysely, Transaction } from 'kysely';
import { CallRules } from '../../assist/call-rules.ts';
import type { HeardFinal } from '../../assist/heard-text.ts';
import { hitsOf } from '../../assist/hit-rows.ts';
import { arrivalOf, heardBy, inOrder, type RuleInput } from '../../assist/rule-inputs.ts';
import { articlesAsPlaybook, type Done, type Hit } from '../../assist/hits.ts';
import type { RuleSet } from '../../assist/rule-set.ts';
import { round3 } from '../../lib/round.ts';
import type { NamedEntity } from '../../protocol/addons.ts';
import { Role } from '../../protocol/events.ts';
import { keepQuestion } from '../../knowledge/question-rows.ts';
import type { Database } from '../../store/schema.ts';
import type { CallRecord } from '../records/call-record.ts';
import { utteranceIdOf, type Result, type Said } from '../records/timeline.ts';
import { storableText } from '../../lib/storable.ts';
import { Arrivals, insertMoment, type HeardNote } from './arrivals.ts';
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
  /** The present time in seconds of the call. */
  nowS: () => number;
  /** Pauses the call for so many seconds. */
  pause(seconds: number): void;
  /** Hears the call in this language from now on. */
  speakIn(language: string): void;
  /** A mistake in the rules costs no result. */
  failed(error: unknown): void;
};

/** Something that the rules hear. Its text has to be understood first, where a rule waits for a meaning. */
type HeardInput = {
  /** When it reached the rules, in milliseconds of the call. */
  ms: number;
  text?: string;
  hear: (direction?: HeardFinal['direction']) => void;
};

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
  readonly #arrivals: Arrivals;
  readonly #inputs: HeardInput[] = [];
  /** The language of the call as the rules know it. */
  #language: string | undefined;
  #isUnderstanding = false;
  #isRestoring = false;
  #settled = Promise.withResolvers<undefined>();

  constructor(options: AssistanceOptions) {
    this.#options = options;
    const { record } = options;
    const { direction = null, carrier, to = null, metadata } = record;
    const scope = { direction, carrier, to, metadata, language: null };
    this.#rules = new CallRules(options.set, scope);
    const { knowledge, nowS } = options;
    this.#arrivals = new Arrivals({
      nowS,
      keep: (moment) => options.keep((tx) => insertMoment(tx, record.id, moment)),
    });
    this.#cards =
      knowledge &&
      new KnowledgeCards({
        knowledge,
        // The card takes its place behind finals that are still being understood.
        show: (hit) => this.#after(this.#arrivals.ofMoment('card', hit.at), () => this.#tell(this.#rules.offer(hit))), // prettier-ignore
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

  /** Notes when a result came, for its row. Undefined for what came before, or says nothing to rules. */
  arrival(leg: ToldLeg, { type, sessionId, data, end }: Result): HeardNote | undefined {
    if (type === 'call.translation') return undefined;
    this.#learnLanguage();
    const utteranceId = utteranceIdOf(leg.record.id, sessionId, data.utterance_id);
    return this.#arrivals.ofResult(`${type}@${utteranceId}`, end);
  }

  /** Hears what a leg's session brought. */
  take(leg: ToldLeg, result: Result, { ms }: Pick<HeardNote, 'ms'>): void {
    if (this.isIdle) return;
    const { sessionId, channel, start, end } = result;
    const legId = leg.record.id;
    const role = leg.roleOf(channel);
    const utteranceId = utteranceIdOf(legId, sessionId, result.data.utterance_id);
    if (result.type === 'call.transcript') {
      // The wordings of a playbook are those of speech, as the row keeps them.
      const text = storableText(result.spoken ?? result.text);
      const final = { utteranceId, legId, role, start, end, text };
      this.#take(ms, final);
    }
    if (result.type === 'call.sentiment')
      this.#after(ms, () => {
        for (const { sentiment } of result.data.results) this.#felt(role, end, sentiment);
      });
    if (result.type === 'call.entities')
      this.#after(ms, () => {
        for (const entity of result.data.results) this.#entity(role, utteranceId, entity);
      });
  }

  /** Resolves when everything that came so far has been heard. */
  async settled(): Promise<void> {
    if (this.#isUnderstanding) await this.#settled.promise;
  }

  #take(ms: number, final: HeardFinal): void {
    const { role, text } = final;
    const isWanted = this.#options.set.means.wants(role, text);
    const isUnderstood = isWanted && this.#inputs.length < maxUnderstoodWaiting;
    const hear = (direction?: HeardFinal['direction']): void => {
      if (isWanted && direction === undefined) this.#noteBlind(ms);
      this.#heard({ ...final, direction });
    };
    this.#inputs.push(isUnderstood ? { ms, text, hear } : { ms, hear });
    this.#work();
  }

  /** The model was not in time: whoever hears the call again takes the final by its words alone too. */
  #noteBlind(ms: number): void {
    const { id } = this.#options.record;
    this.#options.keep((tx) => insertMoment(tx, id, { heard_ms: ms, kind: 'blind', at_ms: ms }));
  }

  /** Everything keeps its order: nothing overtakes a final that is being understood, which takes 0.3 s at most. */
  #after(ms: number, hear: () => void): void {
    this.#inputs.push({ ms, hear });
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
      this.#reach(input.ms / 1_000);
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
    const speech = this.#arrivals.ofSpeech(atS);
    if (speech === undefined || this.isIdle) return;
    this.#after(speech.heard, () => this.#rules.speaking(speech.at));
  }

  pressed(atS: number): void {
    const ms = this.#arrivals.ofMoment('dtmf', atS);
    if (!this.isIdle) this.#after(ms, () => this.#tell(this.#rules.pressed(atS)));
  }

  /** Judges what depends on time, once the finals of that time have come. */
  tick(nowS: number): void {
    if (this.isIdle) return;
    this.#arrivals.passed(nowS);
    this.#after(Math.round(nowS * 1_000), () => {
      if (!this.#isRestoring) this.#cards?.ask(nowS);
    });
  }

  /** Time says nothing any more. Finals of what was said before may still come. */
  hungUp(): void {
    const ms = this.#arrivals.ofMoment('hang-up', this.#options.nowS());
    if (!this.isIdle) this.#after(ms, () => this.#rules.hungUp());
  }

  #reach(heardS: number): void {
    for (const hits of this.#rules.reach(heardS)) this.#tell(hits);
  }

  /** The language of a call turns out while it is spoken. */
  #learnLanguage(): void {
    const { language } = this.#options.record;
    if (language === undefined || language === this.#language) return;
    this.#language = language;
    const ms = this.#arrivals.ofMoment('language', this.#options.nowS(), language);
    if (!this.isIdle) this.#after(ms, () => this.#rules.spokenIn(language));
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
    for (const input of inOrder(inputs)) {
      this.#reach(arrivalOf(input));
      this.#arrivals.restored(input.heard ?? 0, keyOf(input));
      if (input.kind === 'language') this.#language = input.language;
      if (input.kind !== 'final') {
        this.#tell(heardBy(this.#rules, input));
        continue;
      }
      const { role, text, utteranceId, isBlind } = input;
      const isUnderstood = again.has(input) && !isBlind && set.means.wants(role, text);
      this.#cards?.remember(input);
      this.#heard(isUnderstood ? { ...input, direction: await set.means.live(text) } : input);
      for (const hit of told.get(utteranceId) ?? []) this.#rules.restored(hit);
    }
    // The next second asks for the last words again, unless there was a card for them.
    for (const hit of hits) if (hit.playbook === articlesAsPlaybook) this.#cards?.restored(hit);
  }

  #tell(hits: readonly Hit[]): void {
    // A silence, and what else no utterance caused, depends on when somebody spoke last.
    if (hits.some(({ cause }) => cause.utterance_id === undefined)) this.#arrivals.write();
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

/** A result that came before the restart and comes again is not heard twice. */
function keyOf(input: RuleInput): string | undefined {
  if (input.kind === 'final') return `call.transcript@${input.utteranceId}`;
  if (input.kind === 'entity') return `call.entities@${input.utteranceId}`;
  if (input.kind !== 'sentiment' || input.utteranceId === undefined) return undefined;
  return `call.sentiment@${input.utteranceId}`;
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
