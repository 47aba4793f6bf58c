import { EventEmitter } from 'node:events';
import type { WebSocket } from 'ws';
import { expect, test } from 'vitest';
import { type FeedEvent, type FeedMessage, LiveFeed } from '../../../../src/bridge/live-feed.ts';
import { RemoteFeeds } from '../../../../src/bridge/relay/remote-feeds.ts';
import { TestClock } from '../../../support/clock/test-clock.ts';

function eventOf(sequence: number): FeedEvent {
  return { id: `evt_${sequence}`, callId: 'call_1', sequence, type: 'call.transcript', body: '{}' };
}

/** A feed that is watched, with connections to one node that a test opens and cuts. */
function watched(stored: () => FeedEvent[] | undefined) {
  const clock = new TestClock(0);
  const feed = new LiveFeed(10);
  const sockets: EventEmitter[] = [];
  const asked: number[] = [];
  const feeds = new RemoteFeeds({
    feed,
    peers: () => Promise.resolve(new Map([['other', 'http://other']])),
    connect: () => {
      const socket = Object.assign(new EventEmitter(), {
        terminate: () => void socket.emit('close'),
      });
      sockets.push(socket);
      return socket as unknown as WebSocket;
    },
    eventsSince: (ms) => {
      asked.push(ms);
      return Promise.resolve(stored());
    },
    clock,
  });
  const told: string[] = [];
  feed.watch((message: FeedMessage) =>
    told.push(message.kind === 'event' ? message.event.id : message.kind),
  );
  const settled = async (): Promise<void> => {
    for (let turn = 0; turn < 10; turn++) await Promise.resolve();
  };
  return { feeds, feed, clock, sockets, asked, told, settled };
}

test('what another node told before its feed was open is told from the rows, and again after a cut', async () => {
  const stored = [eventOf(1)];
  const { feeds, feed, clock, sockets, asked, told, settled } = watched(() => stored);
  using _ = feeds;
  await clock.pass(0);
  await settled();
  expect(sockets).toHaveLength(1);
  // The node is slow to answer. Its call has an event meanwhile.
  await clock.pass(1_500);
  sockets[0]?.emit('open');
  await settled();
  expect(asked).toEqual([0]);
  expect(told).toEqual(['evt_1']);
  // An event before a watcher's last one may be another node's: only the rows know.
  expect(feed.since('evt_1')).toEqual({ outcome: 'unknown' });

  sockets[0]?.emit('close');
  const cutMs = clock.now();
  stored.push(eventOf(2));
  await clock.pass(2_000);
  await settled();
  sockets[1]?.emit('open');
  await settled();
  expect(asked).toEqual([0, cutMs]);
  expect(told).toEqual(['evt_1', 'reset', 'evt_1', 'evt_2']);
});

test('more events than can be told one by one let watchers load anew', async () => {
  const { feeds, clock, sockets, told, settled } = watched(() => undefined);
  using _ = feeds;
  await clock.pass(0);
  await settled();
  sockets[0]?.emit('open');
  await settled();
  expect(told).toEqual(['reset']);
});

test('rows that cannot be read are asked for again with the next connection', async () => {
  let isAway = true;
  const { feeds, clock, sockets, told, settled } = watched(() => {
    if (isAway) throw new Error('the database is away');
    return [eventOf(1)];
  });
  using _ = feeds;
  await clock.pass(0);
  await settled();
  sockets[0]?.emit('open');
  await settled();
  isAway = false;
  await clock.pass(2_000);
  await settled();
  sockets[1]?.emit('open');
  await settled();
  expect(told).toEqual(['reset', 'evt_1']);
});
