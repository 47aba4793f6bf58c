import { wait, type Clock } from '../lib/clock.ts';
import { counted } from '../lib/counted.ts';
import { reasonOf } from '../lib/errors.ts';
import type { Health } from '../lib/health.ts';
import { memoryShortage } from '../port/memory.ts';
import type { TokenDoor } from '../port/keys.ts';
import type { Part } from '../port/part.ts';
import type { Bridge } from './streams.ts';
import type { Calls } from './call/calls.ts';
import type { LiveFeed } from './live-feed.ts';
import { showLive } from './metrics.ts';
import { goOnWithCalls } from './call/after-start.ts';
import { handOverCalls } from './call/hand-over.ts';
import { openParts, type BridgeOptions, type BridgeParts } from './bridge-parts.ts';
import { bridgeRouters } from './bridge-routers.ts';
import type { Retention } from './api/call-retention.ts';
import { lastStreamOf } from './api/last-streams.ts';
import { keepStatus } from './api/statuses.ts';
import { storable } from '../lib/storable.ts';

export type BridgePart = Bridge &
  Part &
  AsyncDisposable & {
    readonly calls: Calls;
    readonly feed: LiveFeed;
    readonly retention: Retention;
    /** Lets the tokens of the panel in. */
    readonly tokenDoor: TokenDoor;
  };

/**
 * Starts the bridge. It takes streams of any carrier, keeps the events and rows of every call, and serves them
 * through the API.
 */
export async function startBridge(options: BridgeOptions): Promise<BridgePart> {
  await using opened = new AsyncDisposableStack();
  const parts = await openParts(opened, options);
  const { calls, feed, retention, recordings, secondPasses, node, clock, log } = parts;
  const { store, nodes } = options;
  const { setAside } = await goOnWithCalls({
    opened,
    calls,
    recordings,
    secondPasses,
    nodes,
    node,
  });
  secondPasses.start();
  showLive(() => ({ calls: calls.all.length, watchers: feed.watchers }));
  const routers = bridgeRouters(opened, options, parts);
  const stack = opened.move();
  return {
    name: 'bridge',
    calls,
    feed,
    retention,
    tokenDoor: parts.panelDoor,
    routers,
    ...streamsOf(options, parts),
    health: () => healthOf(parts),
    missing: () => (parts.recording ? [] : ['recordings (TRUNKLINE_RECORDING=on)']),
    notes: () => notesOf(options, parts, setAside),
    waitsFor: () => {
      const waiting = calls.all.filter((call) => call.state !== 'live').length;
      if (waiting === 0) return undefined;
      return `the last words of ${counted(waiting, 'call')}`;
    },
    leaving() {
      const other = nodes?.relieverAs('bridge');
      if (other !== undefined)
        secondPasses
          .handOver(other)
          .catch((error: unknown) =>
            log.warn({ reason: reasonOf(error) }, 'second passes could not be handed over'),
          );
      return Promise.resolve();
    },
    async drain(deadlineMs) {
      calls.stopAccepting();
      const isRelieved = nodes?.isRelievedAs('bridge') === true;
      await untilFinished(calls, clock, Math.min(deadlineMs, isRelieved ? lastWordsMs : Infinity));
      if (isRelieved)
        await handOverCalls({ calls, store, nodes, clock, log }).catch((error: unknown) =>
          log.warn(
            { err: error },
            'calls could not be handed over; the others wait for our silence',
          ),
        );
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/**
 * The interface for carriers. Text from a carrier is cleaned here, once, so that the database can store it before it is
 * compared, kept or sent on.
 */
function streamsOf({ store }: BridgeOptions, { calls, tokens, clock }: BridgeParts): Bridge {
  return {
    openStream: (start, control) => calls.openStream(storable(start), control),
    claimToken: (token, carrier, carrierCallId) =>
      tokens.claim(token, carrier, storable(carrierCallId)),
    mintToken: (request) => tokens.mint(storable(request)),
    claimNonce: (scheme, nonce, untilMs) => tokens.claimNonce(scheme, nonce, untilMs),
    lastStreamAt: (carrier) => lastStreamOf(store.db, carrier),
    async carrierStatus(carrier, carrierCallId, status) {
      const told = storable({ carrier, carrierCallId, status });
      await keepStatus(store, clock, told);
      await calls.told(told);
    },
  };
}

function healthOf({ journal, speech, calls }: BridgeParts): Record<string, Health> {
  const shortage = memoryShortage(calls.legCount);
  return {
    journal: journal.health(),
    speech: speech.health(),
    ...(shortage === undefined ? {} : { memory: { state: 'down', detail: shortage } }),
  };
}

function notesOf(
  { config }: BridgeOptions,
  { recording }: BridgeParts,
  setAside: number,
): string[] {
  return [
    ...(config.secondPass === 'on' && !recording
      ? ['TRUNKLINE_SECOND_PASS is on and recording is off: no call can be read again']
      : []),
    ...(setAside > 0
      ? [
          `${setAside} calls could not be taken up after several starts; trunkline doctor names them`,
        ]
      : []),
  ];
}

/**
 * The last words of a call arrive within this time after its end. If they do not, its speech service is unreachable,
 * and another node waits for them.
 */
const lastWordsMs = 7_200;

/**
 * Waits until every call whose phone call has ended has received its last words. Live calls continue after the restart.
 */
async function untilFinished(calls: Calls, clock: Clock, deadlineMs: number): Promise<void> {
  const until = clock.monotonicMs() + deadlineMs;
  while (calls.all.some((call) => call.state !== 'live') && clock.monotonicMs() < until)
    await wait(clock, 50);
}
