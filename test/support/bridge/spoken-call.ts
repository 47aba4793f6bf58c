import { performTask } from '../../../src/language/perform.ts';
import { EventStreamReader } from '../browser/event-stream.ts';
import { FakeSpeech, type SpeechScript } from '../speech/fake-speech.ts';
import { temporaryStore } from '../store/store.ts';
import { until } from '../process/until.ts';
import { speak, testBridge, type AnyJson } from './test-bridge.ts';

type Side = 'customer' | 'agent';
const trackOf = { customer: 'inbound', agent: 'outbound' } as const;
/** Times of words are bounded by the audio that was sent, which is half a minute. */
const audioBytes = 240_000;
const roleOf = { inbound: 'customer', outbound: 'agent' } as const;

export type SpokenCall = AsyncDisposable & {
  /**
   * Sends a final with its entities, as a speech service does. The agent speaks after everything before was reported,
   * unless the agent's session is late.
   */
  say(
    who: Side,
    text: string,
    at: number,
    order?: { isLate?: boolean; language?: string; wordS?: number },
  ): Promise<void>;
  /** Sends the words of an utterance that is not over yet. */
  begin(who: Side, text: string, at: number): void;
  end(): Promise<void>;
  events(): Promise<AnyJson[]>;
  json(): Promise<AnyJson>;
  /** The events of the live feed. */
  feed(): unknown;
  /** The speaker's words, taken from the events. */
  said(who: Side): string[];
  /**
   * Resolves with a function that returns the loudness of both channels of the recording in the tenth of a second from
   * the given time.
   */
  loudness(): Promise<(second: number) => number[]>;
  speech: FakeSpeech;
  order(action: string, body: object): Promise<Response>;
  /** The last hint that the session of a speaker got. */
  hintOf(who: Side): Record<string, unknown> | undefined;
  dataDir: string;
  /** A request under the call's own address, with JSON. */
  ask(method: string, path: string, body?: unknown): Promise<{ status: number; body: AnyJson }>;
  store: Awaited<ReturnType<typeof temporaryStore>>;
};

/** A call of two legs over the real bridge. The test supplies the words. */
export async function startCall(
  config: Record<string, unknown>,
  script: SpeechScript = {},
  audio?: Record<Side, Buffer>,
): Promise<SpokenCall> {
  const stack = new AsyncDisposableStack();
  const speech = stack.use(await FakeSpeech.start());
  Object.assign(speech.script, { hasNoWords: true, ...script });
  const store = stack.use(await temporaryStore());
  const app = stack.use(await testBridge({ store, speechUrl: speech.url, config }));
  const reader = stack.use(await EventStreamReader.open(`${app.url}/api/live`));
  const tracks = Object.values(trackOf).map((name) => ({ name, channels: 1 as const }));
  const { stream } = await app.open({ tracks });
  for (const { name } of tracks)
    await speak(stream, name, audio?.[roleOf[name]] ?? Buffer.alloc(audioBytes, 0xff));
  await until(() => speech.open.filter(({ bytes }) => bytes.length === audioBytes).length === 2);
  const told = (): AnyJson[] => reader.of('call.transcript').map(({ data }) => data);
  let finals = 0;
  const allTold = async (): Promise<void> => {
    await until(() => told().length === finals);
  };
  const send = (who: Side, message: object): void => {
    speech.sendToAll((session) => {
      const { track } = session.request['custom_metadata'] as { track: 'inbound' | 'outbound' };
      if (roleOf[track] !== who) return { type: 'nothing of yours' };
      return { session_id: session.id, created_at: new Date().toISOString(), ...message };
    });
  };
  return {
    speech,
    dataDir: store.dataDir,
    store,
    async ask(method, path, body) {
      const response = await app.get(`/api/calls/${stream.callId}${path}`, {
        method,
        ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }), // prettier-ignore
      });
      const text = await response.text();
      return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
    },
    async say(who, text, at, { isLate = false, language = 'en', wordS = 0.1 } = {}) {
      if (who === 'agent' && !isLate) await allTold();
      const utterance = { ...utteranceOf(text, at, wordS), language };
      const id = `00_${at}`;
      send(who, { type: 'transcript', data: { id, is_final: true, utterance } });
      const { results } = performTask('entities', { utterance });
      const data = { utterance_id: id, utterance, results: results ?? [] };
      send(who, { type: 'named_entity_recognition', error: null, data });
      finals += 1;
      if (who === 'agent') await allTold();
    },
    begin(who, text, at) {
      const utterance = utteranceOf(text, at);
      send(who, { type: 'transcript', data: { id: `00_${at}`, is_final: false, utterance } });
    },
    async end() {
      await allTold();
      stream.end('stop');
      await app.ended(stream.callId);
      await reader.waitFor('call.completed');
    },
    order: (action, body) =>
      app.get(`/api/calls/${stream.callId}/${action}`, {
        method: 'POST',
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json' },
      }),
    hintOf: (who) =>
      [...speech.sessions.values()]
        .find((session) => (session.request['custom_metadata'] as AnyJson).track === trackOf[who])
        ?.hints.at(-1),
    events: () => app.events(stream.callId),
    json: () => app.callOf(),
    feed: () => reader.messages,
    async loudness() {
      // Refused until the secrets in it were masked.
      let answer: Response | undefined;
      await until(async () => {
        answer = await app.get(`/api/calls/${stream.callId}/recording`);
        return answer.status !== 409;
      });
      if (answer?.status !== 200) throw new Error(`the recording is answered ${answer?.status}`);
      const wav = Buffer.from(await answer.arrayBuffer());
      return (second) => [0, 1].map((channel) => peakOf(wav, second, channel));
    },
    said: (who) => told().flatMap(({ leg, data }) => (leg.role === who ? [data.text] : [])),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

function utteranceOf(text: string, at: number, wordS = 0.1) {
  const words = text.split(' ').map((word, place) => ({
    word: ` ${word}`,
    start: at + place * wordS,
    end: at + (place + 1) * wordS,
    confidence: 1,
  }));
  const end = at + words.length * wordS;
  return { start: at, end, confidence: 1, channel: 0, language: 'en', text: ` ${text}`, words };
}

/** The recording is 16-bit stereo at 8 kHz, after a header of 44 bytes. */
function peakOf(wav: Buffer, second: number, channel: number): number {
  let peak = 0;
  for (let frame = Math.round(second * 8_000); frame < (second + 0.1) * 8_000; frame++)
    peak = Math.max(peak, Math.abs(wav.readInt16LE(44 + frame * 4 + channel * 2)));
  return peak;
}
