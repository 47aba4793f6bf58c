import { pino } from 'pino';
import { RecogniserConfig } from '../../../src/hearing/config.ts';
import { startRecogniser, type RecogniserPool } from '../../../src/hearing/pool/pool.ts';
import type {
  RecognisedUtterance,
  Recogniser,
  RecogniserEvent,
  RecogniserStream,
  RecogniserStreamOptions,
} from '../../../src/hearing/recogniser.ts';

export const silentLog = pino({ level: 'silent' });

export function recogniserOf(
  model: string,
  settings: Partial<RecogniserConfig> = {},
  inBackground = false,
): Promise<RecogniserPool> {
  const config = RecogniserConfig.parse({ model, processes: 1, ...settings });
  return startRecogniser({ config, log: silentLog, inBackground });
}

export const streamDefaults: RecogniserStreamOptions = {
  sampleRate: 8000,
  languages: ['en'],
  codeSwitching: false,
  endpointingS: 0.3,
  maximumDurationS: 5,
  speechThreshold: 0.6,
  audioEnhancer: false,
  recorded: false,
  partials: true,
};

export type TestStream = {
  stream: RecogniserStream;
  events: RecogniserEvent[];
  finals: RecognisedUtterance[];
  /** Resolves with the first event that fits, including earlier ones. */
  until(fits: (event: RecogniserEvent) => boolean): Promise<RecogniserEvent>;
  /** Calls finish() and resolves when all events have come. */
  end(): Promise<void>;
  text(): string;
};

/** Opens a stream and records its events. */
export function hear(
  recogniser: Recogniser,
  options: Partial<RecogniserStreamOptions> = {},
): TestStream {
  const events: RecogniserEvent[] = [];
  const finals: RecognisedUtterance[] = [];
  const waiting = new Set<(event: RecogniserEvent) => void>();
  const admission = recogniser.open({ ...streamDefaults, ...options }, (event) => {
    events.push(event);
    if (event.type === 'final') finals.push(event.utterance);
    for (const look of [...waiting]) look(event);
  });
  if (admission.outcome !== 'admitted') throw new Error(`not admitted: ${admission.detail}`);
  const { stream } = admission;
  const until: TestStream['until'] = (fits) => {
    const past = events.find(fits);
    if (past) return Promise.resolve(past);
    return new Promise((resolve, reject) => {
      const look = (event: RecogniserEvent) => {
        if (fits(event)) resolve(event);
        else if (event.type === 'failed') reject(new Error(event.reason));
        else if (event.type === 'finished') reject(new Error('finished without that event'));
        else return;
        waiting.delete(look);
      };
      waiting.add(look);
    });
  };
  return {
    stream,
    events,
    finals,
    until,
    text: () => finals.map((final) => final.text).join(' '),
    async end() {
      stream.finish();
      await until((event) => event.type === 'finished');
    },
  };
}

/** Pushes the audio in chunks of one length. The last one may be shorter. */
export function pushAll(stream: RecogniserStream, audio: Int16Array, chunk = 800): void {
  for (let at = 0; at < audio.length; at += chunk) stream.push(audio.subarray(at, at + chunk));
}
