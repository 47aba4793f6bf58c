import type { Carrier, CarrierName } from './carrier.ts';
import { twilio } from './twilio.ts';

/** One line for each carrier. */
export const carriers: Readonly<Partial<Record<CarrierName, Carrier>>> = {
  twilio,
};

export function carrierNamed(name: string): Carrier | undefined {
  return Object.hasOwn(carriers, name) ? carriers[name as CarrierName] : undefined;
}
