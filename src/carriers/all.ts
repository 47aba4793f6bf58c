import { asterisk } from './asterisk/asterisk.ts';
import { audiohook } from './audiohook/audiohook.ts';
import type { Carrier } from './carrier.ts';
import { plivo } from './plivo/plivo.ts';
import { signalwire } from './signalwire/signalwire.ts';
import { telnyx } from './telnyx/telnyx.ts';
import { twilio } from './twilio/twilio.ts';

/** One line for each carrier. */
export const carriers = {
  twilio,
  telnyx,
  audiohook,
  asterisk,
  signalwire,
  plivo,
} as const satisfies Record<string, Carrier>;

export type CarrierName = keyof typeof carriers;
export const carrierNames = Object.keys(carriers) as CarrierName[];

export function carrierNamed(name: string): Carrier | undefined {
  return Object.hasOwn(carriers, name) ? carriers[name as CarrierName] : undefined;
}
