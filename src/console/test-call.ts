import type { Bridge } from '../bridge/streams.ts';
import { wait, type Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { Problem } from '../port/problem.ts';
import type { CarrierPlayer } from '../player/dialogue.ts';
import { playCall } from '../player/play-call.ts';
import type { TestCall } from '../protocol/api.ts';
import type { Store } from '../store/store.ts';

/** At most this many test calls run at once, so that repeated clicks do not fill the installation with calls. */
export const maxTestCalls = 8;
/**
 * The answer waits at most this long for the id of the call. If the id comes later, the page finds the call by the
 * carrier's id.
 */
const appearsWithinMs = 3_000;
const appearsLookMs = 50;

type TestCallOptions = {
  bridge: Pick<Bridge, 'mintToken'>;
  /** The carriers that can place a test call, played by this process. The first is the default. */
  players: readonly [CarrierPlayer, ...CarrierPlayer[]];
  store: Store;
  log: Logger;
  clock: Clock;
  /** Returns the address of this process, `ws://...`. */
  carriersUrl: () => string;
};

/** Places the built-in call through the real carrier socket, so that a new user sees how a carrier's call works. */
export class TestCalls implements AsyncDisposable {
  readonly #options: TestCallOptions;
  readonly #stop = new AbortController();
  readonly #playing = new Set<Promise<string>>();

  constructor(options: TestCallOptions) {
    this.#options = options;
  }

  async place(carrier?: string): Promise<TestCall> {
    const { players } = this.#options;
    const player =
      carrier === undefined ? players[0] : players.find(({ name }) => name === carrier);
    if (player === undefined)
      throw new Problem(400, 'Validation failed', {
        validationErrors: [`carrier: one of ${players.map(({ name }) => name).join(', ')}`],
      });
    if (this.#playing.size >= maxTestCalls)
      throw new Problem(409, `${maxTestCalls} test calls are already running`);
    const { callId } = player.newIds();
    const playing = this.#play(player, callId);
    this.#playing.add(playing);
    // `#play` never rejects: it logs the error and returns a message for the page.
    void playing.then(() => this.#playing.delete(playing));
    return {
      carrier: player.name,
      carrier_call_id: callId,
      call_id: await this.#appeared(player.name, callId, playing),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#playing);
  }

  async #play(player: CarrierPlayer, callId: string): Promise<string> {
    const { bridge, carriersUrl, log } = this.#options;
    const { name: carrier } = player;
    try {
      const results = await playCall({
        to: carriersUrl(),
        player,
        callId,
        signal: this.#stop.signal,
        parameters: { test_call: 'built-in conversation' },
        controlFormat: 'json',
        mint: async (carrierCallId) => {
          const metadata = { test_call: 'built-in conversation' };
          const { token } = await bridge.mintToken({ carrier, carrierCallId, metadata });
          return `${carriersUrl()}/carriers/${carrier}/${token}`;
        },
      });
      for (const { outcome, detail } of results)
        if (outcome !== 'played')
          log.warn({ carrier, outcome, detail }, 'the test call ended with an error');
      return results.map(({ detail }) => detail).join('; ');
    } catch (error) {
      log.error({ err: error }, 'the test call failed');
      return 'the log says why';
    }
  }

  async #appeared(
    carrier: string,
    carrierCallId: string,
    playing: Promise<string>,
  ): Promise<string | null> {
    const { clock, store } = this.#options;
    const untilMs = clock.monotonicMs() + appearsWithinMs;
    let over: string | undefined;
    void playing.then((detail) => (over = detail));
    for (;;) {
      const row = await store.db
        .selectFrom('calls')
        .select('id')
        .where('carrier', '=', carrier)
        .where('carrier_call_id', '=', carrierCallId)
        .executeTakeFirst();
      if (row) return row.id;
      if (over !== undefined)
        throw new Problem(503, `The call was refused: ${over || 'the log says why'}`);
      if (clock.monotonicMs() > untilMs) return null;
      await wait(clock, appearsLookMs);
    }
  }
}
