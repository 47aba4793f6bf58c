import type { LanguageRunner } from '../../language/runner.ts';
import type { ValueContext } from '../../language/types.ts';
import { timelineOf } from '../../language/timing.ts';
import type { HeardEntity } from '../../language/values/over-finals.ts';
import { digestOf } from '../../lib/digest.ts';
import { utteranceIdOf, type EntityOfResult, type Result } from '../records/timeline.ts';
import { Questions } from './questions.ts';
import type { Final } from './redactor.ts';
import type { ToldLeg } from './told-leg.ts';

/**
 * One entity is joined from at most this many finals of a speaker. People say a card number in at most eight groups.
 */
export const maxFinalsJoined = 8;
/** A speaker who is silent for longer than this, in seconds, has finished the number. */
const longestPauseS = 8;

type Entities = Extract<Result, { type: 'call.entities' }>;

type EntityJoinerOptions = {
  language: LanguageRunner;
  callId: string;
  about(): ValueContext;
  failed(error: unknown): void;
};

/**
 * At most this many entities of one call wait to be joined. Above that, new entities are passed on as the service
 * returned them, in their order.
 */
export const maxEntitiesWaiting = 1_000;

/**
 * Joins the parts of an entity that was said in several finals, and normalises its value. The entity keeps the id of
 * its first part. When more of it is said, it is reported again under that id.
 */
export class EntityJoiner {
  readonly #options: EntityJoinerOptions;
  readonly #finals = new Map<string, Final[]>();
  readonly #questions = new Questions();
  #last: Promise<void> = Promise.resolve();
  #waiting = 0;

  constructor(options: EntityJoinerOptions) {
    this.#options = options;
  }

  /** Remembers a final. It must come before the add-ons about it. */
  heard(leg: ToldLeg, final: Final): void {
    const speaker = speakerOf(leg, final);
    const { text, start, end } = final;
    const finals = this.#finals.get(speaker) ?? [];
    finals.push(final);
    finals.sort((a, b) => a.start - b.start);
    this.#finals.set(speaker, finals.slice(-maxFinalsJoined));
    this.#questions.add({ speaker, text, start, end });
  }

  /**
   * Joins entities in the order in which they arrived. Entities that cannot be joined are passed on as the service
   * returned them.
   */
  join(leg: ToldLeg, entities: Entities, tell: (joined: Entities) => void): void {
    const isFull = this.#waiting >= maxEntitiesWaiting;
    this.#waiting++;
    this.#last = this.#last
      .then(async () => tell(isFull ? entities : await this.#joined(leg, entities)))
      .catch((error: unknown) => this.#options.failed(error))
      .finally(() => this.#waiting--);
  }

  /** Resolves when no entities wait. */
  async settled(): Promise<void> {
    while (this.#waiting > 0) await this.#last;
  }

  async #joined(leg: ToldLeg, entities: Entities): Promise<Entities> {
    const finals = this.#upTo(leg, entities);
    const last = finals.at(-1);
    if (last === undefined || entities.data.error !== undefined) return entities;
    const { language, callId } = this.#options;
    const asked = this.#questions.before({
      speaker: speakerOf(leg, last),
      role: leg.roleOf(last.channel),
      start: finals[0]?.start ?? last.start,
      end: last.end,
    });
    const block = await language.run(
      'entitiesOverFinals',
      {
        finals: finals.map(({ text }) => text),
        asked,
        about: this.#options.about(),
        language: last.data.language,
      },
      { owner: callId },
    );
    if (block.results === null) return entities;
    const own = block.results
      .filter(({ pieces }) => pieces.some(({ final }) => final === finals.length - 1))
      .map((entity) => entityOf(leg, finals, entity));
    // A hosted service may return types of entities that this version does not know.
    const others = entities.data.results.filter(
      (other) => !own.some(({ start, end }) => other.start < end && start < other.end),
    );
    const results = [...own, ...others].toSorted((a, b) => a.start - b.start);
    return { ...entities, data: { ...entities.data, results } };
  }

  /** Returns the speaker's finals up to the one that holds the entities. A long pause ends the search. */
  #upTo(leg: ToldLeg, entities: Entities): Final[] {
    const all = this.#finals.get(speakerOf(leg, entities)) ?? [];
    const at = all.findLastIndex(
      ({ sessionId, data }) =>
        sessionId === entities.sessionId && data.utterance_id === entities.data.utterance_id,
    );
    let from = at;
    for (; from > 0; from--) {
      const [before, next] = [all[from - 1], all[from]];
      if (before === undefined || next === undefined) break;
      if (next.start - before.end > longestPauseS) break;
      if (this.#questions.isBetween(speakerOf(leg, next), before, next)) break;
    }
    return at < 0 ? [] : all.slice(from, at + 1);
  }
}

function entityOf(leg: ToldLeg, finals: readonly Final[], entity: HeardEntity): EntityOfResult {
  const { type, pieces, ...told } = entity;
  const parts = pieces.flatMap(({ final, start, end }) => {
    const of = finals[final];
    if (of === undefined) return [];
    const ofSession = of.data.utterance_id;
    const utterance_id = utteranceIdOf(leg.record.id, of.sessionId, ofSession);
    const times = timelineOf({ ...of.data })(start, end);
    return [{ utterance_id, ...times, session: of.sessionId, of_session: ofSession, from: start, to: end }]; // prettier-ignore
  });
  const [first] = parts;
  const name = JSON.stringify([first?.utterance_id, first?.from]);
  return {
    id: `ent_${digestOf(name).slice(0, 16)}`,
    entity_type: type,
    ...told,
    start: first?.start ?? 0,
    end: parts.at(-1)?.end ?? 0,
    pieces: parts.map(({ utterance_id, start, end }) => ({ utterance_id, start, end })),
    parts: parts.map(({ session, of_session, from, to }) => ({ session, of_session, from, to })),
  };
}

function speakerOf(leg: ToldLeg, { channel }: Pick<Result, 'channel'>): string {
  return `${leg.record.id} ${channel}`;
}
