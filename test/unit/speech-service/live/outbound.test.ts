import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import type { WebSocket } from 'ws';
import { maxStalledMs, Outbound } from '../../../../src/speech-service/live/outgoing/outbound.ts';
import { TestClock } from '../../../support/clock/test-clock.ts';

/** A socket whose peer reads when it is told to. */
function slowSocket() {
  const socket = Object.assign(new EventEmitter(), {
    OPEN: 1,
    readyState: 1,
    bufferedAmount: 0,
    wasCut: false,
    send: (text: string) => {
      socket.bufferedAmount += text.length;
    },
    ping: () => undefined,
    terminate: () => {
      socket.wasCut = true;
    },
  });
  return socket;
}

test('a socket from which nothing drains is cut, although it holds little', async () => {
  const clock = new TestClock(0);
  const outbound = new Outbound(clock);
  const socket = slowSocket();
  outbound.attach(socket as unknown as WebSocket);
  outbound.send('x'.repeat(1_000), 'message');
  await clock.pass(maxStalledMs - 2_000);
  outbound.send('more', 'message');
  expect(socket.wasCut).toBe(false);
  await clock.pass(4_000);
  expect(socket.wasCut).toBe(true);
});

test('a slow reader that takes a little each time is left alone', async () => {
  const clock = new TestClock(0);
  const outbound = new Outbound(clock);
  const socket = slowSocket();
  outbound.attach(socket as unknown as WebSocket);
  outbound.send('x'.repeat(1_000), 'message');
  for (let second = 0; second < 60; second++) {
    socket.bufferedAmount -= 10;
    outbound.send('0123456789', 'message');
    await clock.pass(1_000);
  }
  expect(socket.wasCut).toBe(false);
});
