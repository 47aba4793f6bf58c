import { carriers, type CarrierName } from '../../../src/carriers/all.ts';
import type { Encoding, PlayedCall } from '../../../src/player/dialogue.ts';

/** The carrier's track names for customer and agent, if they differ from `inbound` and `outbound`. */
const tracks: Partial<Record<CarrierName, { customer: string; agent: string }>> = {
  audiohook: { customer: 'external', agent: 'internal' },
  ringcx: { customer: 'Conference', agent: 'Participant' },
  vonage: { customer: 'mixed', agent: 'mixed' },
  infobip: { customer: 'mixed', agent: 'mixed' },
};

export function trackOf(carrier: CarrierName, leg: string): string {
  const [customer, agent] = Object.values(
    tracks[carrier] ?? { customer: 'inbound', agent: 'outbound' },
  );
  return (leg === 'customer' ? customer : agent) ?? '';
}

/** These carriers send no end message; they close the socket. */
const closing: readonly CarrierName[] = [
  'asterisk',
  'plivo',
  'vonage',
  'jambonz',
  'freeswitch',
  'infobip',
];

export function endsBy(carrier: CarrierName): 'stop' | 'close' {
  return closing.includes(carrier) ? 'close' : 'stop';
}

/** The default tracks of a carrier, and the number of parties in one of its streams. */
export function usualForm(carrier: CarrierName): {
  encoding: Encoding;
  rateHz: number;
  legs: PlayedCall['legs'];
  bytesPerMs: number;
} {
  const { encodings, oneLegPerStream, mixesLegs } = carriers[carrier].player;
  const encoding = encodings[0] ?? 'mulaw';
  return {
    encoding,
    rateHz: 8_000,
    legs: oneLegPerStream || mixesLegs ? ['customer'] : ['customer', 'agent'],
    bytesPerMs: encoding === 'slin' ? 16 : 8,
  };
}
