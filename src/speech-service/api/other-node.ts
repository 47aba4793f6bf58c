import express, { type Request, type Response, type Router } from 'express';
import { Problem } from '../../port/problem.ts';
import type { Store } from '../../store/store.ts';
import type { OtherSpeechNodes } from '../live/sockets.ts';

const readWithinMs = 5_000;
const changeWithinMs = 15_000;

type OtherNodeOptions = { store: Store; node: string; others: OtherSpeechNodes };

/**
 * Audio lies on the disk of one node. A request to read or delete it at another node is forwarded there. If that node
 * is away, reading fails for now, while deleting removes the row: the node deletes bytes without a row when it returns.
 */
export function toOtherNode({ store, node, others }: OtherNodeOptions): Router {
  const router = express.Router();
  const pass = async (
    owner: string | undefined,
    request: Request<{ id: string }>,
    response: Response,
    next: () => void,
  ): Promise<void> => {
    if (owner === undefined || owner === node) {
      next();
      return;
    }
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    const withinMs = isRead ? readWithinMs : changeWithinMs;
    if (await others.forward(owner, request, response, withinMs)) return;
    if (response.destroyed) return;
    if (isRead)
      throw new Problem(503, 'the audio lies on the disk of another node, which does not answer', {
        headers: { 'retry-after': '5' },
      });
    next();
  };
  for (const base of ['/v2/live', '/v2/pre-recorded', '/v2/transcription']) {
    router.get(`${base}/:id/file`, async (request, response, next) => {
      await pass(await ownerOfAudio(store, request.params.id), request, response, next);
    });
    router.delete(`${base}/:id`, async (request, response, next) => {
      await pass(await ownerOfAudio(store, request.params.id), request, response, next);
    });
  }
  router.get('/file/:id', async (request, response, next) => {
    await pass(await ownerOfFile(store, request.params.id), request, response, next);
  });
  router.delete('/file/:id', async (request, response, next) => {
    await pass(await ownerOfFile(store, request.params.id), request, response, next);
  });
  return router;
}

const known = /^[0-9a-f-]{36}$/i;

/** The node that holds the audio of a session or the file of a job. Undefined if there is no audio. */
async function ownerOfAudio(store: Store, id: string): Promise<string | undefined> {
  if (!known.test(id)) return undefined;
  const job = await store.db
    .selectFrom('speech_jobs')
    .select(['kind', 'node', 'file_id'])
    .where('id', '=', id.toLowerCase())
    .executeTakeFirst();
  if (job?.kind === 'live') return job.node;
  return job?.file_id == null ? undefined : ownerOfFile(store, job.file_id);
}

async function ownerOfFile(store: Store, id: string): Promise<string | undefined> {
  if (!known.test(id)) return undefined;
  const file = await store.db
    .selectFrom('speech_files')
    .select('node')
    .where('id', '=', id.toLowerCase())
    .executeTakeFirst();
  return file?.node;
}
