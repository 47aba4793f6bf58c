import { encodingOf, isTaken, rateIn } from '../encodings.ts';
import type { UpgradeRequest } from '../carrier.ts';
import type { ParsedStart } from './json-codec.ts';
import { textAt, textParameters, wholeAt } from './frames.ts';
import { fieldsIn, liftParameters, ownRecord, tracksWithRoles } from '../parameters.ts';
import { withoutUndefined } from '../../lib/without-undefined.ts';

/**
 * Reads the query of a stream's address. A token in it is left out, because it was used when the upgrade was decided.
 */
export function parametersInAddress({ query }: UpgradeRequest): Record<string, string> {
  const { token: _claimed, ...rest } = textParameters(ownRecord(fieldsIn(query)));
  return rest;
}

/** The facts in a start message of the JSON family, whatever its fields are called. */
type StartFacts = {
  carrierCallId: string;
  streamId: string;
  /** The object that holds the encoding, the rate and the channels. */
  format: Record<string, unknown>;
  rateField?: 'sampleRate' | 'sample_rate';
  byteOrder: 'big' | 'little';
  tracks: readonly string[];
  /** Ids by their names. An id that the carrier left out is undefined. */
  carrierIds: Record<string, string | undefined>;
  /** Telephone numbers in the message itself. They win over those in the parameters. */
  from?: string | undefined;
  to?: string | undefined;
  parameters: Record<string, string>;
  /** Parameters in the address, for carriers that allow a query there. Parameters in the message win. */
  inAddress?: Record<string, string>;
  closingEndsCall: boolean;
  /** The setting to change at the carrier when its audio cannot be transcribed. */
  remedy: string;
};

export function parsedStart(facts: StartFacts): ParsedStart {
  const { carrierCallId, streamId, format, closingEndsCall } = facts;
  const { token, role, rest, direction, ...lifted } = liftParameters(
    ownRecord([...Object.entries(facts.inAddress ?? {}), ...Object.entries(facts.parameters)]),
  );
  const spelt = textAt(format, 'encoding') ?? '';
  const encoding = encodingOf(spelt);
  const sampleRate = wholeAt(format, facts.rateField ?? 'sampleRate') ?? rateIn(spelt) ?? 8000;
  const channels = wholeAt(format, 'channels') ?? 1;
  if (encoding === undefined || !isTaken(encoding, sampleRate) || channels !== 1)
    return {
      outcome: 'refused',
      closingEndsCall,
      carrierCallId,
      token,
      reason:
        `${facts.remedy}: ${spelt === '' ? 'no encoding' : spelt.slice(0, 32)} at ${sampleRate} Hz ` +
        `in ${channels} channel${channels === 1 ? '' : 's'} cannot be transcribed`,
    };
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
      token,
      ...withoutUndefined({ from, to, direction }),
    },
  };
}
