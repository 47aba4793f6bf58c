import { json, Router } from 'express';
import { z } from 'zod';
import { presetNamed, presetNames } from '../crm/preset.ts';
import { reasonOf } from '../lib/errors.ts';
import { Problem } from '../port/problem.ts';
import {
  TrialPart,
  type ConnectionList,
  type ConnectionTrial,
  type CrmPresetList,
} from '../protocol/connection-reports.ts';
import { check } from '../protocol/validation.ts';
import type { ConnectedEndpoints } from './connected-endpoints.ts';
import { tryEndpoint, tryPart, type TrialLine } from './endpoint-trial.ts';

/** A CRM that answers slowly holds a trial for this long at most. */
const trialMs = 25_000;
/** Each trial sends requests to an address that its asker chose. */
const maxTrialsAtOnce = 4;
/** A mapping of our own may come with it. */
const maxBodyBytes = '256kb';

const TrialQuery = z.strictObject({ setup: z.enum(['true', 'false']).optional() });
const HeldTrialQuery = z.strictObject({ part: TrialPart.default('record') });

/** Routes by which an operator connects a CRM or a webhook while the process runs. */
export function connectionRoutes(connections: ConnectedEndpoints): Router {
  const router = Router();
  const body = json({ limit: maxBodyBytes });
  let trials = 0;
  const tried = async (
    run: (signal: AbortSignal) => Promise<TrialLine[]>,
  ): Promise<ConnectionTrial> => {
    if (trials >= maxTrialsAtOnce) throw new Problem(409, 'other trials run: try again soon');
    trials += 1;
    try {
      const lines = await run(AbortSignal.timeout(trialMs)).catch((error: unknown) => [
        { ok: false, text: reasonOf(error) },
      ]);
      return { ok: lines.every(({ ok }) => ok), lines };
    } finally {
      trials -= 1;
    }
  };
  router.get('/api/crm-presets', (_request, response) => {
    response.json(presetList());
  });
  router.get('/api/connections', async (_request, response) => {
    response.json({ items: await connections.list() } satisfies ConnectionList);
  });
  router.post('/api/connections/trial', body, async (request, response) => {
    const query = check(TrialQuery, request.query);
    if (!query.ok)
      throw new Problem(400, 'Validation failed', { validationErrors: query.validationErrors });
    const { endpoint } = connections.read('trial', request.body);
    const withSetup = query.value.setup === 'true';
    response.json(await tried((signal) => tryEndpoint(endpoint, { signal, withSetup })));
  });
  router.post('/api/connections/:name/trial', async (request, response) => {
    const query = check(HeldTrialQuery, request.query);
    if (!query.ok)
      throw new Problem(400, 'Validation failed', { validationErrors: query.validationErrors });
    const endpoint = connections.held(request.params.name);
    const { part } = query.value;
    response.json(await tried((signal) => tryPart(endpoint, part, signal)));
  });
  router.put('/api/connections/:name', body, async (request, response) => {
    response.json(await connections.put(request.params.name, request.body));
  });
  router.delete('/api/connections/:name', async (request, response) => {
    if (!(await connections.remove(request.params.name)))
      throw new Problem(404, 'no endpoint of this name was connected here');
    response.status(204).end();
  });
  return router;
}

function presetList(): CrmPresetList {
  return {
    items: presetNames.map((name) => {
      const preset = presetNamed(name);
      return {
        name,
        title: preset.title,
        needs: preset.needs,
        needs_token: preset.token !== undefined,
        needs_url: preset.url === undefined,
        has_setup: preset.setup.length > 0,
        options: Object.entries(preset.options).map(([option, one]) => ({
          name: option,
          description: one.description,
          required: one.required,
          default: one.default === undefined ? null : String(one.default),
          values: one.values ?? (typeof one.default === 'boolean' ? ['true', 'false'] : null),
        })),
      };
    }),
  };
}
