import { round3 } from '../../../lib/round.ts';
import type { Utterance } from '../../../protocol/addons.ts';
import type { ServerMessage } from '../../../protocol/live-messages.ts';
import type { LiveRequest } from '../../../protocol/live-request.ts';
import type { Addons } from './session-addons.ts';
import type { ChannelEvent } from '../../../hearing/channel.ts';
import { message, utteranceId } from './server-messages.ts';
import { utteranceOf } from '../../results/utterance.ts';
import type { ResultEntry } from './session-result.ts';

type TranscriptMessagesOptions = {
  sessionId: string;
  request: LiveRequest;
  addons: Addons;
  now: () => number;
  emit: (message: ServerMessage) => void;
  record(entry: ResultEntry): void;
  /** Called if a message could not be made or sent. The session cannot continue then. */
  onFailed(error: unknown): void;
};

type ChannelTold = Extract<
  ChannelEvent,
  { type: 'partial' | 'final' | 'speech-start' | 'speech-end' }
>;
type FinalEvent = Extract<ChannelEvent, { type: 'final' }>;

/**
 * Turns the events of the recogniser into messages. A final is sent at once and its add-ons follow. Only rewriting
 * (vocabulary and spelling) delays a final. Later events of the same channel wait behind it, so that their order stays.
 *
 * The wait is bounded by time, not by count: every rewriting has the deadline `addonDeadlineS`.
 */
export class TranscriptMessages {
  readonly #options: TranscriptMessagesOptions;
  readonly #language: string | undefined;
  /** For each channel, the last event that waits behind a rewriting. */
  readonly #lines = new Map<number, Promise<void>>();
  readonly #addonsAtWork = new Set<Promise<void>>();

  constructor(options: TranscriptMessagesOptions) {
    this.#options = options;
    const { languages } = options.request.language_config;
    this.#language = languages.length === 1 ? languages[0] : undefined;
  }

  heard(channel: number, event: ChannelTold): void {
    const line = this.#lines.get(channel);
    const { realtime_processing: realtime } = this.#options.request;
    const rewrites = event.type === 'final' && this.#options.addons.needsRewriting(realtime);
    if (!line && !rewrites) {
      this.#say(channel, event);
      return;
    }
    const next = (line ?? Promise.resolve())
      .then(() => this.#sayRewritten(channel, event))
      .catch((error: unknown) => this.#options.onFailed(error))
      .finally(() => {
        if (this.#lines.get(channel) === next) this.#lines.delete(channel);
      });
    this.#lines.set(channel, next);
  }

  /** Resolves when every final is sent and every add-on has answered. */
  async settled(): Promise<void> {
    while (this.#lines.size > 0 || this.#addonsAtWork.size > 0)
      await Promise.all([...this.#lines.values(), ...this.#addonsAtWork]);
  }

  async #sayRewritten(channel: number, event: ChannelTold): Promise<void> {
    if (event.type !== 'final') {
      this.#say(channel, event);
      return;
    }
    const utterance = utteranceOf(event.utterance, channel, this.#language);
    const { addons, request } = this.#options;
    const rewritten = await addons.rewrite(utterance, request.realtime_processing);
    this.#sayFinal(channel, event, rewritten);
  }

  #say(channel: number, event: ChannelTold): void {
    switch (event.type) {
      case 'speech-start':
      case 'speech-end':
        this.#emit(event.type === 'speech-start' ? 'speech_start' : 'speech_end', {
          data: { time: round3(event.at), channel },
        });
        return;
      case 'partial':
        this.#emit('transcript', {
          data: {
            id: utteranceId(channel, event.utterance.index),
            is_final: false,
            utterance: utteranceOf(event.utterance, channel, this.#language),
          },
        });
        return;
      case 'final':
        this.#sayFinal(channel, event, utteranceOf(event.utterance, channel, this.#language));
    }
  }

  #sayFinal(channel: number, event: FinalEvent, utterance: Utterance): void {
    const id = utteranceId(channel, event.utterance.index);
    this.#options.record({ add: 'utterance', id, utterance, decidedS: event.decidedS });
    this.#emit('transcript', { data: { id, is_final: true, utterance } });
    const { addons, request } = this.#options;
    const work = addons
      .ofUtterance(utterance, request.realtime_processing, (entry) => {
        this.#options.record(entry);
        this.#sayAddon(id, utterance, entry);
      })
      .catch((error: unknown) => this.#options.onFailed(error))
      .finally(() => this.#addonsAtWork.delete(work));
    this.#addonsAtWork.add(work);
  }

  #sayAddon(id: string, utterance: Utterance, entry: ResultEntry): void {
    switch (entry.add) {
      case 'utterance':
      case 'unread':
        return;
      case 'entities':
      case 'sentiment': {
        const type = entry.add === 'entities' ? 'named_entity_recognition' : 'sentiment_analysis';
        const { error, results, not_covered } = entry.block;
        const data =
          results === null ? null : { utterance_id: id, utterance, results, not_covered };
        this.#emit(type, { error, data } as never);
        return;
      }
      case 'translation': {
        const { targetLanguage, block } = entry.outcome;
        const data = block.results && {
          utterance_id: id,
          utterance,
          original_language: utterance.language,
          target_language: targetLanguage,
          translated_utterance: block.results,
        };
        this.#emit('translation', { error: block.error, data });
      }
    }
  }

  #emit: <
    Type extends
      | 'speech_start'
      | 'speech_end'
      | 'transcript'
      | 'translation'
      | 'named_entity_recognition'
      | 'sentiment_analysis',
  >(
    type: Type,
    body: Parameters<typeof message<Type>>[3],
  ) => void = (type, body) => {
    const { sessionId, now, emit } = this.#options;
    emit(message(sessionId, now(), type, body));
  };
}
