import type { Request } from 'express';
import { Problem } from '../port/problem.ts';
import type { WebhookContext } from './carrier.ts';
import { checkBasic } from './credentials.ts';
import { parseObject } from './json/frames.ts';
import { fieldsIn, type Fields } from './parameters.ts';
import { isUrlSignature } from './url-signature.ts';

export function formFields(request: Request): Fields {
  const body: unknown = request.body;
  if (typeof body !== 'string') throw new Problem(415, 'expected a form');
  return fieldsIn(body);
}

export type SignedForm = {
  fields: Fields;
  /** The signature that proved the fields; absent if the insecure mode accepts them unsigned. */
  signature?: string;
};

/**
 * Reads a form whose signature covers our address and the sorted fields. Each carrier has its own name for the
 * header.
 */
export function signedForm(
  request: Request,
  { publicUrl, insecure }: Pick<WebhookContext<unknown>, 'publicUrl' | 'insecure'>,
  by: { header: string; secrets: readonly string[]; setting: string },
): SignedForm {
  const { header, secrets, setting } = by;
  const fields = formFields(request);
  const signature = request.get(header);
  if (insecure && signature === undefined) return { fields };
  if (signature === undefined) throw new Problem(401, `${header} is missing`);
  if (secrets.length === 0) throw new Problem(403, `${setting} is not set`);
  const signed = {
    publicUrl: publicUrl(),
    kind: 'webhook',
    target: request.originalUrl,
    fields,
  } as const;
  if (!isUrlSignature(signature, secrets, signed))
    throw new Problem(403, `${header} does not match: check ${setting} and TRUNKLINE_PUBLIC_URL`);
  return { fields, signature };
}

/** Credentials that came with a request. They may be sent back to its sender. */
export type BasicProof = { username: string; password: string };

/**
 * Checks the user name and password of a webhook, the only proof of carriers that do not sign. Returns undefined if the
 * insecure mode needs no proof.
 */
export function basicProof(
  request: Request,
  { username, password }: { username: string | undefined; password: string | undefined },
  { insecure, judgeSecret }: Pick<WebhookContext<unknown>, 'insecure' | 'judgeSecret'>,
): BasicProof | undefined {
  const authorization = request.get('authorization');
  if (authorization === undefined) {
    if (insecure) return undefined;
    throw new Problem(
      401,
      'Authorization is missing: give the webhook the user name and password of this carrier',
    );
  }
  const verdict = checkBasic({ headers: { authorization } }, { username, password }, (...secret) =>
    judgeSecret(request, ...secret),
  );
  if (verdict.outcome === 'refused')
    throw new Problem(verdict.status, verdict.reason, {
      headers: verdict.status === 429 ? { 'retry-after': String(verdict.waitS) } : {},
    });
  return username === undefined || password === undefined ? undefined : { username, password };
}

/** Reads the JSON object in a body of bytes. */
export function jsonBody(request: Request): Record<string, unknown> {
  const body: unknown = request.body;
  const object = Buffer.isBuffer(body) ? parseObject(body.toString('utf8')) : undefined;
  if (!object) throw new Problem(400, 'the body is not a JSON object');
  return object;
}

/** Returns the call's id. Throws if the webhook names no call, because it cannot be answered then. */
export function requiredCallId(callId: string | undefined, field: string): string {
  if (!callId)
    throw new Problem(400, 'Validation failed', { validationErrors: [`${field} is missing`] });
  return callId;
}
