import { z } from 'zod';
import { TrunklineError } from '../lib/errors.ts';

// What the answers to "what shall this call do?" share: they start a stream and go on with the call.

/** As long as a call may last: with no verb behind the one that starts the stream, the call would hang up at once. */
export const answerPauseS = 14_400;

/** Where a call goes on once its stream was started; with neither it stays as it is, for `answerPauseS`. */
export type NextStep = { dial: string | undefined; continueUrl: string | undefined };

export const dialSetting = (env: string, carrier: string) =>
  z
    .string()
    .min(3)
    .max(255)
    .optional()
    .meta({
      env,
      description: `Whom the call goes on to after POST /carriers/${carrier}/voice started the stream: a number or a sip: address.`,
    });

export const continueSetting = (env: string, carrier: string, kind: string) =>
  z
    .url({ protocol: /^https?$/ })
    .optional()
    .meta({
      env,
      description: `${kind} address where the call goes on after POST /carriers/${carrier}/voice started the stream, instead of dialling.`,
    });

/** A call goes on in one way: where both are set, either could be meant. */
export function refuseBoth(pair: Record<string, string | undefined>): void {
  if (Object.values(pair).some((value) => value === undefined)) return;
  const [one, other] = Object.keys(pair);
  throw new TrunklineError('CONFIG_INVALID', `set ${one} or ${other}, not both`);
}

/** Of a call whose caller heard the announcement: how the consent was had goes with it. */
export function consentOf(announcement: string | undefined): {
  metadata?: Record<string, unknown>;
} {
  return announcement === undefined ? {} : { metadata: { consent: 'announced' } };
}

export function socketUrlOf(publicUrl: string, carrier: string): string {
  return `${publicUrl.replace(/^http/, 'ws')}/carriers/${carrier}`;
}

export function xmlDocument(root: string): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n${root}\n`;
}

/** Attributes that are undefined are left out; `children` are elements, or text that `xmlText` made safe. */
export function element(
  name: string,
  attributes: Record<string, string | undefined>,
  children: readonly string[] = [],
): string {
  const head = Object.entries(attributes)
    .flatMap(([key, value]) => (value === undefined ? [] : [` ${key}="${xmlText(value)}"`]))
    .join('');
  return children.length === 0
    ? `<${name}${head}/>`
    : `<${name}${head}>${children.join('')}</${name}>`;
}

const entities: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
};

export function xmlText(text: string): string {
  return (
    text
      .replace(/[&<>"']/g, (char) => entities[char] ?? '')
      // Characters that XML has no form for.
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '')
  );
}
