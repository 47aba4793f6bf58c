import { z } from 'zod';

/**
 * Our documents use neutral names; the hosted service and every released client use its vendor's names. Both are
 * accepted everywhere, and an answer uses the name that the request used.
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

/** The headers that may carry the key, in lower case as in Node. The first is the documented one. */
export const keyHeaders = ['x-service-key', 'x-gladia-key'] as const;

/** The message for a request without a key. */
export function keyNotFound(): string {
  return `service key not found: send it in the header ${keyHeaders[0]}`;
}

/** The message names the header, so a client with two keys knows which one is wrong. */
export function keyNotAccepted(header: string = keyHeaders[0]): string {
  return `the key in ${header} is not one of this service`;
}

/** The paths of the speech API that the console's cookie opens, for its Jobs view. */
export const jobsPaths = /^\/v2\/(?:upload|pre-recorded(?:\/[^/]+){0,2})$/;
