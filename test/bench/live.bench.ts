/**
 * The live speech service over loopback, in a process of its own, with the generated model (tones in,
 * known words out): everything but real recognition is the real thing. The client shares the machine.
 *
 *   opened and closed   20 lanes, each POST, connect, stop, close 1000, for 5 s
 *   idle                500 connected sessions without audio: memory each, event loop p99 over 5 s
 *   acks                100 sessions, one 160-byte frame each 20 ms for 10 s: time from send to ack
 *   floods              20 sessions as above, and beside them four that send 20,000 unknown commands,
 *                       one-byte frames, broken base64 and deep JSON each: acks of the 20, longest stall
 */
import { WebSocket } from 'ws';
import {
  connect,
  mulawOf,
  speechApi,
  telephony,
  type TestClient,
} from '../support/speech/speech-service.ts';
import { speechProcess, type SpeechProcess } from '../support/speech/speech-process.ts';
import { temporaryFolder } from '../support/store/store.ts';

export async function run(): Promise<void> {
  await using folder = await temporaryFolder();
  await using service = await speechProcess(folder.path, {
    config: { idleS: 600, maximumSessions: 2_000 },
  });
  console.log(await openedAndClosed(service));
  console.log(await idle(service));
  console.log(await acks(service));
  console.log(await floods(service));
}

async function openedAndClosed(service: SpeechProcess): Promise<string> {
  const api = speechApi(service.url);
  const until = performance.now() + 5_000;
  const times: number[] = [];
  const lane = async (): Promise<void> => {
    while (performance.now() < until) {
      const startedMs = performance.now();
      const client = await connect((await api.postWhenFree()).url);
      client.stop();
      await client.closed;
      times.push(performance.now() - startedMs);
    }
  };
  await Promise.all(Array.from({ length: 20 }, lane));
  return `opened and closed: ${(times.length / 5).toFixed(0)} sessions a second, each p50 ${at(times, 0.5)} ms, p99 ${at(times, 0.99)} ms`;
}

async function idle(service: SpeechProcess): Promise<string> {
  const api = speechApi(service.url);
  const before = await service.figures();
  const clients: TestClient[] = [];
  for (let count = 0; count < 500; count++)
    clients.push(await connect((await api.postWhenFree()).url));
  await service.figures();
  const cpuBefore = await service.figures();
  await new Promise((resolve) => setTimeout(resolve, 5_000));
  const after = await service.figures();
  for (const client of clients) client.stop();
  await Promise.all(clients.map((client) => client.closed));
  const each = (after.rssBytes - before.rssBytes) / 500 / 1024;
  return `500 idle sessions: ${each.toFixed(1)} KiB RSS each, event loop p99 ${after.p99Ms.toFixed(1)} ms, ${((after.cpuMs - cpuBefore.cpuMs) / 50).toFixed(1)} % of a core`;
}

async function acks(service: SpeechProcess): Promise<string> {
  const api = speechApi(service.url);
  const clients: TestClient[] = [];
  const latencies: number[] = [];
  const audio = mulawOf('my card is lost thanks one two three', { gapS: 0.5 });
  for (let count = 0; count < 100; count++) {
    const client = await connect((await api.postWhenFree({ ...telephony, endpointing: 0.2 })).url);
    clients.push(client);
  }
  await service.figures();
  const cpuBefore = await service.figures();
  const sent = clients.map(() => [] as number[]);
  for (const [index, client] of clients.entries())
    client.socket.on('message', (data: Buffer) => {
      if (!data.includes('"audio_chunk"')) return;
      const at = sent[index]?.shift();
      if (at !== undefined) latencies.push(performance.now() - at);
    });
  const startMs = performance.now();
  for (let frame = 0; frame < 500; frame++) {
    for (const [index, client] of clients.entries()) {
      const at = (frame * 160 + index * 480) % (audio.length - 160);
      if (client.socket.readyState !== WebSocket.OPEN) continue;
      sent[index]?.push(performance.now());
      client.socket.send(audio.subarray(at, at + 160));
    }
    await new Promise((resolve) =>
      setTimeout(resolve, Math.max(0, startMs + frame * 20 - performance.now())),
    );
  }
  const tookS = (performance.now() - startMs) / 1e3;
  const after = await service.figures();
  for (const client of clients) client.stop();
  const codes = await Promise.all(clients.map((client) => client.closed));
  const clean = codes.filter(({ code }) => code === 1000).length;
  return (
    `acks at 100 sessions of 50 frames a second (${(500 / tookS).toFixed(1)} reached): p50 ${at(latencies, 0.5)} ms, p99 ${at(latencies, 0.99)} ms, ` +
    `${latencies.length} acks, event loop p99 ${after.p99Ms.toFixed(1)} ms, ${((after.cpuMs - cpuBefore.cpuMs) / tookS / 10).toFixed(0)} % of a core, ${clean} of 100 closed with 1000`
  );
}

async function floods(service: SpeechProcess): Promise<string> {
  const api = speechApi(service.url);
  const calm = await Promise.all(
    Array.from({ length: 20 }, async () => connect((await api.postWhenFree()).url)),
  );
  const latencies: number[] = [];
  const sent = calm.map(() => [] as number[]);
  for (const [index, client] of calm.entries())
    client.socket.on('message', (data: Buffer) => {
      const startedMs = data.includes('"audio_chunk"') ? sent[index]?.shift() : undefined;
      if (startedMs !== undefined) latencies.push(performance.now() - startedMs);
    });
  const attacks = [
    '{"type":"noise"}',
    Buffer.from([0xff]),
    '{"type":"audio_chunk","data":{"chunk":"*"}}',
    '['.repeat(500),
  ];
  const attackers = await Promise.all(
    attacks.map(async (attack) => {
      const client = await connect((await api.postWhenFree()).url);
      return { client, attack, left: 20_000 };
    }),
  );
  await service.figures();
  const silence = Buffer.alloc(160, 0xff);
  while (attackers.some(({ left }) => left > 0)) {
    for (const [index, client] of calm.entries()) {
      sent[index]?.push(performance.now());
      client.socket.send(silence);
    }
    for (const attacker of attackers)
      for (let count = 0; count < 400 && attacker.left > 0; count++, attacker.left--)
        attacker.client.socket.send(attacker.attack);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  for (const client of [...calm, ...attackers.map(({ client }) => client)]) client.stop();
  const codes = await Promise.all(
    [...calm, ...attackers.map(({ client }) => client)].map((client) => client.closed),
  );
  const { longestStallMs } = await service.figures();
  const clean = codes.filter(({ code }) => code === 1000).length;
  return `floods of 80,000 bad messages: longest stall ${longestStallMs.toFixed(1)} ms, acks beside them p50 ${at(latencies, 0.5)} ms, p99 ${at(latencies, 0.99)} ms, ${clean} of ${codes.length} closed with 1000`;
}

function at(values: number[], share: number): string {
  const sorted = [...values].sort((a, b) => a - b);
  return (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN).toFixed(1);
}
