import type { Request, Response } from 'express';
import type { Kysely } from 'kysely';
import { Problem } from '../../port/problem.ts';
import { sendRange } from '../../port/range.ts';
import type { Role } from '../../protocol/events.ts';
import type { Database } from '../../store/schema.ts';
import { legRecordFrom } from '../events/call-rows.ts';
import type { Journal } from '../journal/journal.ts';
import { StereoRecording, type RecordedLeg } from './recording.ts';

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
  await sendRange(request, response, {
    bytes: recording.bytes,
    headers: { 'content-type': 'audio/wav' },
    read: (from, to) => recording.read(from, to),
  });
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
