import type { ServerMessage } from '../../protocol/live-messages.ts';
import type { CallLeg } from './leg.ts';
import type { CallEvents } from '../events/call-events.ts';
import type { StreamControl } from '../seam.ts';
import type { LiveFeed } from '../api/live-feed.ts';
import { finalOf, place, type Partial, type Result } from '../events/timeline.ts';

export type CallHearingOptions = {
  callId: string;
  events: CallEvents;
  feed: LiveFeed;
  isRedacted: boolean;
  /** Carriers that take results back. */
  controls(): Iterable<StreamControl>;
};

/** What the legs' sessions say, on the call's one clock: to the events, to watchers, to carriers that want it. */
export class CallHearing {
  /** Of the last final: what the summary is written in. */
  languageCode = 'en';
  readonly #options: CallHearingOptions;

  constructor(options: CallHearingOptions) {
    this.#options = options;
  }

  /** `atS`: where the session's own zero lies in the leg. */
  heard(leg: CallLeg, message: ServerMessage, sessionId: string, atS: number): void {
    const zeroS = (leg.offsetS ?? 0) + atS;
    const placed = place(message, { sessionId, zeroS }, leg.lastFinals.get(sessionId));
    const final = finalOf(message);
    if (final !== undefined) leg.lastFinals.set(sessionId, final);
    if (placed.kind === 'partial') this.#showPartial(leg, placed.partial);
    if (placed.kind !== 'result') return;
    this.#options.events.result(leg, placed.result);
    if (placed.result.type === 'call.transcript') this.#final(leg, placed.result);
  }

  #final(leg: CallLeg, { start, end, data }: Extract<Result, { type: 'call.transcript' }>): void {
    const { text, language, confidence } = data;
    leg.heardUntilS = Math.max(leg.heardUntilS, end);
    this.languageCode = language;
    if (this.#options.isRedacted) return;
    const { track } = leg.record;
    for (const control of this.#options.controls())
      control.result?.({ track, text, startS: start, endS: end, confidence, language });
  }

  #showPartial(leg: CallLeg, partial: Partial): void {
    const { callId, feed, isRedacted } = this.#options;
    // An entity is known by its whole: of one still being said the first half would be shown in clear.
    if (!feed.isWatched || isRedacted) return;
    const { utteranceId, sessionId, start, end, text, language, channel } = partial;
    feed.publish({
      kind: 'partial',
      callId,
      message: {
        type: 'partial',
        call_id: callId,
        leg_id: leg.record.id,
        role: leg.roleOf(channel),
        utterance: { utterance_id: utteranceId, session_id: sessionId, start, end, text, language },
      },
    });
  }
}
