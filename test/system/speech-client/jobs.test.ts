import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { createLog } from '../../../src/lib/log.ts';
import { SpeechJobs } from '../../../src/speech-client/jobs-api.ts';
import { SpeechNodes } from '../../../src/speech-client/speech-nodes.ts';
import { until } from '../../support/process/until.ts';

function nodesOf(url: string): SpeechNodes {
  return new SpeechNodes({
    nodes: () => [{ name: url, target: { url, keyHeader: 'x-service-key' }, isOfFleet: false }],
    probe: () => Promise.resolve(true),
    clock: systemClock,
    log: createLog({ level: 'silent' }),
  });
}

test('an upload to a service that reads nothing stays where it is, with little in memory, until it is broken off', async () => {
  const sockets: Socket[] = [];
  const server = createServer((request) => request.pause());
  server.on('connection', (socket) => sockets.push(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const jobs = new SpeechJobs(nodesOf(url), systemClock);
  const pieceBytes = 320_000;
  const pieces = 2_000;
  let given = 0;
  async function* read() {
    for (; given < pieces; given++) {
      await new Promise((resolve) => setImmediate(resolve));
      yield Buffer.alloc(pieceBytes);
    }
  }
  const leave = new AbortController();
  const audio = { filename: 'a.wav', bytes: pieces * pieceBytes, read };
  const uploading = jobs.upload(audio, leave.signal);
  // The buffers of this machine's sockets are soon full; after that nothing is read any more.
  let before = -1;
  await until(() => {
    const stands = given > 0 && given === before;
    before = given;
    return stands;
  });
  expect(given * pieceBytes).toBeLessThan(32_000_000);
  leave.abort();
  for (const socket of sockets) socket.resume();
  server.closeAllConnections();
  expect(await uploading).toMatchObject({ outcome: 'later' });
  await jobs.close();
  server.close();
});
