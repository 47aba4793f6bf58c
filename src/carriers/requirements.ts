import { z } from 'zod';
import { isLoopback, proxiesIn, type IsProxy } from '../port/addresses.ts';
import { carrierNames, type CarrierName } from './all.ts';

/** An address or a range that can be read, or the word `token`. */
const Requirement = z
  .string()
  .min(1)
  .refine((text) => text === 'token' || isRange(text), 'must be token, an address or a range such as 192.0.2.0/24'); // prettier-ignore

function isRange(text: string): boolean {
  try {
    proxiesIn([text]);
    return true;
  } catch {
    // The library's error only says that the text is no range.
    return false;
  }
}

const nameOf = (carrier: string): string => `TRUNKLINE_${carrier.toUpperCase()}_REQUIRE`;

const settingOf = (carrier: string) =>
  z
    .array(Requirement)
    .default([])
    .meta({
      env: nameOf(carrier),
      description: `A stream of ${carrier} must have this beside its own proof: \`token\` for a stream token, address ranges for the places from which it and its webhooks come.`,
    });

/** Adds a setting with further demands for each carrier whose own proof is the same in every request. */
export const requireSettings = Object.fromEntries(
  carrierNames.map((name) => [`${name}Require`, settingOf(name)]),
) as { [Name in CarrierName as `${Name}Require`]: ReturnType<typeof settingOf> };

type RequireConfig = z.infer<z.ZodObject<typeof requireSettings>>;

type Requirements = {
  /** True if only a stream token lets a stream in. A token is good once, so a captured request opens nothing. */
  token: boolean;
  /** Returns the reason why a request from this address is refused, or undefined if it is allowed. */
  whyElsewhere: (client: string) => string | undefined;
};

export function requirementsOf(config: RequireConfig, carrier: CarrierName): Requirements {
  const all = config[`${carrier}Require`];
  const ranges = all.filter((each) => each !== 'token');
  const isInside: IsProxy = ranges.length === 0 ? () => true : proxiesIn(ranges);
  return {
    token: ranges.length < all.length,
    whyElsewhere: (client) =>
      isInside(client) ? undefined : `the address is not among ${nameOf(carrier)}`,
  };
}

/** True for our own test calls. They come from this machine, whatever addresses the carrier itself has. */
export function isOwnTestCall(client: string, metadata: Record<string, unknown>): boolean {
  return isLoopback(client) && Object.hasOwn(metadata, 'test_call');
}
