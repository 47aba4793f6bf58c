import { access, constants, statfs } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Config } from '../config.ts';
import { reasonOf } from '../lib/errors.ts';
import { endpointsOf } from '../outbox/config.ts';
import type { Api } from '../player/api-client.ts';
import { isLoopback } from '../port/addresses.ts';
import type { CallPage, CarrierList, Installation, JobCallbackPage } from '../protocol/api.ts';
import type { PlaybookList } from '../protocol/assist-events.ts';
import type { ApiEndpoint, EndpointPage } from '../protocol/delivery-reports.ts';
import { LanguageModelTrial } from '../protocol/model-reports.ts';
import { ProviderTrial } from '../protocol/people-reports.ts';
import { answerOf, askProcess, requestOf, whyUnreachable } from './running-process.ts';

const answerWithinMs = 10_000;

type InstallationFinding = {
  what: string;
  state: 'ok' | 'attention' | 'wrong';
  detail: string;
  todo?: string | undefined;
};

/** Advice for each component that is not healthy. */
const todoOfPart: Partial<Record<string, string>> = {
  store: 'look at the database and at the disk it is on',
  disk: 'free space on the data disk: new calls are refused until there is room',
  memory: 'raise the limit of memory (container, --max-old-space-size), or share the calls out',
  journal: 'look at the data disk: it is full, slow or cannot be written',
  recogniser: 'npx trunkline models list shows what is there, models pull fetches what is missing',
  speech:
    'audio is kept meanwhile, and transcribe-again reads calls that ended without words; look at the speech service, TRUNKLINE_SPEECH_URL and its key, or at how many sessions it takes',
  delivery:
    'look at the receiver: its events wait in order and are tried again; npx trunkline deliveries list --state pending',
  outbox:
    'npx trunkline deliveries list --state parked (or pending) shows why; then retry or release',
};

/** Carriers whose last stream or webhook was refused, and which have opened no stream since. */
async function refusedFindings(api: Api): Promise<InstallationFinding[]> {
  const { items } = await answerOf<CarrierList>(api, '/api/carriers');
  return items.flatMap(({ name, last_refused: refused, last_stream_at: streamed }) =>
    !refused || (streamed !== null && Date.parse(streamed) > Date.parse(refused.at))
      ? []
      : [
          {
            what: 'carriers',
            state: 'attention',
            detail: `${name}: last refused ${refused.at}: ${refused.reason}`,
            todo: `compare its settings: npx trunkline carriers ${name}`,
          },
        ],
  );
}

/**
 * Checks everything that an installation needs; each finding says what to do. A running process is asked itself,
 * because this terminal may have other settings.
 */
export async function installationFindings(
  config: Config,
  api: Api,
): Promise<InstallationFinding[]> {
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
    const installation = await answerOf<Installation>(api, '/api/installation');
    const endpoints = await answerOf<EndpointPage>(api, '/api/deliveries/endpoints');
    const { public_url: address, roles } = installation;
    return [
      ...findings,
      ...(roles.includes('speech') ? await callbackFindings(api) : []),
      ...(roles.includes('bridge') ? await incompleteFindings(api) : []),
      ...(roles.includes('bridge') ? await refusedFindings(api) : []),
      ...(roles.includes('bridge') ? await meaningFindings(api) : []),
      keysFinding(config),
      ...(await languageModelFindings(api)),
      ...(await providerFindings(api)),
      ...webhookFindings(endpoints.items),
      await publicUrlFinding(isLoopback(new URL(address).hostname) ? undefined : address),
    ];
  } catch (error) {
    const detail = `the process does not tell more: ${reasonOf(error)}`;
    const todo = 'set TRUNKLINE_API_KEYS here as the process has it';
    return [...findings, { what: 'keys', state: 'wrong', detail, todo }];
  }
}

async function processFindings(
  api: Api,
): Promise<{ findings: InstallationFinding[]; answers: boolean }> {
  try {
    const response = await askProcess(api, '/health/ready', answerWithinMs);
    const body = (await response.json()) as {
      checks?: Record<string, { state: string; detail?: string }>;
    };
    const checks = Object.entries(body.checks ?? {}).map(([what, check]): InstallationFinding => {
      const todo = check.state === 'ok' ? undefined : todoOfPart[what];
      return {
        what,
        state: check.state === 'ok' ? 'ok' : check.state === 'down' ? 'wrong' : 'attention',
        detail: check.detail ?? check.state,
        todo,
      };
    });
    const process: InstallationFinding = {
      what: 'process',
      state: response.ok ? 'ok' : 'wrong',
      detail: `${api.url} is ${response.ok ? 'ready' : 'not ready'}`,
    };
    return { findings: [process, ...checks], answers: true };
  } catch (error) {
    const process: InstallationFinding = {
      what: 'process',
      state: 'wrong',
      detail: `${api.url} does not answer: ${whyUnreachable(error)}`,
      todo: 'npm start, or name the process with --url or TRUNKLINE_URL',
    };
    return { findings: [process], answers: false };
  }
}

async function diskFinding(config: Config): Promise<InstallationFinding> {
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

function keysFinding(config: Config): InstallationFinding {
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

/** Returns nothing if every call is complete. */
async function incompleteFindings(api: Api): Promise<InstallationFinding[]> {
  const { items, next_cursor: next } = await answerOf<CallPage>(
    api,
    '/api/calls?incomplete=true&limit=100',
  );
  const [newest] = items;
  if (newest === undefined) return [];
  const count = `${items.length}${next === null ? '' : '+'}`;
  return [
    {
      what: 'calls',
      state: 'attention',
      detail: `${count} lack words, the newest ${newest.incomplete?.seconds ?? 0} s (${newest.id})`,
      todo: 'npx trunkline transcribe-again --incomplete reads their recordings again',
    },
  ];
}

/** Rules that would understand other words too, if the model were there. They work without it. */
async function meaningFindings(api: Api): Promise<InstallationFinding[]> {
  const { waiting } = await answerOf<PlaybookList>(api, '/api/assist/playbooks');
  if (waiting === null) return [];
  const detail = `${waiting.rules} rules with examples listen for their phrases alone: the model that understands other words is not installed`;
  return [{ what: 'rules', state: 'ok', detail, todo: waiting.remedy }];
}

/** Asks the process to try its language model on an invented call. Without such a model nothing is said. */
async function languageModelFindings(api: Api): Promise<InstallationFinding[]> {
  const what = 'llm';
  try {
    const answer = await requestOf(api, '/api/language-model/trial', { method: 'POST' });
    const { tried } = LanguageModelTrial.parse(answer);
    if (tried === null) return [];
    const { model, ms, problem, todo } = tried;
    if (problem === undefined)
      return [{ what, state: 'ok', detail: `${model} answered as needed in ${ms} ms` }];
    const detail = `${model}: ${problem}; summaries are made of the call's own sentences meanwhile`;
    return [{ what, state: 'wrong', detail, todo }];
  } catch (error) {
    const detail = `the process could not try its language model: ${reasonOf(error)}`;
    return [{ what, state: 'attention', detail }];
  }
}

/** Asks the process for the provider that signs people in. Without one nothing is said. */
async function providerFindings(api: Api): Promise<InstallationFinding[]> {
  const what = 'provider';
  try {
    const answer = await requestOf(api, '/api/provider/trial', { method: 'POST' });
    const { tried } = ProviderTrial.parse(answer);
    if (tried === null) return [];
    const { issuer, back_at: backAt, problem, todo } = tried;
    if (problem === null)
      return [{ what, state: 'ok', detail: `${issuer} answers; it must know the redirect address ${backAt}` }]; // prettier-ignore
    return [{ what, state: 'wrong', detail: `${issuer}: ${problem}`, todo: todo ?? undefined }];
  } catch (error) {
    const detail = `the process could not try the provider that signs people in: ${reasonOf(error)}`;
    return [{ what, state: 'attention', detail }];
  }
}

/** Returns nothing if no callback is parked: most installations have no callbacks at all. */
async function callbackFindings(api: Api): Promise<InstallationFinding[]> {
  const { items, next_cursor: next } = await answerOf<JobCallbackPage>(
    api,
    '/api/job-callbacks?state=parked&limit=100',
  );
  const [newest] = items;
  if (newest === undefined) return [];
  const count = `${items.length}${next === null ? '' : '+'} parked`;
  const where = newest.host === null ? '' : ` at ${newest.host}`;
  return [
    {
      what: 'callbacks',
      state: 'attention',
      detail: `${count}, the newest${where}: ${newest.reason ?? 'no reason is known'}`,
      todo: 'mend the receiver; then the Jobs view of the page, or POST /api/job-callbacks/{id}/retry, tries again',
    },
  ];
}

/** A webhook is healthy when it takes events, not when it is configured. */
function webhookFindings(endpoints: readonly ApiEndpoint[]): InstallationFinding[] {
  const switchedOff = endpoints.filter((one) => one.disabled_at !== null).map(({ name }) => name);
  if (endpoints.length === 0 || switchedOff.length > 0)
    return [endpointsFinding(endpoints.length, switchedOff)];
  const findings = endpoints.flatMap((one) => refusedAll(one) ?? []);
  return findings.length > 0 ? findings : [endpointsFinding(endpoints.length)];
}

/** Returns undefined if the webhook took an event after its last failure, or if it never failed. */
function refusedAll(endpoint: ApiEndpoint): InstallationFinding | undefined {
  const { name, last_failure: failed, last_success_at: taken } = endpoint;
  if (failed === null || (taken !== null && taken > failed.at)) return undefined;
  const calls = [
    ...(endpoint.waiting_calls > 0 ? [`${endpoint.waiting_calls} waiting`] : []),
    ...(endpoint.parked_calls > 0 ? [`${endpoint.parked_calls} parked`] : []),
  ];
  const since =
    taken === null ? 'has taken none of its events' : `has taken nothing since ${taken}`;
  return {
    what: 'webhooks',
    state: taken === null ? 'wrong' : 'attention',
    detail: `${name} ${since} (calls: ${calls.join(', ')}): ${failed.reason ?? 'no reason is known'}`,
    todo: `npx trunkline deliveries list --call ${failed.call_id} --endpoint ${name} shows the events; webhooks try ${name} --call ${failed.call_id} shows the requests`,
  };
}

function endpointsFinding(count: number, switchedOff: string[] = []): InstallationFinding {
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

/** Carriers reach us through the public address, so this process must be the one that answers there. */
async function publicUrlFinding(publicUrl: string | undefined): Promise<InstallationFinding> {
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
      detail: `${publicUrl} does not answer: ${whyUnreachable(error)}`,
      todo: 'point it at this port',
    };
  }
}
