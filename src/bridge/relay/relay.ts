import express, { type Router } from 'express';
import { bytesPerSecondOf } from '../records/leg-record.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import { byTokenHeader, type NodeLink } from '../../nodes/link.ts';
import type { Membership } from '../../nodes/membership.ts';
import { markByToken } from '../../port/keys.ts';
import { problemHandler } from '../../port/problem.ts';
import type { Store } from '../../store/store.ts';
import type { LiveFeed } from '../live-feed.ts';
import type { Calls } from '../call/calls.ts';
import { bridgeMetrics } from '../metrics.ts';
import type { Recordings } from '../recordings/recordings.ts';
import type { OpenedStream, StreamControl, StreamStart } from '../streams.ts';
import { toOwner } from './owner.ts';
import { eventsSince } from '../events/past-events.ts';
import { RelayDesk } from './desk.ts';
import { RelayedStream } from './relayed-stream.ts';
import { RemoteFeeds } from './remote-feeds.ts';

type RelayOptions = {
  link: NodeLink;
  nodes: Membership;
  calls: Calls;
  feed: LiveFeed;
  store: Store;
  recordings: Pick<Recordings, 'areStored'>;
  /** The routes that other nodes may use for calls of this node. Operators use them too. */
  api: readonly Router[];
  clock: Clock;
  log: Logger;
};

/**
 * Connects the bridge with the other nodes. Its router must come before the routers that answer for calls of this node.
 */
export function openRelay(options: RelayOptions): { router: Router } & Disposable {
  const { link, nodes, calls, feed, store, clock, log } = options;
  const desk = new RelayDesk({
    open: (start, control) => calls.openOwn(start, control),
    clock,
    log,
  });
  const feeds = new RemoteFeeds({
    feed,
    peers: () => nodes.peers(),
    connect: (address) => link.connect(address, '/node/feed'),
    eventsSince: (ms) => eventsSince(store.db, ms),
    clock,
  });
  const api = express();
  api.disable('x-powered-by');
  api.use(express.json());
  api.use((request, response, next) => {
    if (request.headers[byTokenHeader] !== undefined) markByToken(response);
    next();
  });
  for (const router of options.api) api.use(router);
  api.use((_request, response) => void response.status(404).end());
  api.use(problemHandler((error) => log.error({ err: error }, 'a request of a node failed')));
  link.serve({
    api,
    sockets: {
      '/node/streams': (socket) => desk.accept(socket),
      '/node/feed': (socket) => feeds.serve(socket),
    },
  });
  const router = toOwner({
    store,
    node: nodes.node,
    addressOf: async (node) => (await nodes.peers()).get(node),
    forward: (...passed) => link.forward(...passed),
    isInStore: (callId) => options.recordings.areStored(callId),
  });
  return { router, [Symbol.dispose]: () => feeds[Symbol.dispose]() };
}

type RelayToOptions = {
  link: NodeLink;
  nodes: Membership;
  openStream: (start: StreamStart, control: StreamControl) => Promise<OpenedStream>;
  clock: Clock;
  log: Logger;
};

/**
 * Returns a function that sends a stream to its call at another node. Its result is undefined if that node is down or
 * refuses us.
 */
export function relayTo({ link, nodes, openStream, clock, log }: RelayToOptions) {
  return async (
    node: string,
    start: StreamStart,
    control: StreamControl,
  ): Promise<OpenedStream | undefined> => {
    const address = (await nodes.peers()).get(node);
    if (address === undefined) return undefined;
    const format = {
      encoding: start.encoding,
      sampleRate: start.sampleRate,
      channels: start.tracks[0]?.channels ?? 1,
    };
    const opened = await RelayedStream.open({
      start,
      control,
      connect: () => link.connect(address, '/node/streams'),
      reopen: () => openStream(start, control),
      durationMsOf: (bytes) => (bytes / bytesPerSecondOf(format)) * 1_000,
      clock,
      log,
    });
    if (opened?.outcome === 'opened') bridgeMetrics.relayed.inc({ way: 'out' });
    return opened;
  };
}
