import { asterisk } from './asterisk.ts';
import { audiohook } from './audiohook.ts';
import type { Carrier, CarrierName } from './carrier.ts';
import { plivo } from './plivo.ts';
import { signalwire } from './signalwire.ts';
import { telnyx } from './telnyx.ts';
import { twilio } from './twilio.ts';

/** One line for each carrier. */
export const carriers: Readonly<Record<CarrierName, Carrier>> = {
  twilio,
  telnyx,
  audiohook,
  asterisk,
  signalwire,
  plivo,
};

export function carrierNamed(name: string): Carrier | undefined {
  return Object.hasOwn(carriers, name) ? carriers[name as CarrierName] : undefined;
}
