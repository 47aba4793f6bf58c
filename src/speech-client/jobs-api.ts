import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { z } from 'zod';
import { deadline, type Clock } from '../lib/clock.ts';
import { parseJson } from '../lib/json.ts';
import { codeOf, jsonBody, readBody, refusalIn, ServiceAgents } from './service-api.ts';
import { retryAfterMs } from './back-off.ts';
import { boundedUtterance, cut } from './bounds.ts';
import type { SpeechNode, SpeechNodes } from './speech-nodes.ts';

/** At most this many utterances of one recording are taken. Three hours of quick talk have a third of this. */
export const maxUtterances = 20_000;
/** Times of a record must lie within a day, whatever length it states. */
const longestS = 86_400;
const attemptMs = 10_000;
/** The service has this long to inspect a file after the last byte of an upload. */
const answerMs = 60_000;
const eraseMs = 60_000;
/** The time for an upload: a minute, and one second more for every 100 kB. */
const uploadMs = (bytes: number): number => Math.min(1_800_000, 60_000 + bytes / 100);
const answerBytes = 1_048_576;
const recordBytes = 67_108_864;

/** `later` means that the same request may succeed another time, `refused` that it never will. */
type JobTrouble =
  | { outcome: 'later'; reason: string; waitMs: number | undefined }
  | { outcome: 'refused'; reason: string; status: number };

export type Audio = {
  filename: string;
  bytes: number;
  read(from: number, to: number): AsyncIterable<Buffer>;
};

/** One utterance of a finished job, within bounds. */
export type Spoken = {
  channel: number;
  /** Set if the voices of a channel were told apart. */
  speaker?: number;
  start: number;
  end: number;
  text: string;
  language: string;
};

/** `service` is the node that has the file, the only one that can read it. */
type Stored = {
  outcome: 'stored';
  audioUrl: string;
  fileId: string | undefined;
  service: string | undefined;
};

type JobState =
  | { outcome: 'done'; spoken: Spoken[]; noSpeakers?: string }
  /** `code` is an HTTP status. 5xx means a problem of the service itself. */
  | { outcome: 'failed'; code: number; reason: string }
  | { outcome: 'unfinished' }
  | { outcome: 'unknown' }
  | { outcome: 'later'; reason: string; waitMs: number | undefined };

const Id = z.string().regex(/^[\x21-\x7e]{1,200}$/);
const UploadAnswer = z.looseObject({
  audio_url: z.url({ protocol: /^https?$/ }).max(4_096),
  audio_metadata: z.looseObject({ id: Id }).nullish(),
});
const BeginAnswer = z.looseObject({ id: Id });
const JobList = z.looseObject({ items: z.array(z.looseObject({ id: Id })) });
const SpokenUtterance = z.looseObject({
  start: z.number(),
  end: z.number(),
  text: z.string(),
  channel: z.int().min(0).default(0),
  speaker: z.int().min(0).max(1_000).nullish().catch(null),
  language: z.string().nullish(),
});
const JobRecord = z.looseObject({
  status: z.string(),
  error_code: z.number().nullish(),
  error_message: z.string().nullish(),
  result: z
    .looseObject({
      metadata: z.looseObject({ audio_duration: z.number().min(0).nullish() }).nullish(),
      transcription: z.looseObject({ utterances: z.array(z.unknown()).nullish() }).nullish(),
      diarization: z
        .looseObject({ error: z.looseObject({ message: z.string() }).nullish() })
        .nullish()
        .catch(null),
    })
    .nullish(),
});

/**
 * Whole recordings: uploads, jobs and their deletion. Each method makes one attempt with a deadline and never throws.
 */
export class SpeechJobs {
  readonly #nodes: Pick<SpeechNodes, 'all' | 'named' | 'candidates' | 'failed'>;
  readonly #clock: Clock;
  /** Our own deadlines apply, because an upload gets no answer while it lasts. */
  readonly #agents = new ServiceAgents({
    keepAliveTimeout: 4_000,
    headersTimeout: 0,
    bodyTimeout: 0,
  });

  constructor(nodes: Pick<SpeechNodes, 'all' | 'named' | 'candidates' | 'failed'>, clock: Clock) {
    this.#nodes = nodes;
    this.#clock = clock;
  }

  /**
   * POST /v2/upload, streamed, so that the file is never whole in memory. The signal stops it while bytes are left to
   * send. Once all are sent the answer is awaited, because only the answer tells how to delete the file again.
   */
  async upload(audio: Audio, signal: AbortSignal): Promise<Stored | JobTrouble> {
    const node = this.#nodes.candidates()[0] ?? this.#nodeOf(undefined);
    using attempt = deadline(this.#clock, uploadMs(audio.bytes) + answerMs);
    const boundary = `trunkline-${randomBytes(16).toString('hex')}`;
    const head = Buffer.from(
      `--${boundary}\r\ncontent-disposition: form-data; name="audio"; filename="${audio.filename}"\r\ncontent-type: audio/wav\r\n\r\n`,
    );
    const tail = Buffer.from(`\r\n--${boundary}--\r\n`);
    async function* form(): AsyncGenerator<Buffer> {
      yield head;
      for await (const piece of audio.read(0, audio.bytes)) {
        signal.throwIfAborted();
        yield piece;
      }
      signal.throwIfAborted();
      yield tail;
    }
    const result = await this.#answered(
      'the upload',
      () =>
        this.#ask(node, 'POST', '/v2/upload', attempt.signal, {
          body: Readable.from(form(), { objectMode: false }),
          headers: {
            'content-type': `multipart/form-data; boundary=${boundary}`,
            'content-length': String(head.length + audio.bytes + tail.length),
          },
        }),
      (json): Stored | undefined => {
        const stored = UploadAnswer.safeParse(json).data;
        return (
          stored && {
            outcome: 'stored',
            audioUrl: stored.audio_url,
            fileId: stored.audio_metadata?.id,
            service: node?.name,
          }
        );
      },
    );
    if (result.outcome === 'later' && node !== undefined && !signal.aborted)
      this.#nodes.failed(node, 'unreachable', result.waitMs);
    return result;
  }

  /** POST /v2/pre-recorded. */
  async begin(
    body: Record<string, unknown>,
    service?: string,
  ): Promise<{ outcome: 'begun'; id: string } | JobTrouble> {
    using attempt = deadline(this.#clock, attemptMs);
    return await this.#answered(
      'the job',
      () =>
        this.#ask(
          this.#nodeOf(service),
          'POST',
          '/v2/pre-recorded',
          attempt.signal,
          jsonBody(body),
        ),
      (json) => {
        const begun = BeginAnswer.safeParse(json).data;
        return begun && { outcome: 'begun', id: begun.id };
      },
    );
  }

  /** The ids of the jobs with this metadata. Undefined if the service gives no answer now. */
  async find(metadata: Record<string, unknown>, service?: string): Promise<string[] | undefined> {
    try {
      using attempt = deadline(this.#clock, attemptMs);
      const query = `limit=100&custom_metadata=${encodeURIComponent(JSON.stringify(metadata))}`;
      const path = `/v2/pre-recorded?${query}`;
      const response = await this.#ask(this.#nodeOf(service), 'GET', path, attempt.signal);
      const list = JobList.safeParse(parseJson(await readBody(response, recordBytes)));
      return response.statusCode === 200 ? list.data?.items.map(({ id }) => id) : undefined;
    } catch {
      return undefined; // the caller tries again, within its own bound
    }
  }

  /** GET /v2/pre-recorded/{id}. */
  async state(id: string, service?: string): Promise<JobState> {
    try {
      using attempt = deadline(this.#clock, attemptMs);
      const response = await this.#ask(this.#nodeOf(service), 'GET', pathOf(id), attempt.signal);
      const text = await readBody(response, recordBytes);
      if (response.statusCode === 404) return { outcome: 'unknown' };
      if (response.statusCode !== 200)
        return {
          outcome: 'later',
          reason: `status ${response.statusCode}`,
          waitMs: this.#waitOf(response),
        };
      return stateIn(parseJson(text));
    } catch (error) {
      return { outcome: 'later', reason: codeOf(error), waitMs: undefined };
    }
  }

  /** Deletes a job and its audio. An unfinished job is cancelled first, if the service supports that. */
  async erase(id: string, service?: string): Promise<'erased' | 'failed'> {
    const node = this.#nodeOf(service);
    const first = await this.#delete(node, pathOf(id));
    if (first !== 403) return isGone(first) ? 'erased' : 'failed';
    try {
      using attempt = deadline(this.#clock, attemptMs);
      const response = await this.#ask(node, 'POST', `${pathOf(id)}/cancel`, attempt.signal);
      await readBody(response, answerBytes);
    } catch {
      return 'failed'; // the caller tries again, within its own bound
    }
    return isGone(await this.#delete(node, pathOf(id))) ? 'erased' : 'failed';
  }

  /** Deletes an upload that no job reads. A service without this route answers like one without such a file. */
  async eraseFile(id: string, service?: string): Promise<'erased' | 'failed'> {
    const status = await this.#delete(this.#nodeOf(service), `/file/${encodeURIComponent(id)}`);
    return isGone(status) || status === 405 || status === 501 ? 'erased' : 'failed';
  }

  async close(): Promise<void> {
    await this.#agents.close();
  }

  /** The node that has it. Any node of a database answers for the others. Without a name, the first node is asked. */
  #nodeOf(service: string | undefined): SpeechNode | undefined {
    const nodes = this.#nodes.all();
    return this.#nodes.named(service) ?? nodes.find(({ isOfFleet }) => isOfFleet) ?? nodes[0];
  }

  async #delete(node: SpeechNode | undefined, path: string): Promise<number | undefined> {
    try {
      using attempt = deadline(this.#clock, eraseMs);
      const response = await this.#ask(node, 'DELETE', path, attempt.signal);
      await readBody(response, answerBytes);
      return response.statusCode;
    } catch {
      return undefined; // the caller tries again, within its own bound
    }
  }

  async #answered<T>(
    what: string,
    ask: () => Promise<Dispatcher.ResponseData>,
    read: (json: unknown) => T | undefined,
  ): Promise<T | JobTrouble> {
    try {
      const response = await ask();
      const text = await readBody(response, answerBytes);
      const status = response.statusCode;
      if (status === 200 || status === 201) {
        const answer = read(parseJson(text));
        if (answer !== undefined) return answer;
        const reason = `the answer to ${what} has another form`;
        return { outcome: 'later', reason, waitMs: undefined };
      }
      const isForGood =
        status >= 400 && status < 500 && ![401, 402, 408, 425, 429].includes(status);
      if (!isForGood)
        return { outcome: 'later', reason: `status ${status}`, waitMs: this.#waitOf(response) };
      return {
        outcome: 'refused',
        status,
        reason: `the speech service refused ${what} (${status}: ${refusalIn(text)})`,
      };
    } catch (error) {
      return { outcome: 'later', reason: codeOf(error), waitMs: undefined };
    }
  }

  #waitOf({ headers }: Dispatcher.ResponseData): number | undefined {
    const header = headers['retry-after'];
    return retryAfterMs(Array.isArray(header) ? header[0] : header, this.#clock.now());
  }

  async #ask(
    node: SpeechNode | undefined,
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    signal: AbortSignal,
    more?: { body?: string | Readable; headers?: Record<string, string> },
  ): Promise<Dispatcher.ResponseData> {
    if (node === undefined) throw new Error('no speech node is there');
    return this.#agents.ask(node.target, method, path, signal, more);
  }
}
function pathOf(id: string): string {
  return `/v2/pre-recorded/${encodeURIComponent(id)}`;
}

function isGone(status: number | undefined): boolean {
  return status !== undefined && ((status >= 200 && status < 300) || status === 404);
}

/**
 * The contents of a record, with every text and time within bounds, because the service may be broken or foreign. Pure.
 */
export function stateIn(json: unknown): JobState {
  const record = JobRecord.safeParse(json).data;
  const odd = { outcome: 'failed', code: 502, reason: 'its record has another form' } as const;
  if (record === undefined) return odd;
  const { status, error_code: code, error_message: reason, result } = record;
  if (status === 'error')
    return { outcome: 'failed', code: code ?? 500, reason: cut(reason ?? '', 500) };
  if (status !== 'done') return { outcome: 'unfinished' };
  const given = (result?.transcription?.utterances ?? []).slice(0, maxUtterances);
  const limitS = Math.min(longestS, result?.metadata?.audio_duration ?? longestS);
  const spoken: Spoken[] = [];
  for (const one of given) {
    const utterance = SpokenUtterance.safeParse(one).data;
    if (utterance === undefined) return odd;
    const { speaker, ...said } = utterance;
    const { channel, start, end, text, language } = boundedUtterance(
      { ...said, language: said.language ?? '', confidence: 1, words: [] },
      limitS,
    );
    const who = speaker == null ? {} : { speaker };
    spoken.push({ channel, ...who, start, end, text, language });
  }
  const untold = result?.diarization?.error?.message;
  return { outcome: 'done', spoken, ...(untold ? { noSpeakers: cut(untold, 600) } : {}) };
}
