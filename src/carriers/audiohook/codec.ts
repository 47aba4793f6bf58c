import { randomUUID } from 'node:crypto';
import { transcriptionLanguages } from '../../protocol/languages.ts';
import type { CarrierCommand, CarrierEvent, CarrierStart, Codec } from '../carrier.ts';
import {
  chooseMedia,
  parseMessage,
  type AudiohookMessage,
  type AudiohookOpen,
  type Envelope,
  type OfferedMedia,
} from './protocol.ts';
import { splitChannels } from '../binary/interleaving.ts';
import { textParameters } from '../json/frames.ts';
import { liftParameters } from '../parameters.ts';
import { withoutUndefined } from '../../lib/without-undefined.ts';

const probeConversation = '00000000-0000-0000-0000-000000000000';

type DialogueState =
  | { at: 'waiting' }
  | { at: 'open'; media: OfferedMedia | undefined }
  /**
   * We asked the client to end, and it answers with `close`. Audio that is still on its way is dropped without a
   * count.
   */
  | { at: 'disconnecting' }
  /** The client sent `close`, and we still have to send `closed`. */
  | { at: 'closing' }
  | { at: 'closed' };

/** Holds the dialogue and its two sequence numbers. Every answer goes out before the next message is read. */
export class AudiohookCodec implements Codec {
  readonly #expected: { sessionId: string | undefined; organizationId: string | undefined };
  #state: DialogueState = { at: 'waiting' };
  #id: string;
  #clientSeq = 0;
  #serverSeq = 0;
  #asked: 'pause' | 'resume' | undefined;

  constructor(expected: { sessionId: string | undefined; organizationId: string | undefined }) {
    this.#expected = expected;
    this.#id = expected.sessionId ?? '';
  }

  decode(data: Buffer, isBinary: boolean): CarrierEvent[] {
    if (isBinary) return this.#audio(data);
    if (this.#state.at === 'closed') return [{ type: 'count', what: 'late' }];
    const parsed = parseMessage(data.toString('utf8'));
    if (parsed.outcome === 'malformed') return this.#break(parsed.reason);
    const { message } = parsed;
    // After our disconnect, the client's `close` gets its answer even if its sequence numbers are wrong.
    const isLastWord = this.#state.at === 'disconnecting' && message.type === 'close';
    const wrong = isLastWord ? undefined : this.#wrongIn(message);
    if (wrong !== undefined) return this.#break(wrong);
    this.#clientSeq = message.seq;
    if (this.#id === '') this.#id = message.id;
    if (parsed.outcome === 'message') return this.#message(parsed.message);
    return this.#state.at === 'waiting'
      ? this.#break('no open at the beginning')
      : [{ type: 'count', what: 'unknown' }];
  }

  encode(command: CarrierCommand): string[] {
    if (this.#id === '' || this.#state.at === 'closed') return [];
    switch (command.type) {
      case 'pause':
      case 'resume':
        if (this.#state.at !== 'open' || this.#asked === command.type) return [];
        this.#asked = command.type;
        return [this.#reply(command.type, {})];
      case 'disconnect':
        if (this.#state.at !== 'open' && this.#state.at !== 'waiting') return [];
        this.#state = { at: 'disconnecting' };
        return [this.#reply('disconnect', { reason: command.reason, info: command.info })];
      case 'closed':
        if (this.#state.at !== 'closing') return [];
        this.#state = { at: 'closed' };
        return [this.#reply('closed', {})];
      case 'result':
        return this.#state.at === 'open' || this.#state.at === 'closing'
          ? [this.#transcript(command.final)]
          : [];
    }
  }

  #wrongIn({ seq, serverseq, id }: Envelope): string | undefined {
    if (seq !== this.#clientSeq + 1) return `seq is ${seq}, expected ${this.#clientSeq + 1}`;
    if (serverseq > this.#serverSeq) return 'serverseq is ahead of us';
    return this.#id !== '' && id !== this.#id ? 'id is not that of the session' : undefined;
  }

  #message(message: AudiohookMessage): CarrierEvent[] {
    if (message.type === 'open')
      return this.#state.at === 'waiting' ? this.#open(message) : this.#break('open a second time');
    if (this.#state.at === 'waiting') return this.#break(`${message.type} before open`);
    switch (message.type) {
      case 'ping':
        return [{ type: 'reply', text: this.#reply('pong', {}) }];
      case 'paused':
        return [{ type: 'paused' }];
      case 'resumed':
        return [{ type: 'resumed', discardedMs: message.parameters.discarded * 1000 }];
      case 'discarded':
        return this.#tracks().map((track) => ({
          type: 'lost',
          track,
          durationMs: message.parameters.discarded * 1000,
          cause: 'discarded',
        }));
      case 'update': {
        const { language } = message.parameters;
        const updated: CarrierEvent = { type: 'reply', text: this.#reply('updated', {}) };
        return language === undefined ? [updated] : [updated, { type: 'language', code: language }];
      }
      case 'dtmf':
        return [{ type: 'dtmf', digit: message.parameters.digit }];
      case 'close':
        this.#state = { at: 'closing' };
        return [{ type: 'stop', detail: message.parameters.reason }];
      // An error alone does not end the session.
      case 'error':
      case 'playback_started':
      case 'playback_completed':
        return [];
    }
  }

  #open(message: AudiohookOpen): CarrierEvent[] {
    const { organizationId, conversationId, media, supportedLanguages } = message.parameters;
    if (
      this.#expected.organizationId !== undefined &&
      organizationId !== this.#expected.organizationId
    )
      return this.#break('organizationId is not that of the upgrade', 'unauthorized');
    const isProbe = conversationId === probeConversation;
    const choice = chooseMedia(media);
    if (!isProbe && !choice)
      return this.#break('no media on offer that can be transcribed: PCMU or L16 at 8000 Hz');
    this.#state = { at: 'open', media: isProbe ? undefined : choice?.chosen };
    const opened = this.#reply('opened', {
      startPaused: false,
      media: isProbe || !choice ? [] : [choice.asOffered],
      ...(supportedLanguages ? { supportedLanguages: transcriptionLanguages } : {}),
    });
    // The answer goes out first, because the client waits 5 s for `opened`. A late `opened` is the failure that
    // operators report most.
    const answer: CarrierEvent = { type: 'reply', text: opened };
    return isProbe || !choice
      ? [answer, { type: 'probe' }]
      : [answer, { type: 'start', start: startOf(message, choice.chosen) }];
  }

  #audio(data: Buffer): CarrierEvent[] {
    switch (this.#state.at) {
      case 'waiting':
        return [{ type: 'count', what: 'malformed' }];
      case 'disconnecting':
        return [];
      case 'closing':
      case 'closed':
        return [{ type: 'count', what: 'late' }];
      case 'open':
        return this.#state.media ? channelsOf(data, this.#state.media) : [];
    }
  }

  #tracks(): string[] {
    return this.#state.at === 'open' ? (this.#state.media?.channels ?? []) : [];
  }

  #break(reason: string, kind: 'error' | 'unauthorized' = 'error'): CarrierEvent[] {
    const texts = this.encode({ type: 'disconnect', reason: kind, info: reason });
    return [
      ...texts.map((text): CarrierEvent => ({ type: 'reply', text })),
      { type: 'count', what: 'malformed' },
      { type: 'broken', reason },
    ];
  }

  #reply(type: string, parameters: Record<string, unknown>): string {
    return JSON.stringify({
      version: '2',
      type,
      id: this.#id,
      seq: ++this.#serverSeq,
      clientseq: this.#clientSeq,
      parameters,
    });
  }

  #transcript(final: Extract<CarrierCommand, { type: 'result' }>['final']): string {
    return this.#reply('event', { entities: [{ type: 'transcript', data: transcriptOf(final) }] });
  }
}

function startOf({ id, parameters }: AudiohookOpen, media: OfferedMedia): CarrierStart {
  const { participant, organizationId, conversationId, language, customConfig, continuedSessions } =
    parameters;
  const custom = liftParameters(textParameters(customConfig));
  const from = participant.ani || custom.from;
  const to = participant.dnis || custom.to;
  return {
    carrierCallId: conversationId,
    streamId: id,
    encoding: media.format === 'L16' ? 'pcm16' : 'mulaw',
    sampleRate: 8000,
    tracks: media.channels.map((name) => ({ name })),
    carrierIds: {
      organization_id: organizationId,
      session_id: id,
      participant_id: participant.id,
      ...(continuedSessions?.[0] ? { continued_session_id: continuedSessions[0].id } : {}),
    },
    parameters: {
      ...custom.rest,
      ...(participant.aniName === '' ? {} : { ani_name: participant.aniName }),
      ...withoutUndefined({ language }),
    },
    closingEndsCall: false,
    token: custom.token,
    ...withoutUndefined({ from, to, direction: custom.direction }),
  };
}

function channelsOf(data: Buffer, { format, channels }: OfferedMedia): CarrierEvent[] {
  return splitChannels(data, format === 'L16' ? 2 : 1, channels);
}

function transcriptOf({
  track,
  text,
  startS,
  endS,
  confidence,
  language,
}: Extract<CarrierCommand, { type: 'result' }>['final']): unknown {
  const duration = `PT${Math.max(0, endS - startS).toFixed(3)}S`;
  const offset = `PT${startS.toFixed(3)}S`;
  return {
    id: randomUUID(),
    channelId: track === 'internal' ? 1 : 0,
    isFinal: true,
    offset,
    duration,
    alternatives: [
      {
        confidence,
        languages: [language],
        interpretations: [{ type: 'display', transcript: text }],
      },
    ],
  };
}
