import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { RelayDesk } from '../../../src/bridge/relay/desk.ts';
import { RelayedStream } from '../../../src/bridge/relay/relayed-stream.ts';
import type { CallStream, OpenedStream, StreamEvent } from '../../../src/bridge/streams.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { quietLog, streamStart, TestControl } from '../../support/bridge/test-bridge.ts';
import { until } from '../../support/process/until.ts';

/** A call that writes down what it is told, behind a real socket that a test can cut. */
const server = createServer();
const sockets = new WebSocketServer({ server });
let port = 0;
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ({ port } = server.address() as AddressInfo);
});
afterAll(() => {
  for (const socket of sockets.clients) socket.terminate();
  server.close();
});

class WrittenCall implements CallStream {
  readonly callId = 'call_1';
  readonly heard: StreamEvent[] = [];
  ends: string[] = [];
  onTake: () => void = () => undefined;
  onEnd: () => void = () => undefined;
  take(event: StreamEvent): void {
    this.onTake();
    this.heard.push(event.type === 'audio' ? { ...event, payload: Buffer.from(event.payload) } : event); // prettier-ignore
  }
  end(reason: string): void {
    this.ends.push(reason);
    this.onEnd();
  }
  get audio(): Buffer {
    return Buffer.concat(
      this.heard.flatMap((event) => (event.type === 'audio' ? [event.payload] : [])),
    );
  }
}

function rig(answer: (call: WrittenCall) => OpenedStream | undefined) {
  const call = new WrittenCall();
  const desk = new RelayDesk({
    open: () => Promise.resolve(answer(call)),
    clock: systemClock,
    log: quietLog,
  });
  sockets.removeAllListeners('connection');
  sockets.on('connection', (socket) => {
    socket.on('error', () => undefined);
    desk.accept(socket);
  });
  const here = new WrittenCall();
  const control = new TestControl();
  const lines: WebSocket[] = [];
  let reopened = 0;
  let confirmed = 0;
  const open = () =>
    RelayedStream.open({
      start: streamStart({ tracks: [{ name: 'inbound', channels: 1 }, { name: 'outbound', channels: 1 }] }), // prettier-ignore
      control,
      connect: () => {
        const line = new WebSocket(`ws://127.0.0.1:${port}`, { allowSynchronousEvents: false });
        line.on('error', () => line.terminate());
        line.on('message', (data: Buffer) => {
          const message = JSON.parse(data.toString()) as { type: string; taken: number };
          if (message.type === 'taken') confirmed = message.taken;
        });
        lines.push(line);
        return line;
      },
      reopen: () => {
        reopened++;
        return Promise.resolve({ outcome: 'opened', stream: here, startPaused: false });
      },
      durationMsOf: (bytes) => bytes / 8,
      clock: systemClock,
      log: quietLog,
    });
  return { call, here, control, lines, open, reopened: () => reopened, confirmed: () => confirmed };
}

const opened = (stream: CallStream): OpenedStream => ({
  outcome: 'opened',
  stream,
  startPaused: false,
});

const frame = (number: number): StreamEvent => {
  const payload = Buffer.alloc(160);
  payload.writeUInt32BE(number);
  return { type: 'audio', track: number % 2 === 0 ? 'inbound' : 'outbound', payload };
};

test('a way that is cut again and again: each frame and event comes once, in order, with its track', async () => {
  const { call, lines, open, reopened } = rig(opened);
  const relayed = await open();
  if (relayed?.outcome !== 'opened') throw new Error('not opened');
  const sent: StreamEvent[] = [];
  for (let number = 0; number < 2_000; number++) {
    const event: StreamEvent =
      number % 100 === 99 ? { type: 'dtmf', digit: String(number % 10), track: 'inbound' } : frame(number); // prettier-ignore
    sent.push(event);
    relayed.stream.take(event);
    if (number % 300 === 150) lines.at(-1)?.terminate();
    if (number % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
    if (number % 300 === 280) await until(() => lines.at(-1)?.readyState === WebSocket.OPEN);
  }
  relayed.stream.end('stop');
  await until(() => call.ends.length > 0);
  const heard = call.heard.filter(({ type }) => type !== 'waited');
  expect(heard).toEqual(sent);
  expect(call.ends).toEqual(['stop']);
  expect(lines.length).toBeGreaterThan(3);
  expect(reopened()).toBe(0);
});

test.each([
  ['over one way', false],
  ['also where the way is cut behind its end', true],
])(
  'a stream that has waited so long that more of it comes at once than is sent unconfirmed, and that is over: all of it comes, and then its end, %s',
  async (_, isCut) => {
    const { call, lines, open, reopened } = rig(opened);
    const relayed = await open();
    if (relayed?.outcome !== 'opened') throw new Error('not opened');
    const sent = Array.from({ length: 3_000 }, (_none, number) => frame(number));
    // At the first frame nobody has read a confirmation, so a cut there is always followed by a second way.
    if (isCut) call.onTake = () => lines[0]?.terminate();
    for (const event of sent) relayed.stream.take(event);
    relayed.stream.end('close');
    await until(() => call.ends.length > 0 && lines.at(-1)?.readyState === WebSocket.CLOSED);
    expect(call.heard.filter(({ type }) => type !== 'waited')).toEqual(sent);
    expect(lines).toHaveLength(isCut ? 2 : 1);
    expect(reopened()).toBe(0);
  },
);

test('a way that is cut when the end has been taken and not confirmed: nothing comes twice, and it ends once', async () => {
  const { call, lines, open, confirmed, reopened } = rig(opened);
  const relayed = await open();
  if (relayed?.outcome !== 'opened') throw new Error('not opened');
  const sent = Array.from({ length: 110 }, (_none, number) => frame(number));
  for (const event of sent.slice(0, 100)) relayed.stream.take(event);
  await until(() => confirmed() === 100);
  for (const event of sent.slice(100)) relayed.stream.take(event);
  // In the moment in which the call has its end, nobody has read the confirmation.
  call.onEnd = () => lines[0]?.terminate();
  relayed.stream.end('stop');
  await until(() => lines.length === 2 && lines[1]?.readyState === WebSocket.CLOSED);
  expect(call.heard.filter(({ type }) => type !== 'waited')).toEqual(sent);
  expect(call.ends).toEqual(['stop']);
  expect(reopened()).toBe(0);
});

test('a node that has the call no more: what comes goes to whoever has it, and the end too', async () => {
  let isThere = true;
  const { call, here, lines, open, confirmed } = rig((written) =>
    isThere ? opened(written) : undefined,
  );
  const relayed = await open();
  if (relayed?.outcome !== 'opened') throw new Error('not opened');
  for (let number = 0; number < 100; number++) relayed.stream.take(frame(number));
  // Confirmed, not only heard: a cut in between leaves open what the first process has.
  await until(() => confirmed() === 100);
  isThere = false;
  // As if its process had been started anew: it knows neither the call nor the relay.
  sockets.removeAllListeners('connection');
  const anew = new RelayDesk({ open: () => Promise.resolve(undefined), clock: systemClock, log: quietLog }); // prettier-ignore
  sockets.on('connection', (socket) => anew.accept(socket));
  lines.at(-1)?.terminate();
  for (let number = 100; number < 150; number++) relayed.stream.take(frame(number));
  relayed.stream.end('close');
  await until(() => here.ends.length > 0);
  const numbers = here.heard.flatMap((event) =>
    event.type === 'audio' ? [event.payload.readUInt32BE()] : [],
  );
  // The first process has what was sent before the cut, the second what came after it.
  expect(call.audio).toHaveLength(100 * 160);
  expect(numbers).toEqual(Array.from({ length: 50 }, (_, at) => 100 + at));
  expect(here.ends).toEqual(['close']);
});

test('a node that takes nothing more: what it cannot have taken goes to whoever has the call', async () => {
  const { here, open, confirmed } = rig(opened);
  const relayed = await open();
  if (relayed?.outcome !== 'opened') throw new Error('not opened');
  for (let number = 0; number < 100; number++) relayed.stream.take(frame(number));
  await until(() => confirmed() === 100);
  // It stands still: its socket is open, and nobody reads.
  for (const socket of sockets.clients) socket.pause();
  sockets.removeAllListeners('connection');
  sockets.on('connection', (socket) => socket.terminate());
  for (let number = 100; number < 200; number++) relayed.stream.take(frame(number));
  await until(() => here.heard.length > 0);
  const numbers = here.heard.flatMap((event) =>
    event.type === 'audio' ? [event.payload.readUInt32BE()] : [],
  );
  expect(numbers).toEqual(Array.from({ length: 75 }, (_, at) => 125 + at));
  const [waited] = here.heard;
  expect(waited).toMatchObject({ type: 'waited' });
  relayed.stream.end('close');
});

test('the call’s orders reach the carrier: pause, results, and that it must go', async () => {
  let control: { pause(): void; disconnect(reason: string): void } | undefined;
  const call = new WrittenCall();
  const { open, control: carrier } = rig(() => undefined);
  const desk = new RelayDesk({
    open: (_start, given) => {
      control = given;
      given.pause(); // before there is a stream: the answer itself says how it begins
      return Promise.resolve(opened(call));
    },
    clock: systemClock,
    log: quietLog,
  });
  sockets.removeAllListeners('connection');
  sockets.on('connection', (socket) => desk.accept(socket));
  const relayed = await open();
  expect(relayed?.outcome).toBe('opened');
  control?.pause();
  control?.disconnect('erased');
  await until(() => carrier.asked.includes('disconnect'));
  expect(carrier.asked).toContain('pause');
});

test.each([
  ['no message that we know', '{"type":"open"}'],
  ['no text at all', Buffer.from([1, 2, 3])],
  ['audio before it is open', Buffer.alloc(161)],
  ['a deep message', '['.repeat(100_000)],
])('a peer that sends %s is cut off, and nothing is opened', async (_what, message) => {
  let isAsked = false;
  rig(() => {
    isAsked = true;
    return undefined;
  });
  const peer = new WebSocket(`ws://127.0.0.1:${port}`);
  peer.on('open', () => peer.send(message));
  await new Promise((resolve) => peer.once('close', resolve));
  expect(isAsked).toBe(false);
});
