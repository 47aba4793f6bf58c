import { z } from 'zod';

/**
 * The interface is written with neutral names; the hosted service and every released client say its
 * vendor's. Both are taken everywhere, and an answer uses the name that the request used.
 */
const realModels: Record<string, NeutralModel> = {
  'solaria-1': 'model-1',
  'solaria-3': 'model-3',
  'solaria-fusion': 'model-fusion',
};

type NeutralModel = 'model-1' | 'model-3' | 'model-fusion';

export const ModelName = z
  .enum(['model-1', 'model-3', 'model-fusion', 'solaria-1', 'solaria-3', 'solaria-fusion'])
  .meta({ id: 'ModelName' });
export type ModelName = z.infer<typeof ModelName>;

/** The model that a name means, by either of its two names. */
export function neutralModel(name: ModelName): NeutralModel {
  return realModels[name] ?? (name as NeutralModel);
}

/** The key's header, lower case as Node gives headers; the first is the one we document. */
export const keyHeaders = ['x-service-key', 'x-gladia-key'] as const;

/** Tells of a request without a key. */
export function keyNotFound(): string {
  return `service key not found: send it in the header ${keyHeaders[0]}`;
}

/** Names the header that came: a client with two keys then knows which of them is wrong. */
export function keyNotAccepted(header: string = keyHeaders[0]): string {
  return `the key in ${header} is not one of this service`;
}

/** The paths of the speech interface that the cookie of the console opens, for its Jobs view. */
export const jobsPaths = /^\/v2\/(?:upload|pre-recorded(?:\/[^/]+){0,2})$/;
