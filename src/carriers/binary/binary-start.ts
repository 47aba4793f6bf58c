import type { Party } from '../../protocol/events.ts';
import type { StreamEncoding } from '../../bridge/streams.ts';
import type { UpgradeRequest } from '../carrier.ts';
import { isTaken } from '../encodings.ts';
import { textParameters } from '../json/frames.ts';
import {
  fieldsIn,
  liftParameters,
  ownRecord,
  tracksWithRoles,
  type LiftedParameters,
} from '../parameters.ts';
import type { BinaryMessage } from './binary-codec.ts';

/** Reads the parameters of the address and of the stream's own text. If both name a parameter, the text wins. */
export function saidBy({ query }: UpgradeRequest, text: Record<string, string>): LiftedParameters {
  // A token in the address was used when the upgrade was decided.
  const {
    token: _inUrl,
    rest,
    ...inUrl
  } = liftParameters(textParameters(ownRecord(fieldsIn(query))));
  const inText = liftParameters(text);
  return {
    ...inUrl,
    ...inText,
    rest: ownRecord([...Object.entries(rest), ...Object.entries(inText.rest)]),
  };
}

/** The facts in the start of a stream of bare audio, whatever its fields are called. */
type BinaryStartFacts = {
  said: LiftedParameters;
  carrierCallId: string;
  streamId: string;
  /** The encoding and the rate; undefined if the audio cannot be forwarded. */
  format: { encoding: StreamEncoding; rateHz: number } | undefined;
  /** The format as the carrier spelt it, for the text of a refusal. */
  formatSaid: string;
  /** The audio of one party, of all parties mixed, or of two parties whose samples alternate. */
  channels: 'one' | 'mixed' | 'both';
  /** Ids by their names. An id that the carrier left out is undefined. */
  carrierIds: Record<string, string | undefined>;
  closingEndsCall: boolean;
  /** The setting to change at the carrier when its audio cannot be transcribed. */
  remedy: string;
};

export function binaryStart(facts: BinaryStartFacts): BinaryMessage {
  const { carrierCallId, streamId, format, closingEndsCall } = facts;
  const { token, role, rest, ...lifted } = facts.said;
  const claim = { carrierCallId, token };
  if (!format || !isTaken(format.encoding, format.rateHz)) {
    const reason = `${facts.remedy}: ${facts.formatSaid.slice(0, 32)} cannot be transcribed`;
    return { is: 'refused', refusal: { ...claim, closingEndsCall, reason } };
  }
  return {
    is: 'start',
    start: {
      ...lifted,
      ...claim,
      streamId,
      encoding: format.encoding,
      sampleRate: format.rateHz,
      tracks: tracksFor(facts.channels, role),
      carrierIds: Object.fromEntries(
        Object.entries(facts.carrierIds).filter(
          (entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== '',
        ),
      ),
      parameters: rest,
      closingEndsCall,
    },
  };
}

/**
 * Names the tracks. A stream of one party gets the name that this party's track has at other carriers. So does a mixed
 * stream if a parameter names its party.
 */
function tracksFor(
  channels: BinaryStartFacts['channels'],
  role: LiftedParameters['role'],
): { name: string; role?: Party }[] {
  if (channels === 'both') return tracksWithRoles(['inbound', 'outbound'], role);
  if (role !== undefined) return [{ name: role === 'agent' ? 'outbound' : 'inbound', role }];
  return [{ name: channels === 'mixed' ? 'mixed' : 'inbound' }];
}
