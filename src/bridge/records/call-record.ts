import type { CallContact } from '../../protocol/contact.ts';
import type { EventCall, Role } from '../../protocol/events.ts';
import type { Direction } from '../streams.ts';
import { withoutUndefined } from '../../lib/without-undefined.ts';
import { eventAgentOf, type CallAgent } from './call-agent.ts';

/**
 * The facts of a call. Callbacks may add facts about the parties that the stream did not give. After the start,
 * `overrides`, `agent`, `contact` and `language` are the only other facts that may change.
 */
export type CallRecord = {
  readonly id: string;
  readonly carrier: string;
  readonly carrierCallId: string;
  direction: Direction | undefined;
  from: string | undefined;
  to: string | undefined;
  readonly startedAt: number;
  metadata: CustomMetadata;
  readonly overrides: Record<string, unknown>;
  readonly continues: string | null;
  /** The agent who has the call now. */
  agent?: CallAgent | undefined;
  /** The other party, as the CRM knows it. */
  contact?: CallContact | undefined;
  /** The language of the customer, once it is sure. */
  language?: string | undefined;
};

/** The length of the phone call itself, without the wait for its last words or for a lost stream. */
export type CallLength = { hungUpAt: number; durationS: number };

/** The field `call` of every event's envelope. `length` is set once the phone call is over. */
export function eventCallOf(record: CallRecord, length?: CallLength): EventCall {
  return {
    id: record.id,
    carrier: record.carrier,
    carrier_call_id: record.carrierCallId,
    direction: record.direction ?? null,
    from: record.from ?? null,
    to: record.to ?? null,
    started_at: new Date(record.startedAt).toISOString(),
    hung_up_at: length === undefined ? null : new Date(length.hungUpAt).toISOString(),
    duration: length?.durationS ?? null,
    ...(record.agent === undefined ? {} : { agent: eventAgentOf(record.agent) }),
    ...(record.language === undefined ? {} : { language: record.language }),
  };
}

/**
 * The key of a phone call. Streams with the same carrier and the same carrier id belong to one call, whichever socket
 * they come through.
 */
export function callKey(carrier: string, carrierCallId: string): string {
  return `${carrier}\n${carrierCallId}`;
}

/** The most characters of JSON in `custom_metadata`. The speech interface refuses a session with more. */
export const metadataLimit = 2_000;

/** Characters reserved for the three keys of a leg, so that every leg of a call drops the same parameters. */
export const legKeysReserve = 160;

type MetadataFacts = {
  callId: string;
  carrier: string;
  carrierCallId: string;
  direction?: Direction | undefined;
  from?: string | undefined;
  to?: string | undefined;
  startedAt: number;
  carrierIds: Record<string, string>;
  parameters: Record<string, unknown>;
};

type LegMetadataFacts = { legId: string; role: Role; track: string };

export type CustomMetadata = Record<string, unknown>;

/** Our keys whose value the carrier chose and which may be long. Each value is in the event's `call` anyway. */
const chosenByCarrier = ['carrier_call_id', 'from', 'to'] as const;

/**
 * Builds the metadata of a call's sessions and events: our keys, the operator's additions, and the carrier's ids in
 * `carrier_ids`. Our keys override equal names. The service refuses a session whose metadata is too long. The longest
 * values from outside are therefore dropped first, then the longest of `chosenByCarrier`. `dropped` is their number.
 */
export function callMetadata(facts: MetadataFacts): { metadata: CustomMetadata; dropped: number } {
  const ours: CustomMetadata = {
    call_id: facts.callId,
    carrier: facts.carrier,
    carrier_call_id: facts.carrierCallId,
    ...withoutUndefined({ direction: facts.direction, from: facts.from, to: facts.to }),
    started_at: new Date(facts.startedAt).toISOString(),
  };
  const reserved = new Set([
    ...Object.keys(ours),
    'direction',
    'from',
    'to',
    'leg_id',
    'role',
    'track',
    'carrier_ids',
  ]);
  const given: CustomMetadata = Object.fromEntries(
    Object.entries(facts.parameters).filter(
      ([key, value]) => !reserved.has(key) && value !== undefined,
    ),
  );
  const ids: CustomMetadata = { ...facts.carrierIds };
  const whole = (): CustomMetadata => ({
    ...ours,
    ...given,
    ...(Object.keys(ids).length === 0 ? {} : { carrier_ids: ids }),
  });
  const isTooLong = (): boolean => JSON.stringify(whole()).length > metadataLimit - legKeysReserve;
  let dropped = 0;
  for (const parts of [[given, ids], [ours]])
    while (isTooLong()) {
      const longest = longestOf(parts, parts[0] === ours ? chosenByCarrier : undefined);
      if (longest === undefined) break;
      Reflect.deleteProperty(longest.part, longest.key);
      dropped++;
    }
  return { metadata: whole(), dropped };
}

/** The metadata with the leg's own keys, for `POST /v2/live` and the leg's events. */
export function legMetadata(metadata: CustomMetadata, leg: LegMetadataFacts): CustomMetadata {
  return { ...metadata, leg_id: leg.legId, role: leg.role, track: leg.track };
}

/**
 * The longest entry of these objects, measured by its name and its value as JSON. With `among`, only these names are
 * considered.
 */
function longestOf(
  parts: readonly CustomMetadata[],
  among?: readonly string[],
): { part: CustomMetadata; key: string } | undefined {
  let longest: { part: CustomMetadata; key: string } | undefined;
  let length = -1;
  for (const part of parts)
    for (const [key, value] of Object.entries(part)) {
      if (among?.includes(key) === false) continue;
      const size = key.length + (JSON.stringify(value) ?? '').length;
      if (size > length) [longest, length] = [{ part, key }, size];
    }
  return longest;
}
