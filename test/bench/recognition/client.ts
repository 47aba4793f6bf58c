import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { linearToMulaw } from '../../../src/audio/g711.ts';
import type { ServerMessage } from '../../../src/protocol/live-messages.ts';

export type ReceivedWords = {
  text: string;
  start: number;
  end: number;
  words: { word: string; start: number; end: number; confidence: number }[];
  /** When it came, on the clock of `sentAtMs`. */
  atMs: number;
  id: string;
  language: string;
};

export type SessionResult = {
  finals: ReceivedWords[];
  partials: ReceivedWords[];
  /** When each speech_end came. */
  speechEnds: { time: number; atMs: number }[];
  /** When the audio up to this second had been sent. */
  sentAtMs(second: number): number;
};

export type SessionOptions = {
  /** `call`: as a phone brings it, 20 ms at a time; `fast`: as quickly as it is acknowledged. */
  pace: 'call' | 'fast';
  partials?: boolean;
  endpointing?: number;
  maximumDuration?: number;
  enhancer?: boolean;
  /** All parties share the channel: they are told apart beside the words. */
  mixed?: boolean;
  /** None: the language is to be found. */
  languages?: readonly string[];
  codeSwitching?: boolean;
  signal?: AbortSignal;
};

const frame = 160;
const mostAhead = 160_000;

/** One session over the real socket: 8 kHz mu-law in, everything that came back out; undefined when refused. */
export async function session(
  base: string,
  samples: Int16Array,
  options: SessionOptions,
): Promise<SessionResult | undefined> {
  const response = await fetch(`${base}/v2/live`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(requestOf(options)),
  });
  if (response.status === 429) return undefined;
  if (response.status !== 201) throw new Error(`POST: ${response.status} ${await response.text()}`);
  const { url } = (await response.json()) as { url: string };
  const socket = new WebSocket(new URL(url, base).href.replace(/^http/, 'ws'));
  const result: SessionResult = { finals: [], partials: [], speechEnds: [], sentAtMs: () => 0 };
  let acknowledged = 0;
  socket.on('message', (bytes: Buffer) => {
    const message = JSON.parse(bytes.toString()) as ServerMessage;
    const atMs = performance.now();
    if (message.type === 'audio_chunk') acknowledged = message.data?.byte_range[1] ?? acknowledged;
    if (message.type === 'speech_end') result.speechEnds.push({ time: message.data.time, atMs });
    if (message.type !== 'transcript') return;
    const { utterance, id, is_final } = message.data;
    const { start, end, words, language } = utterance;
    const heard = { text: utterance.text.trim(), start, end, words, atMs, id, language };
    (is_final ? result.finals : result.partials).push(heard);
  });
  await once(socket, 'open');
  const closed = once(socket, 'close');
  const startedMs = performance.now();
  const sent: number[] = [];
  const coded = Buffer.from(Uint8Array.from(samples, (sample) => linearToMulaw(sample)));
  const step = options.pace === 'call' ? frame : 8000;
  for (let at = 0; at < coded.length && !options.signal?.aborted; at += step) {
    if (options.pace === 'call') {
      const dueMs = startedMs + at / 8 + 20;
      const waitMs = dueMs - performance.now();
      if (waitMs > 1) await sleep(waitMs);
    } else while (at - acknowledged > mostAhead && socket.readyState === 1) await sleep(5);
    socket.send(coded.subarray(at, at + step));
    for (let done = at; done < at + step; done += frame) sent.push(performance.now());
  }
  socket.send('{"type":"stop_recording"}');
  await closed;
  result.sentAtMs = (second) =>
    sent[Math.min(sent.length - 1, Math.floor((second * 8000) / frame))] ?? startedMs;
  return result;
}

function requestOf({
  partials = false,
  endpointing = 0.3,
  maximumDuration = 30,
  enhancer = false,
  mixed = false,
  languages = ['en'],
  codeSwitching = false,
}: SessionOptions) {
  return {
    encoding: 'wav/ulaw',
    sample_rate: 8000,
    bit_depth: 8,
    channels: 1,
    ...(mixed ? { custom_metadata: { role: 'mixed' } } : {}),
    endpointing,
    maximum_duration_without_endpointing: maximumDuration,
    language_config: { languages, code_switching: codeSwitching },
    pre_processing: { audio_enhancer: enhancer },
    messages_config: {
      receive_partial_transcripts: partials,
      receive_final_transcripts: true,
      receive_speech_events: true,
      receive_post_processing_events: false,
      receive_acknowledgments: true,
    },
  };
}

export type Lateness = { ms: number[]; missing: number };

/** The wait for the final after each of these seconds, at which words ended. */
export function latenessOf(heard: SessionResult, ends: readonly number[]): Lateness {
  const finals = ends.map((end) => ({
    end,
    final: heard.finals.find((one) => Math.abs(one.end - end) < 0.5),
  }));
  return {
    ms: finals.flatMap(({ end, final }) => (final ? [final.atMs - heard.sentAtMs(end)] : [])),
    missing: finals.filter(({ final }) => !final).length,
  };
}
