import { encodingOf, isForwardableRate } from './encodings.ts';
import type { ParsedStart } from './json-codec.ts';
import { liftParameters, tracksWithRoles } from './parameters.ts';

/** What a start message of the JSON family says, whatever its fields are called. */
export type StartFacts = {
  carrierCallId: string;
  streamId: string;
  /** As the carrier spells it. */
  encoding: string;
  sampleRate: number;
  byteOrder: 'big' | 'little';
  tracks: readonly string[];
  /** Ids that the carrier left out are undefined. */
  carrierIds: Record<string, string | undefined>;
  /** Numbers that the message itself names, before those of the parameters. */
  from?: string | undefined;
  to?: string | undefined;
  parameters: Record<string, string>;
  closingEndsCall: boolean;
  /** What to set at the carrier when its audio cannot be transcribed. */
  remedy: string;
};

export function parsedStart(facts: StartFacts): ParsedStart {
  const { carrierCallId, streamId, sampleRate, closingEndsCall } = facts;
  const encoding = encodingOf(facts.encoding);
  if (encoding === undefined || !isForwardableRate(sampleRate))
    return {
      outcome: 'refused',
      closingEndsCall,
      reason: `${facts.remedy}: ${facts.encoding} at ${sampleRate} Hz cannot be transcribed`,
    };
  const { token, role, rest, direction, ...lifted } = liftParameters(facts.parameters);
  const from = facts.from ?? lifted.from;
  const to = facts.to ?? lifted.to;
  return {
    outcome: 'start',
    swapBytes: encoding === 'pcm16' && facts.byteOrder === 'big',
    start: {
      carrierCallId,
      streamId,
      encoding,
      sampleRate,
      tracks: tracksWithRoles(facts.tracks, role),
      carrierIds: Object.fromEntries(
        Object.entries(facts.carrierIds).filter(
          (entry): entry is [string, string] => entry[1] !== undefined,
        ),
      ),
      parameters: rest,
      closingEndsCall,
      ...(token === undefined ? {} : { token }),
      ...(from === undefined ? {} : { from }),
      ...(to === undefined ? {} : { to }),
      ...(direction === undefined ? {} : { direction }),
    },
  };
}
