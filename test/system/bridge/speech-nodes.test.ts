import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { WebSocket } from 'ws';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { callAt, endedCallAt, expectToldOnce, fleetOf, nodesSeenBy } from '../../support/bridge/fleet.ts'; // prettier-ignore
import type { AnyJson } from '../../support/bridge/test-bridge.ts';
import type { App } from '../../support/process/app.ts';
import { newestCall } from '../../support/process/newest-call.ts';
import { until } from '../../support/process/until.ts';
import { seededAudio } from '../../support/speech/audio.ts';
import { buildWavHeader } from '../../support/speech/wav-file.ts';
import { postgresMissing, startPostgres, type TestPostgres } from '../../support/store/postgres.ts';

let postgres: TestPostgres | undefined;
beforeAll(async () => {
  if (postgresMissing === undefined) postgres = await startPostgres();
});
afterAll(() => postgres?.[Symbol.asyncDispose]());

/** Each node has the whole program: its own speech service as well. */
const whole = { TRUNKLINE_ROLES: 'bridge,speech,console', TRUNKLINE_SPEECH_URL: '' };

async function sessionAt(app: App): Promise<{ id: string; url: string }> {
  const answer = await app.get('/v2/live', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      encoding: 'wav/ulaw',
      bit_depth: 8,
      sample_rate: 8_000,
      channels: 1,
      messages_config: { receive_acknowledgments: true },
    }),
  });
  expect(answer.status).toBe(201);
  return (await answer.json()) as { id: string; url: string };
}

/** The session's address, at another node's door. */
function throughDoor(url: string, door: App): WebSocket {
  const { search } = new URL(url);
  return new WebSocket(`${door.url.replace('http', 'ws')}/v2/live${search}`);
}

test.skipIf(postgresMissing !== undefined)(
  'the socket of a live session reaches the node that has it from any node, audio, acks and the end',
  async () => {
    await using fleet = await fleetOf(2, postgres, whole);
    const [owner, door] = fleet.nodes as [App, App];
    const session = await sessionAt(owner);
    const socket = throughDoor(session.url, door);
    const messages: AnyJson[] = [];
    socket.on('message', (data: Buffer) => messages.push(JSON.parse(data.toString())));
    const closed = new Promise<number>((resolve) => socket.once('close', resolve));
    await new Promise((resolve) => socket.once('open', resolve));
    for (let at = 0; at < 16_000; at += 800) socket.send(Buffer.alloc(800, 0xff));
    await until(() =>
      messages.some(
        ({ type, data }) => type === 'audio_chunk' && data?.byte_range?.at(-1) === 16_000,
      ),
    );
    socket.send('{"type":"stop_recording"}');
    expect(await closed).toBe(1000);
    const record = await until(async () => {
      const found = (await (await door.get(`/v2/live/${session.id}`)).json()) as AnyJson;
      return found.status === 'done' && found;
    });
    expect(record.result.metadata.audio_duration).toBe(2);
    // Over, it says so at any door.
    const late = throughDoor(session.url, door);
    expect(await new Promise((resolve) => late.once('close', resolve))).toBe(4403);
    // Its audio, and an uploaded file, lie on the disk of the one and are read and deleted through the other.
    const heard = await door.get(`/v2/live/${session.id}/file`, {
      headers: { range: 'bytes=0-99' },
    });
    expect([heard.status, (await heard.arrayBuffer()).byteLength]).toEqual([206, 100]);
    const form = new FormData();
    form.set(
      'audio',
      new Blob([Buffer.concat([buildWavHeader(16_000), Buffer.alloc(16_000)])]),
      'a.wav',
    );
    const stored = (await (await owner.get('/v2/upload', { method: 'POST', body: form })).json()) as AnyJson; // prettier-ignore
    const { pathname } = new URL(stored.audio_url);
    const bytes = async (app: App) => Buffer.from(await (await app.get(pathname)).arrayBuffer());
    expect((await bytes(door)).equals(await bytes(owner))).toBe(true);
    expect((await door.get(pathname, { method: 'DELETE' })).status).toBe(202);
    expect((await owner.get(pathname)).status).toBe(404);
    expect((await door.get(`/v2/live/${session.id}`, { method: 'DELETE' })).status).toBe(202);
    expect((await readdir(join(owner.dataDir, 'speech'))).some((name) => name.startsWith(session.id))).toBe(false); // prettier-ignore
    const stranger = throughDoor('ws://x/?token=nobody-knows-this-token', door);
    expect(await new Promise((resolve) => stranger.once('close', resolve))).toBe(4401);
  },
  120_000,
);

test.skipIf(postgresMissing !== undefined)(
  'a node is lost with its own speech service: its sessions end in error, its call ends elsewhere, what was not said is a gap',
  async () => {
    await using fleet = await fleetOf(2, postgres, whole);
    const [lost, left] = fleet.nodes as [App, App];
    const idle = await sessionAt(lost);
    const { say } = await callAt(lost);
    say(seededAudio(16_000, 1));
    await until(async () => (await newestCall(left))?.legs[0]?.ledger.acknowledged === 16_000);
    await until(async () => (await nodesSeenBy(left)).length === 2);
    await lost.end('SIGKILL');
    await rm(lost.dataDir, { recursive: true, force: true });
    const { call, events } = await endedCallAt(left);
    expectToldOnce(events);
    // The last state that the lost node shared may be a second old. The acks after it are unknown and become a gap.
    const ledger = call.legs[0].ledger as Record<'received' | 'acknowledged' | 'gaps', number>;
    expect(ledger.acknowledged + ledger.gaps).toBe(ledger.received);
    const unsaid = events.filter(({ type, data }) => type === 'call.gap' && data.cause === 'node');
    expect(unsaid.length).toBeGreaterThan(0);
    expect(unsaid[0].data).toMatchObject({ start: 0 });
    expect(call.incomplete.causes[0].cause).toBe('node');
    const record = (await (await left.get(`/v2/live/${idle.id}`)).json()) as AnyJson;
    expect(record).toMatchObject({ status: 'error', error_code: 500 });
    expect(record.error_message).toContain('from the last acknowledgement on');
  },
  120_000,
);
