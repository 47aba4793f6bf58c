import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import type { App } from '../process/app.ts';
import { twilioConnected, twilioStart } from '../carriers/carrier-client.ts';
import { textFrames, upgrade, type Knock } from './upgrade-flood.ts';

const wrong = Buffer.alloc(32, 7).toString('base64');
/** Each carrier with wrong credentials, and addresses that do not exist. */
export const wrongCredentials: Knock[] = [
  upgrade('/carriers/twilio', 'X-Twilio-Signature: AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n'),
  upgrade('/carriers/telnyx', 'Authorization: Bearer not-the-secret\r\n'),
  upgrade('/carriers/audiohook', 'X-API-KEY: not-the-key\r\n'),
  upgrade('/carriers/asterisk', 'Authorization: Basic bm90OnRoZSBzZWNyZXQ=\r\n'),
  upgrade('/carriers/signalwire', 'Authorization: Bearer not-the-secret\r\n'),
  upgrade('/carriers/plivo', `X-Plivo-Signature-V3: ${wrong}\r\nX-Plivo-Signature-V3-Nonce: 1\r\n`),
  upgrade('/carriers/jambonz', 'Authorization: Basic bm90OnRoZSBzZWNyZXQ=\r\n'),
  upgrade('/carriers/freeswitch', 'Authorization: Basic bm90OnRoZSBzZWNyZXQ=\r\n'),
  upgrade('/carriers/infobip', 'Authorization: Basic bm90OnRoZSBzZWNyZXQ=\r\n'),
  upgrade('/carriers/vonage', 'Authorization: Bearer eyJhbGciOiJub25lIn0.e30.AAAA\r\n'),
  upgrade('/carriers/bandwidth', 'Authorization: Basic bm90OnRoZSBzZWNyZXQ=\r\n'),
  upgrade('/carriers/exotel', 'Authorization: Basic bm90OnRoZSBzZWNyZXQ=\r\n'),
  upgrade('/carriers/ringcx?secret=not-the-secret'),
  upgrade('/carriers/asterisk'),
  upgrade('/carriers/nobody'),
  upgrade('/carriers/twilio', 'Origin: https://elsewhere.example\r\n'),
].map((request) => ({ request }));

/** Only the store can tell that it never issued these tokens. */
export const guessedTokens: Knock[] = Array.from({ length: 64 }, (_, at) => {
  const token = randomBytes(24).toString('base64url');
  return [
    upgrade(`/carriers/twilio/${token}`),
    upgrade('/carriers/telnyx', `Authorization: Bearer ${token}\r\n`),
  ][at % 2]!;
}).map((request) => ({ request }));

const then = textFrames(twilioConnected, twilioStart()).toString('base64');
/** Requests without any proof. They are admitted until their first messages bring none either. */
export const withoutProof: Knock[] = ['/carriers/twilio', '/carriers'].map((path) => ({
  request: upgrade(path),
  then,
}));

/** The number of refused upgrades, from the program's own counters. */
export async function refusedUpgrades(app: App): Promise<number> {
  const text = await (await app.get('/metrics')).text();
  const rows = text.matchAll(
    /^trunkline_(?:carrier_upgrades|upgrades_refused)_total\{(.*)\} (\d+)$/gm,
  );
  return [...rows].reduce((sum, [, labels = '', count]) => sum + (labels.includes('"proven"') ? 0 : Number(count)), 0); // prettier-ignore
}

export async function handlesOf({ pid }: ChildProcess): Promise<number> {
  return (await readdir(`/proc/${pid}/fd`)).length;
}

/** True for a status with a body, or a close frame with a reason. */
export function isInWords(answer: string): boolean {
  return (
    /^HTTP\/1\.1 (40[134]|429|503) [^]*\r\n\r\n\S/.test(answer) || /no stream token/.test(answer)
  );
}
