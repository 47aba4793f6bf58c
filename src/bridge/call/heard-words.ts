import { languageName } from '../../lib/language-name.ts';
import { isAbroad } from '../../language/abroad/number-words.ts';
import { WordsByLanguage } from '../../language/main-language.ts';
import type { WordlessSpeech } from '../../protocol/job.ts';
import type { ServerMessage } from '../../protocol/live-messages.ts';
import type { CallEvents } from '../events/call-events.ts';
import {
  finalOf,
  place,
  utteranceIdOf,
  type PartialResult,
  type Result,
} from '../records/timeline.ts';
import type { StreamControl } from '../streams.ts';
import type { CallLeg } from './call-leg.ts';
import { withdraws } from './consent.ts';
import type { Expectations } from './expectations.ts';
import type { CallEnvironment } from './environment.ts';

/** Less wordless speech than this is stored with the call, but receivers get no warning. */
const wordlessTellS = 1;
/** A warning lists at most this many places and gives the number of the others. */
const mostPlacesTold = 5;

/** A call says at most this much of what its results leave out. */
const mostToldOnce = 20;

type HeardWordsOptions = {
  expectations: Expectations;
  env: CallEnvironment;
  callId: string;
  events: CallEvents;
  /** The call's open streams. Some carriers want the recognised words sent back. */
  streams: () => Iterable<{ control: StreamControl }>;
  /** Called when the language of a leg is another one now. */
  languageKnown: (leg: CallLeg) => void;
  /** Called when somebody withdraws their consent to the call. */
  withdraw: () => void;
};

/**
 * Converts the times of speech session messages to the call's clock, then passes the messages to events, watchers and
 * carriers.
 */
export class HeardWords {
  readonly #options: HeardWordsOptions;
  readonly #words = new WordsByLanguage();
  /** The languages that a warning has named. */
  readonly #warnedOf = new Set<string>();
  /** The gaps of the call's results, as a speech service told them. */
  readonly #told = new Set<string>();

  constructor(options: HeardWordsOptions) {
    this.#options = options;
  }

  /** The language of most of the words: the summary is written in it. */
  get languageCode(): string {
    return this.#words.main;
  }

  /** Handles a message of a leg's session. `atS` is the leg time at which the session began. */
  take(leg: CallLeg, message: ServerMessage, sessionId: string, atS: number): void {
    const zeroS = (leg.offsetS ?? 0) + atS;
    if (message.type === 'post_final_transcript')
      this.#warnOfWordless(leg, message.data.metadata.unread ?? [], zeroS);
    if (message.type === 'speakers') {
      // Voices are reported only for mixed legs. On a leg with one party, the role already says who speaks.
      if (leg.record.role === 'mixed') this.#options.events.speakers(leg, sessionId, message.data);
      return;
    }
    if (message.type === 'named_entity_recognition' || message.type === 'sentiment_analysis')
      for (const sentence of message.data?.not_covered ?? [])
        this.#tellOnce('NOT_COVERED', sentence);
    const placed = place(message, { sessionId, zeroS }, leg.lastFinals.get(sessionId));
    const final = finalOf(message);
    if (final !== undefined) leg.lastFinals.set(sessionId, final);
    if (placed.kind === 'partial') {
      this.#options.expectations.saying(leg, placed.partial);
      this.#showPartial(leg, placed.partial);
    }
    if (placed.kind !== 'result') return;
    if (placed.result.type === 'call.transcript') {
      const { channel, data } = placed.result;
      if (leg.language.take(channel, data)) this.#options.languageKnown(leg);
    }
    this.#options.events.result(leg, placed.result);
    if (placed.result.type !== 'call.transcript') return;
    const { channel, start, end, text } = placed.result;
    this.#options.expectations.heard(leg, { channel, start, end, text });
    this.#finalHeard(leg, placed.result);
  }

  #finalHeard(
    leg: CallLeg,
    { start, end, data }: Extract<Result, { type: 'call.transcript' }>,
  ): void {
    const { text, language, confidence } = data;
    leg.heardUntilS = Math.max(leg.heardUntilS, end);
    this.#words.add(text, language);
    if (this.#isRedacted) this.#warnOfLanguage(language);
    if (
      leg.record.role !== 'agent' &&
      withdraws(text, this.#options.env.config.consentWithdrawPhrases)
    )
      this.#options.withdraw();
    if (this.#isRedacted) return;
    const { track } = leg.record;
    for (const { control } of this.#options.streams())
      control.result?.({ track, text, startS: start, endS: end, confidence, language });
  }

  #showPartial(leg: CallLeg, partial: PartialResult): void {
    this.#options.events.assistance.speaking(partial.end);
    const { feed } = this.#options.env;
    // Entities are recognised only in complete text. A partial that ends in the middle of a number would be shown
    // unredacted, so partials of redacted calls are not shown.
    if (!feed.isWatched || this.#isRedacted) return;
    const callId = this.#options.callId;
    const { utteranceId, sessionId, start, end, text, language, channel } = partial;
    feed.publish({
      kind: 'partial',
      callId,
      message: {
        type: 'partial',
        call_id: callId,
        leg_id: leg.record.id,
        role: leg.roleOf(channel),
        utterance: {
          utterance_id: utteranceIdOf(leg.record.id, sessionId, utteranceId),
          session_id: sessionId,
          start,
          end,
          text,
          language,
        },
      },
    });
  }

  get #isRedacted(): boolean {
    return this.#options.env.config.redactEntities.length > 0;
  }

  /** Stored with the call. No event is sent: nobody has to act. */
  #tellOnce(code: string, sentence: string): void {
    if (this.#told.has(sentence) || this.#told.size >= mostToldOnce) return;
    this.#told.add(sentence);
    this.#options.events.warn(code, sentence, false);
  }

  /** Says once how much of the redaction holds in a language other than English. */
  #warnOfLanguage(code: string): void {
    if (code === 'en' || code === '' || this.#warnedOf.has(code)) return;
    this.#warnedOf.add(code);
    const name = languageName(code);
    this.#options.events.warn(
      'REDACTION_BY_FIGURES',
      isAbroad(code)
        ? `${name} is spoken: mail addresses and rows of four digits or more are covered, unless the words show what they count; names are covered beside a title alone`
        : `${name} is spoken: rows of four digits or more are covered, whatever they are, and nothing else is`,
      true,
    );
  }

  /**
   * Warns that the service heard speech and found no words in it. Otherwise people would take the transcript as
   * complete.
   */
  #warnOfWordless(leg: CallLeg, wordless: readonly WordlessSpeech[], zeroS: number): void {
    if (wordless.length === 0) return;
    const seconds = (value: number) => value.toFixed(1);
    const sumS = wordless.reduce((sum, { start, end }) => sum + Math.max(0, end - start), 0);
    const places = wordless
      .slice(0, mostPlacesTold)
      .map(({ start, end }) => `${seconds(zeroS + start)} to ${seconds(zeroS + end)} s`);
    const more = wordless.length - places.length;
    this.#options.events.warn(
      'SPEECH_UNREAD',
      `track ${leg.record.track}: somebody spoke for ${seconds(sumS)} s in which no words were found: ` +
        `${places.join(', ')}${more > 0 ? ` and ${String(more)} more` : ''}`,
      sumS >= wordlessTellS,
    );
  }
}
