import { createHash, randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';

type JobAnswer = { status: number; headers?: Record<string, string>; body?: object };
export type FakeJob = {
  id: string;
  request: Record<string, unknown>;
  status: 'processing' | 'done' | 'error';
};

/** The faults of the service. A test may change them while it runs. */
export type JobsScript = {
  upload?: (count: number) => JobAnswer | undefined;
  begin?: (count: number) => JobAnswer | undefined;
  /** The answer to an upload, a new job or a deletion waits for this promise. The action is done by then. */
  hold?: (what: 'upload' | 'begin' | 'delete') => Promise<void> | undefined;
  /** Jobs stay unfinished while this is true. */
  isSlow?: boolean;
  /** The error of a job, by the number of jobs created before it. By default all jobs succeed. */
  failWith?: (count: number) => number | undefined;
  utterances?: object[];
  /** The utterances of a job, depending on its request. */
  utterancesOf?: (job: FakeJob) => object[];
};

/** The pre-recorded half of a fake speech service: uploads and jobs in memory, and a record of all requests. */
export class FakeJobs {
  readonly script: JobsScript = {};
  readonly uploads = new Map<string, { sha: string; bytes: number; head: string }>();
  readonly jobs = new Map<string, FakeJob>();
  /** The method and path of each request, without ids, in order. */
  readonly asked: string[] = [];
  uploaded = 0;
  begun = 0;

  /** Returns false if the request does not belong to these routes. */
  take(request: IncomingMessage, response: ServerResponse, baseUrl: string): boolean {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://local');
    const [, first, second, id, verb] = pathname.split('/');
    const isOurs = first === 'file' || second === 'upload' || second === 'pre-recorded';
    if (!isOurs) return false;
    const method = request.method ?? '';
    this.asked.push(
      `${method} ${pathname.replace(/[0-9a-f-]{36}/, '{id}')}`.replace('/v2/pre-recorded', '/jobs'),
    );
    const chunks: Buffer[] = [];
    request.on('error', () => undefined);
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks);
      const what = { method, first: first ?? '', second: second ?? '', id, verb };
      void this.#answer({ ...what, searchParams, body, baseUrl }).then(
        ({ status, headers = {}, body: json }) => {
          response.writeHead(status, { 'content-type': 'application/json', ...headers });
          response.end(json === undefined ? undefined : JSON.stringify(json));
        },
      );
    });
    return true;
  }

  async #answer(asked: {
    method: string;
    first: string;
    second: string;
    id: string | undefined;
    verb: string | undefined;
    searchParams: URLSearchParams;
    body: Buffer;
    baseUrl: string;
  }): Promise<JobAnswer> {
    const { method, first, second, id, verb, body } = asked;
    const { script } = this;
    if (first === 'file') {
      await script.hold?.('delete');
      return answer(this.uploads.delete(second) ? 202 : 404, {});
    }
    if (second === 'upload') {
      this.uploaded++;
      const refusal = script.upload?.(this.uploaded);
      if (refusal) return scripted(refusal);
      const fileId = randomUUID();
      const from = body.indexOf('\r\n\r\n') + 4;
      const file = body.subarray(from, body.lastIndexOf('\r\n--'));
      const sha = createHash('sha256').update(file).digest('hex');
      const head = file.subarray(0, 44).toString('latin1');
      this.uploads.set(fileId, { sha, bytes: file.length, head });
      await script.hold?.('upload');
      return answer(200, {
        audio_url: `${asked.baseUrl}/file/${fileId}`,
        audio_metadata: { id: fileId },
      });
    }
    if (method === 'POST' && id === undefined) {
      this.begun++;
      const refusal = script.begin?.(this.begun);
      if (refusal) return scripted(refusal);
      const request = JSON.parse(body.toString()) as Record<string, unknown>;
      const job: FakeJob = { id: randomUUID(), request, status: 'processing' };
      this.jobs.set(job.id, job);
      await script.hold?.('begin');
      return answer(201, { id: job.id, result_url: `${asked.baseUrl}/v2/transcription/${job.id}` });
    }
    if (method === 'GET' && id === undefined) {
      const wanted = JSON.parse(asked.searchParams.get('custom_metadata') ?? '{}') as object;
      const items = [...this.jobs.values()].filter(({ request }) =>
        Object.entries(wanted).every(
          ([name, value]) =>
            (request['custom_metadata'] as Record<string, unknown>)[name] === value,
        ),
      );
      return answer(200, { items: items.map((job) => ({ id: job.id })) });
    }
    const job = this.jobs.get(id ?? '');
    if (!job) return answer(404, { statusCode: 404, message: 'Not found' });
    if (verb === 'cancel') {
      job.status = 'error';
      return answer(202);
    }
    if (method === 'DELETE') {
      if (job.status === 'processing') return answer(403, { statusCode: 403 });
      await script.hold?.('delete');
      this.jobs.delete(job.id);
      this.uploads.delete(String(job.request['audio_url']).split('/').at(-1) ?? '');
      return answer(202);
    }
    const code = script.failWith?.(this.begun);
    if (job.status === 'processing' && !script.isSlow)
      job.status = code === undefined ? 'done' : 'error';
    return answer(200, {
      id: job.id,
      kind: 'pre-recorded',
      status: job.status,
      error_code: job.status === 'error' ? (code ?? 499) : null,
      result:
        job.status === 'done'
          ? {
              metadata: { audio_duration: script.utterancesOf === undefined ? 60 : 86_400 },
              transcription: {
                full_transcript: '',
                utterances: script.utterancesOf?.(job) ?? script.utterances ?? [],
              },
            }
          : null,
    });
  }
}

function answer(status: number, body?: object): JobAnswer {
  return { status, ...(body === undefined ? {} : { body }) };
}

function scripted(refusal: JobAnswer): JobAnswer {
  return { body: { statusCode: refusal.status, message: 'scripted' }, ...refusal };
}

/** One utterance of a job's result. */
export function spoken(channel: number, start: number, text: string): object {
  const end = start + text.split(' ').length / 4;
  return { channel, start, end, text: ` ${text}`, language: 'en', confidence: 0.9, words: [] };
}
