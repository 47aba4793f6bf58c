import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { ApiCarrier } from '../protocol/api.ts';
import { carrierNames, carriers, type AnyCarrier } from './all.ts';
import type { CarriersConfig } from './config.ts';
import type { LastRefused } from './refusal-log.ts';
import { socketUrlOf } from './voice-answer.ts';

type SetupFacts = {
  config: CarriersConfig;
  /** The address by which carriers reach us, without a slash at its end. */
  publicUrl: string;
  /** The time at which a stream of each carrier was last let in; undefined if no process was asked. */
  lastStreamMs?: ReadonlyMap<string, number>;
  lastRefused?: ReadonlyMap<string, LastRefused>;
};

/**
 * Says for each carrier which settings are set, which are missing, and which address to enter there. Pure; the answer
 * holds no secret.
 */
export function carrierSetups(facts: SetupFacts): ApiCarrier[] {
  return carrierNames.map((name) => setupOf(carriers[name], facts));
}

function setupOf(carrier: AnyCarrier, facts: SetupFacts): ApiCarrier {
  const { config, publicUrl, lastStreamMs, lastRefused } = facts;
  const { name, setup, webhooks } = carrier;
  const unset: Record<string, unknown> = z.object(setup.settings).parse({});
  const values: Record<string, unknown> = config;
  const isSet = (key: string): boolean => !isDeepStrictEqual(values[key], unset[key]);
  const nameOf = (key: string): string => String(setup.settings[key]?.meta()?.['env']);
  const missingOf = (keys: readonly string[]): string[] =>
    keys.filter((key) => !isSet(key)).map(nameOf);
  // If the answer to the voice webhook starts the stream, the proof of that webhook is enough.
  const proofs = [...setup.proofs, ...(setup.voiceProof === undefined ? [] : [setup.voiceProof])];
  const [missing = []] = proofs.map(missingOf).toSorted((one, other) => one.length - other.length);
  const keys = Object.keys(setup.settings);
  // A voice answer starts the stream and then dials or goes on elsewhere, so one of the two settings is needed.
  const onward = keys.filter((key) => /(?:Dial|ContinueUrl)$/.test(key));
  const wayOn = onward.length === 0 || onward.some(isSet) ? [] : [onward.map(nameOf).join(' or ')];
  const bare = socketUrlOf(publicUrl, name);
  const below = (action: string): string | undefined =>
    webhooks.some((webhook) => webhook.action === action)
      ? `${publicUrl}/carriers/${name}/${action}`
      : undefined;
  const voice = below('voice');
  const lastMs = lastStreamMs?.get(name);
  const refused = lastRefused?.get(name);
  return {
    name,
    title: setup.title,
    state: missing.length === 0 ? 'ready' : 'missing',
    set: keys.filter(isSet).map(nameOf),
    missing,
    address: setup.address?.(bare) ?? bare,
    voice:
      voice === undefined
        ? null
        : {
            address: setup.voiceAddress?.(voice) ?? voice,
            missing: [...missingOf(setup.voiceProof ?? setup.proofs[0] ?? []), ...wayOn],
          },
    status_address: below('status') ?? null,
    steps: [...setup.steps],
    last_stream_at: lastMs === undefined ? null : new Date(lastMs).toISOString(),
    last_refused:
      refused === undefined
        ? null
        : { at: new Date(refused.atMs).toISOString(), reason: refused.reason },
  };
}
