import { connect } from 'node:net';
import type { FloodOrder, FloodReport } from './upgrade-flood.ts';

/*
 * Sends prepared requests at a steady rate and prints the answers. It is a separate program without a WebSocket
 * library, so that its own cost is not counted as the server's.
 */
const order = JSON.parse(process.argv[2] ?? '') as FloodOrder;
const knocks = order.knocks.map(({ request, then }) => ({
  request: Buffer.from(request, 'latin1'),
  then: then === undefined ? undefined : Buffer.from(then, 'base64'),
}));
const answers: Record<string, number> = {};
const latenciesMs: number[] = [];
let sent = 0;
let inFlight = 0;
let mostInFlight = 0;

function knock(): void {
  const at = sent++;
  const { request, then } = knocks[at % knocks.length]!;
  inFlight++;
  mostInFlight = Math.max(mostInFlight, inFlight);
  const startedMs = performance.now();
  // Many addresses are used, because one would run out of ports.
  const localAddress = `127.0.0.${2 + (at % 100)}`;
  const socket = connect({ port: order.port, host: '127.0.0.1', localAddress });
  let answer = '';
  let hasSpoken = false;
  socket.on('error', (error) => (answer ||= String(error)));
  socket.on('data', (bytes: Buffer) => {
    answer += bytes.toString('latin1');
    if (then && !hasSpoken && answer.startsWith('HTTP/1.1 101') && answer.includes('\r\n\r\n')) {
      hasSpoken = true;
      socket.write(then);
      // A close frame ends the connection. Without an answer the client waits for the connection to end.
    } else if (hasSpoken && /\x88[\x02-\x7d]/.test(answer)) socket.destroy();
  });
  socket.on('close', () => {
    inFlight--;
    latenciesMs.push(performance.now() - startedMs);
    answers[answer] = (answers[answer] ?? 0) + 1;
  });
  socket.write(request);
}

const startedMs = performance.now();
const elapsedMs = (): number => performance.now() - startedMs;
while (elapsedMs() < order.seconds * 1_000) {
  // Keeps the schedule: requests that found no room among those in flight are sent when there is some.
  const due = (elapsedMs() / 1_000) * order.perSecond;
  while (sent < due && inFlight < order.atOnce) knock();
  await new Promise((resolve) => setTimeout(resolve, 1));
}
const tookS = elapsedMs() / 1_000;
while (inFlight > 0) await new Promise((resolve) => setTimeout(resolve, 5));
latenciesMs.sort((a, b) => a - b);
const { user, system } = process.cpuUsage();
const report: FloodReport = {
  sent,
  tookS,
  answers,
  mostInFlight,
  latencyMs: {
    p50: latenciesMs[Math.floor(sent * 0.5)] ?? 0,
    p99: latenciesMs[Math.floor(sent * 0.99)] ?? 0,
    most: latenciesMs.at(-1) ?? 0,
  },
  cpuMicros: user + system,
};
process.stdout.write(JSON.stringify(report));
