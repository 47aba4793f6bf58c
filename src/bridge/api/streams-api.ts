import { Router } from 'express';
import type { PublicUrl } from '../../port/addresses.ts';
import { Problem } from '../../port/problem.ts';
import { NewStreamRequest, type NewStream } from '../../protocol/api.ts';
import { check } from '../../protocol/validation.ts';
import { metadataLimit } from '../records/call-record.ts';
import type { StreamTokens } from './stream-tokens.ts';

/**
 * Serves `POST /api/streams`: returns a URL and parameters that open one stream of one carrier, once and within a
 * short time.
 */
export function streamsApi(options: {
  tokens: StreamTokens;
  publicUrl: PublicUrl;
  carriers: readonly string[];
}): Router {
  const router = Router();
  router.post('/api/streams', async (request, response) => {
    // Without a content type the body is not parsed, and the error would say that every field is missing.
    if (request.body === undefined)
      throw new Problem(400, 'Validation failed', {
        validationErrors: ['body must be JSON, sent with content-type: application/json'],
      });
    const parsed = check(NewStreamRequest, request.body);
    if (!parsed.ok)
      throw new Problem(400, 'Validation failed', { validationErrors: parsed.validationErrors });
    const { carrier, call_id, metadata } = parsed.value;
    if (!options.carriers.includes(carrier))
      throw new Problem(422, `carrier must be one of ${options.carriers.join(', ')}`);
    if (JSON.stringify(metadata ?? {}).length > metadataLimit)
      throw new Problem(422, `metadata must have at most ${metadataLimit} characters as JSON text`);
    const { token, expiresAt } = await options.tokens.mint({
      carrier,
      carrierCallId: call_id,
      metadata,
    });
    const base = options.publicUrl(request).replace(/^http/, 'ws').replace(/\/+$/, '');
    const body: NewStream = {
      url: `${base}/carriers/${carrier}/${token}`,
      parameters: { token },
      expires_at: new Date(expiresAt).toISOString(),
    };
    response.status(201).json(body);
  });
  return router;
}
