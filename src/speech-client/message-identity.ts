import { Utterance } from '../protocol/addons.ts';
import { readServerMessage, type ServerMessage } from '../protocol/live-messages.ts';
import type { SessionRecord } from './service-api.ts';
import { boundedMessage } from './bounds.ts';

/**
 * The key by which two messages of one session are the same. Partials have none: they replace each other and may be
 * repeated freely.
 */
export function messageIdentity(message: ServerMessage): string | undefined {
  switch (message.type) {
    case 'audio_chunk':
    case 'stop_recording':
    case 'error':
      return undefined;
    case 'transcript':
      return message.data.is_final ? `transcript ${message.data.id}` : undefined;
    case 'translation':
      return message.data
        ? `translation ${message.data.utterance_id} ${message.data.target_language}`
        : failed(message);
    case 'named_entity_recognition':
    case 'sentiment_analysis':
      return message.data ? `${message.type} ${message.data.utterance_id}` : failed(message);
    case 'speech_start':
    case 'speech_end':
      return `${message.type} ${message.data.channel} ${message.data.time}`;
    case 'speakers':
      return `speakers ${message.data.time} ${message.data.is_final}`;
    case 'start_session':
    case 'start_recording':
    case 'end_recording':
    case 'end_session':
    case 'post_transcript':
    case 'post_final_transcript':
    case 'post_summarization':
    case 'post_chapterization':
      return message.type;
  }
}

/** A failed add-on names no utterance. Its time of creation distinguishes it from the next failure. */
function failed(message: ServerMessage): string {
  return `${message.type} failed ${message.created_at}`;
}

/** The position of the message in the session, in seconds. Undefined for messages about the whole session. */
export function sessionTimeOf(message: ServerMessage): number | undefined {
  switch (message.type) {
    case 'transcript':
      return message.data.utterance.start;
    case 'translation':
    case 'named_entity_recognition':
    case 'sentiment_analysis':
      return message.data?.utterance.start;
    case 'speech_start':
    case 'speech_end':
      return message.data.time;
    default:
      return undefined;
  }
}

/** At most this many identities are remembered, more than a busy session of three hours has. */
export const maxIdentities = 20_000;

/**
 * Lets each identity pass once. A resumed socket repeats messages, and so does GET at the end. If a service sends more
 * than can be remembered, the older half is forgotten. A repeated message of that half passes again, but the database
 * still stores each result once.
 */
export class SeenMessages {
  #newer = new Set<string>();
  #older = new Set<string>();

  isNew(message: ServerMessage): boolean {
    const identity = messageIdentity(message);
    if (identity === undefined) return true;
    if (this.#has(identity)) return false;
    this.#add(identity);
    if (message.type === 'transcript') this.#add(spanOf(message.data.utterance));
    return true;
  }

  get size(): number {
    return this.#newer.size + this.#older.size;
  }

  /** True if an utterance at this time was seen. Records without messages have utterances without ids. */
  hasSpan(utterance: Utterance): boolean {
    return this.#has(spanOf(utterance));
  }

  #has(identity: string): boolean {
    return this.#newer.has(identity) || this.#older.has(identity);
  }

  #add(identity: string): void {
    // Half of the set is dropped at once, because removing single entries from the front of a large set is slow.
    if (this.#newer.size >= maxIdentities / 2) {
      this.#older = this.#newer;
      this.#newer = new Set();
    }
    this.#newer.add(identity);
  }
}

function spanOf(utterance: Utterance): string {
  return `span ${utterance.channel} ${utterance.start} ${utterance.end}`;
}

/**
 * Everything in the service's record that was not seen on the session's sockets, in the order of the record. If the
 * record lists no messages, its utterances become finals with ids of our own.
 */
export function missingOf(
  record: SessionRecord,
  sessionId: string,
  seen: SeenMessages,
  /** The seconds of audio sent to the session. All times lie within them. */
  sentS: number,
): ServerMessage[] {
  const listed = record.result?.messages ?? [];
  if (listed.length > 0) {
    return listed
      .map((text) => readServerMessage(text))
      .flatMap((read) => (read.outcome === 'message' ? [read.message] : []))
      .filter((message) => message.session_id === sessionId && belongsInTranscript(message))
      .map((message) => boundedMessage(message, sentS))
      .filter((message) => seen.isNew(message));
  }
  const utterances = record.result?.transcription?.utterances ?? [];
  return utterances.flatMap((value, index): ServerMessage[] => {
    const utterance = Utterance.safeParse(value);
    if (!utterance.success || seen.hasSpan(utterance.data)) return [];
    const message: ServerMessage = {
      type: 'transcript',
      session_id: sessionId,
      // The machine's time: a record does not tell when its words were sent, and nothing is ordered by this field.
      created_at: new Date().toISOString(),
      data: { id: `record_${index}`, is_final: true, utterance: utterance.data },
    };
    const bounded = boundedMessage(message, sentS);
    return seen.isNew(bounded) ? [bounded] : [];
  });
}

/** False for partials and acks, which a record may list but which are useless afterwards. */
function belongsInTranscript(message: ServerMessage): boolean {
  return messageIdentity(message) !== undefined;
}

/** The `byte_range` of a positive audio ack. */
export type AckRange = { start: number; end: number };

const marker = Buffer.from(
  '"type":"audio_chunk","acknowledged":true,"error":null,"data":{"byte_range":[',
);
const timeRange = Buffer.from('],"time_range":[');
const closing = Buffer.from(']}}');
const firstByte = marker[0] ?? 0;
const comma = 0x2c;

/** The position behind `{"session_id":"<36>","created_at":"<24>",`, with which a service like ours begins. */
const usualOffset = '{"session_id":"","created_at":"",'.length + 36 + 24;

/**
 * Reads an acknowledgement without parsing it. One ack comes per frame, and a full JSON.parse would cost about half of
 * forwarding that frame. Only the exact form is accepted, digit by digit. Anything else returns undefined, and the
 * caller parses it in full.
 */
export function scanAck(message: Buffer, range: AckRange): boolean {
  const at = usualOffset;
  if (message.length < at + marker.length || message[at] !== firstByte) return false;
  if (message[0] !== 0x7b) return false;
  if (marker.compare(message, at, at + marker.length) !== 0) return false;
  let index = at + marker.length;
  let start = 0;
  let digits = 0;
  for (; digits < 16; digits++) {
    const digit = (message[index] ?? 0) - 48;
    if (digit < 0 || digit > 9) break;
    start = start * 10 + digit;
    index++;
  }
  if (digits === 0 || digits > 15 || message[index] !== comma) return false;
  index++;
  let end = 0;
  for (digits = 0; digits < 16; digits++) {
    const digit = (message[index] ?? 0) - 48;
    if (digit < 0 || digit > 9) break;
    end = end * 10 + digit;
    index++;
  }
  if (digits === 0 || digits > 15) return false;
  if (timeRange.compare(message, index, index + timeRange.length) !== 0) return false;
  if (closing.compare(message, message.length - closing.length, message.length) !== 0) return false;
  range.start = start;
  range.end = end;
  return true;
}
