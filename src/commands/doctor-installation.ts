import { access, constants, statfs } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Config } from '../config.ts';
import { endpointsOf } from '../outbox/config.ts';
import { isLoopback } from '../lib/addresses.ts';
import { reasonOf } from '../lib/errors.ts';
import type { Api } from '../player/api-client.ts';

export type Finding = {
  what: string;
  state: 'ok' | 'attention' | 'wrong';
  detail: string;
  todo?: string;
};

const answerWithinMs = 5_000;

/** What an installation needs, looked at one by one; each finding says what to do. */
export async function installationFindings(config: Config, api: Api): Promise<Finding[]> {
  const [disk, process, publicUrl] = await Promise.all([
    diskFinding(config),
    processFindings(api),
    publicUrlFinding(config),
  ]);
  return [...process, disk, keysFinding(config), endpointsFinding(config), publicUrl];
}

async function processFindings(api: Api): Promise<Finding[]> {
  try {
    const response = await fetch(`${api.url}/health/ready`, {
      signal: AbortSignal.timeout(answerWithinMs),
      headers: api.key === undefined ? {} : { 'x-service-key': api.key },
    });
    const body = (await response.json()) as {
      checks?: Record<string, { state: string; detail?: string }>;
    };
    const checks = Object.entries(body.checks ?? {}).map(([what, check]): Finding => ({
      what,
      state: check.state === 'ok' ? 'ok' : check.state === 'down' ? 'wrong' : 'attention',
      detail: check.detail ?? check.state,
    }));
    return [
      {
        what: 'process',
        state: response.ok ? 'ok' : 'wrong',
        detail: `${api.url} is ${response.ok ? 'ready' : 'not ready'}`,
      },
      ...checks,
    ];
  } catch (error) {
    return [
      {
        what: 'process',
        state: 'wrong',
        detail: `${api.url} does not answer: ${reasonOf(error)}`,
        todo: 'npm start, or name the process with --url',
      },
    ];
  }
}

async function diskFinding(config: Config): Promise<Finding> {
  const folder = resolve(config.store.dataDir);
  try {
    await access(folder, constants.R_OK | constants.W_OK);
    const { bavail, bsize } = await statfs(folder);
    const free = bavail * bsize;
    const low = free < config.store.lowWaterBytes;
    const detail = `${folder}, ${Math.round(free / 1_048_576)} MiB free`;
    if (!low) return { what: 'disk', state: 'ok', detail };
    return {
      what: 'disk',
      state: 'wrong',
      detail,
      todo: 'free space: new calls are refused under TRUNKLINE_DISK_LOW_WATER_BYTES',
    };
  } catch (error) {
    return {
      what: 'disk',
      state: 'attention',
      detail: `${folder}: ${reasonOf(error)}`,
      todo: 'the first start makes the folder; later it must be readable and writable',
    };
  }
}

function keysFinding(config: Config): Finding {
  const open = config.http.apiKeys.length === 0;
  if (!open) return { what: 'keys', state: 'ok', detail: `${config.http.apiKeys.length} API keys` };
  if (isLoopback(config.http.host))
    return { what: 'keys', state: 'ok', detail: 'none: only this machine is answered' };
  return {
    what: 'keys',
    state: 'wrong',
    detail: 'none, and others can reach this address',
    todo: 'set TRUNKLINE_API_KEYS',
  };
}

function endpointsFinding(config: Config): Finding {
  const count = endpointsOf(config.outbox).length;
  if (count > 0)
    return {
      what: 'webhooks',
      state: 'ok',
      detail: `${count} configured; trunkline webhooks try sends one an event`,
    };
  return {
    what: 'webhooks',
    state: 'attention',
    detail: 'none',
    todo: 'set TRUNKLINE_WEBHOOK_URL and TRUNKLINE_WEBHOOK_SECRET',
  };
}

/** Carriers reach us by this address: what answers there must be us. */
async function publicUrlFinding(config: Config): Promise<Finding> {
  const { publicUrl } = config.http;
  if (publicUrl === undefined)
    return {
      what: 'public url',
      state: 'attention',
      detail: 'not set: carriers elsewhere cannot reach this machine',
      todo: 'set TRUNKLINE_PUBLIC_URL to the https address that leads here',
    };
  try {
    const response = await fetch(`${publicUrl.replace(/\/+$/, '')}/health/live`, {
      signal: AbortSignal.timeout(answerWithinMs),
    });
    if (response.ok) return { what: 'public url', state: 'ok', detail: `${publicUrl} answers` };
    return {
      what: 'public url',
      state: 'wrong',
      detail: `${publicUrl} answers ${response.status}`,
      todo: 'point it at this port',
    };
  } catch (error) {
    return {
      what: 'public url',
      state: 'wrong',
      detail: `${publicUrl}: ${reasonOf(error)}`,
      todo: 'point it at this port',
    };
  }
}
