import type { Request, Response } from 'express';
import type { Kysely } from 'kysely';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Problem } from '../../port/problem.ts';
import type { Role } from '../../protocol/events.ts';
import type { Database } from '../../store/store.ts';
import { legRecordFrom } from '../events/call-rows.ts';
import type { Journal } from '../journal/journal.ts';
import { rangeOf, StereoRecording, type RecordedLeg } from './recording.ts';

type Options = {
  db: Kysely<Database>;
  journal: Journal;
  stereoRoles: readonly [Role, Role];
  callId: string;
  request: Request<{ id: string }>;
  response: Response;
};

/** GET /api/calls/{id}/recording: a stereo WAV, any range of it. */
export async function sendRecording(options: Options): Promise<void> {
  const { request, response } = options;
  const recording = new StereoRecording(await recordedLegs(options));
  const range = rangeOf(request.headers.range, recording.bytes);
  response.set({ 'accept-ranges': 'bytes', 'content-type': 'audio/wav' });
  if (range === 'unsatisfiable') {
    response.set('content-range', `bytes */${recording.bytes}`);
    throw new Problem(416, 'the recording is shorter than that');
  }
  const { from, to } = range === 'whole' ? { from: 0, to: recording.bytes } : range;
  if (range !== 'whole')
    response.status(206).set('content-range', `bytes ${from}-${to - 1}/${recording.bytes}`);
  response.set('content-length', String(to - from));
  if (request.method === 'HEAD') {
    response.end();
    return;
  }
  try {
    await pipeline(Readable.from(recording.read(from, to)), response);
  } catch {
    // Whoever asked has gone away, or the disk failed mid-way: the short answer says so by itself.
    response.destroy();
  }
}

async function recordedLegs({ db, journal, callId, stereoRoles }: Options): Promise<RecordedLeg[]> {
  const call = await db
    .selectFrom('calls')
    .select('id')
    .where('id', '=', callId)
    .executeTakeFirst();
  if (call === undefined) throw new Problem(404, 'call not found');
  const rows = await db
    .selectFrom('legs')
    .selectAll()
    .where('call_id', '=', callId)
    .orderBy('id')
    .execute();
  const legs: RecordedLeg[] = [];
  for (const row of rows) {
    const recording = await journal.recordingOf(row.id);
    if (recording === undefined) continue;
    legs.push({
      ...legRecordFrom(row, stereoRoles),
      offsetS: (row.offset_ms ?? 0) / 1_000,
      bytes: recording.bytes,
      read: (from, to) => recording.read(from, to),
    });
  }
  if (legs.length === 0) throw new Problem(404, 'the call has no recording');
  return legs;
}
