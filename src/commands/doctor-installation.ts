import { access, constants, statfs } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Config } from '../config.ts';
import { endpointsOf } from '../outbox/config.ts';
import { isLoopback } from '../port/addresses.ts';
import { reasonOf } from '../lib/errors.ts';
import type { Api } from '../player/api-client.ts';
import type { Installation } from '../protocol/api.ts';
import { askProcess, whyUnreachable } from './running-process.ts';

export type Finding = {
  what: string;
  state: 'ok' | 'attention' | 'wrong';
  detail: string;
  todo?: string;
};

const answerWithinMs = 5_000;

/** What a part that is not well asks of a person. */
const todoOf: Partial<Record<string, string>> = {
  store: 'look at the database and at the disk it is on',
  disk: 'free space on the data disk: new calls are refused until there is room',
  memory: 'raise the limit of memory (container, --max-old-space-size), or share the calls out',
  journal: 'look at the data disk: it is full, slow or cannot be written',
  recogniser: 'npx trunkline models list shows what is there, models pull fetches what is missing',
  speech:
    'audio is kept meanwhile; look at the speech service, TRUNKLINE_SPEECH_URL and its key, or at how many sessions it takes',
  outbox:
    'npx trunkline deliveries list --state parked (or pending) shows why; then retry or release',
};

/**
 * What an installation needs, looked at one by one; each finding says what to do. A process that answers
 * is asked itself: the settings of this terminal may be others.
 */
export async function installationFindings(config: Config, api: Api): Promise<Finding[]> {
  const { findings, answers } = await processFindings(api);
  if (!answers)
    return [
      ...findings,
      await diskFinding(config),
      keysFinding(config),
      endpointsFinding(endpointsOf(config.outbox).length),
      await publicUrlFinding(config.http.publicUrl),
    ];
  try {
    const installation = await ask<Installation>(api, '/api/installation');
    const endpoints = await ask<{ items: { name: string; disabled_at: string | null }[] }>(
      api,
      '/api/deliveries/endpoints',
    );
    const { public_url: address } = installation;
    return [
      ...findings,
      keysFinding(config),
      endpointsFinding(
        endpoints.items.length,
        endpoints.items.filter((one) => one.disabled_at !== null).map((one) => one.name),
      ),
      await publicUrlFinding(isLoopback(new URL(address).hostname) ? undefined : address),
    ];
  } catch (error) {
    const detail = `the process does not tell more: ${reasonOf(error)}`;
    const todo = 'set TRUNKLINE_API_KEYS here as the process has it';
    return [...findings, { what: 'keys', state: 'wrong', detail, todo }];
  }
}

async function ask<T>(api: Api, path: string): Promise<T> {
  const response = await askProcess(api, path, answerWithinMs);
  if (!response.ok) throw new Error(`${path} was answered with ${response.status}`);
  return (await response.json()) as T;
}

async function processFindings(api: Api): Promise<{ findings: Finding[]; answers: boolean }> {
  try {
    const response = await askProcess(api, '/health/ready', answerWithinMs);
    const body = (await response.json()) as {
      checks?: Record<string, { state: string; detail?: string }>;
    };
    const checks = Object.entries(body.checks ?? {}).map(([what, check]): Finding => {
      const todo = check.state === 'ok' ? undefined : todoOf[what];
      return {
        what,
        state: check.state === 'ok' ? 'ok' : check.state === 'down' ? 'wrong' : 'attention',
        detail: check.detail ?? check.state,
        ...(todo === undefined ? {} : { todo }),
      };
    });
    const process: Finding = {
      what: 'process',
      state: response.ok ? 'ok' : 'wrong',
      detail: `${api.url} is ${response.ok ? 'ready' : 'not ready'}`,
    };
    return { findings: [process, ...checks], answers: true };
  } catch (error) {
    const process: Finding = {
      what: 'process',
      state: 'wrong',
      detail: `${api.url} does not answer: ${whyUnreachable(error)}`,
      todo: 'npm start, or name the process with --url or TRUNKLINE_URL',
    };
    return { findings: [process], answers: false };
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
  const count = config.http.apiKeys.length;
  if (!open)
    return { what: 'keys', state: 'ok', detail: `${count} API ${count === 1 ? 'key' : 'keys'}` };
  if (isLoopback(config.http.host))
    return { what: 'keys', state: 'ok', detail: 'none: only this machine is answered' };
  return {
    what: 'keys',
    state: 'wrong',
    detail: 'none, and others can reach this address',
    todo: 'set TRUNKLINE_API_KEYS',
  };
}

function endpointsFinding(count: number, switchedOff: string[] = []): Finding {
  if (switchedOff.length > 0)
    return {
      what: 'webhooks',
      state: 'wrong',
      detail: `switched off: ${switchedOff.join(', ')}`,
      todo: 'npx trunkline deliveries enable <name>, once it takes events again',
    };
  if (count > 0)
    return {
      what: 'webhooks',
      state: 'ok',
      detail: `${count} configured; npx trunkline webhooks try shows what one is sent`,
    };
  return {
    what: 'webhooks',
    state: 'attention',
    detail: 'none',
    todo: 'set TRUNKLINE_WEBHOOK_URL and TRUNKLINE_WEBHOOK_SECRET',
  };
}

/** Carriers reach us by this address: what answers there must be us. */
async function publicUrlFinding(publicUrl: string | undefined): Promise<Finding> {
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
