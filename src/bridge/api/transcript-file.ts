import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Response } from 'express';
import type { Kysely } from 'kysely';
import { reasonOf } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import type { ApiCall } from '../../protocol/api.ts';
import type { Database } from '../../store/schema.ts';
import { turnPages } from '../events/turn-pages.ts';
import { transcriptPieces, transcriptTypes, type TranscriptFormat } from './call-transcript.ts';

type SentTranscript = {
  db: Kysely<Database>;
  call: Pick<ApiCall, 'id' | 'state'>;
  format: TranscriptFormat;
  response: Response;
  log: Logger;
};

/** Sends a call's transcript as fast as its reader takes it: a page of it is in memory. */
export async function sendTranscript({
  db,
  call,
  format,
  response,
  log,
}: SentTranscript): Promise<void> {
  const { id, state } = call;
  const pages = turnPages(db, id);
  // An error before the first words is an answer of its own.
  const first = await pages.next();
  // The file name is safe in a header: it contains only the call's id, which we generate, and nothing from a request.
  if (format !== 'json')
    response.setHeader('content-disposition', `attachment; filename="${id}.${format}"`);
  response.setHeader('content-type', transcriptTypes[format]);
  const text = transcriptPieces({ id, state, pages: withFirst(first, pages) }, format);
  try {
    await pipeline(Readable.from(text, { objectMode: true, highWaterMark: 1 }), response);
  } catch (error) {
    // The reader left, or the words changed meanwhile: the file is cut, so that nobody takes it for whole.
    log.info({ callId: id, reason: reasonOf(error) }, 'a transcript was cut');
  }
}

async function* withFirst<Page>(
  first: IteratorResult<Page>,
  rest: AsyncGenerator<Page>,
): AsyncGenerator<Page> {
  if (first.done !== true) yield first.value;
  yield* rest;
}
