import type { Bridge } from '../bridge/seam.ts';
import { wait, type Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { Problem } from '../port/problem.ts';
import { builtInConversation } from '../player/conversation.ts';
import type { CarrierPlayer } from '../player/dialogue.ts';
import { play, type LegAudio } from '../player/play.ts';
import type { TestCall } from '../protocol/api.ts';
import type { Store } from '../store/store.ts';

/** Test calls at once: a finger that slips should not fill the installation with calls. */
export const maxTestCalls = 8;
/** How long the answer waits for the id of the call. Without it the page finds the call by the carrier's id. */
const appearsWithinMs = 3_000;
const appearsLookMs = 50;

type TestCallOptions = {
  bridge: Pick<Bridge, 'mintToken'>;
  /** The carrier whose side is played. */
  player: CarrierPlayer;
  store: Store;
  log: Logger;
  clock: Clock;
  /** Where this process answers, `ws://...`. */
  carriersUrl: () => string;
};

/** Places the built-in call through the real carrier socket, so that a newcomer sees what a carrier's call does. */
export class TestCalls implements AsyncDisposable {
  readonly #options: TestCallOptions;
  readonly #stop = new AbortController();
  readonly #playing = new Set<Promise<string>>();

  constructor(options: TestCallOptions) {
    this.#options = options;
  }

  async place(): Promise<TestCall> {
    if (this.#playing.size >= maxTestCalls)
      throw new Problem(409, `${maxTestCalls} test calls are going on already`);
    const { bridge, player, carriersUrl } = this.#options;
    const audio = await builtInConversation();
    const ids = player.newIds();
    const { token } = await bridge.mintToken({ carrier: player.name, carrierCallId: ids.callId });
    const playing = this.#play(ids, `${carriersUrl()}/carriers/${player.name}/${token}`, audio);
    this.#playing.add(playing);
    // `#play` never rejects: it logs what went wrong and answers with words for the page.
    void playing.then(() => this.#playing.delete(playing));
    return {
      carrier: player.name,
      carrier_call_id: ids.callId,
      call_id: await this.#appeared(ids.callId, playing),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#playing);
  }

  async #play(
    ids: { callId: string; streamId: string },
    to: string,
    audio: LegAudio[],
  ): Promise<string> {
    const { log, player } = this.#options;
    try {
      const result = await play({
        to,
        player,
        audio,
        signal: this.#stop.signal,
        call: {
          ...ids,
          legs: audio.map(({ leg }) => leg),
          encoding: 'mulaw',
          rateHz: 8_000,
          // Numbers of the North American plan that are kept for fiction.
          from: '+15550100123',
          to: '+15550100200',
          direction: 'inbound',
          parameters: { test_call: 'built-in conversation' },
          controlFormat: 'json',
        },
      });
      if (result.outcome !== 'played')
        log.warn(
          { outcome: result.outcome, detail: result.detail },
          'the test call did not end well',
        );
      return result.detail;
    } catch (error) {
      log.error({ err: error }, 'the test call failed');
      return 'the log says why';
    }
  }

  async #appeared(carrierCallId: string, playing: Promise<string>): Promise<string | null> {
    const { clock, store } = this.#options;
    const untilMs = clock.monotonicMs() + appearsWithinMs;
    let over: string | undefined;
    void playing.then((detail) => (over = detail));
    for (;;) {
      const row = await store.db
        .selectFrom('calls')
        .select('id')
        .where('carrier', '=', this.#options.player.name)
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
