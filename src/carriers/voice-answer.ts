import { z } from 'zod';
import { TrunklineError } from '../lib/errors.ts';

// Answers to "what shall this call do?" share these parts: they start a stream and continue the call.

/**
 * The pause lasts as long as a call may. Without a verb after the one that starts the stream, the call would hang up at
 * once.
 */
export const answerPauseS = 14_400;

/**
 * The next step of a call once its stream was started. If neither is set, the call stays as it is for `answerPauseS`.
 */
export type NextStep = { dial: string | undefined; continueUrl: string | undefined };

export const dialSetting = (env: string, carrier: string) =>
  z
    .string()
    .min(3)
    .max(255)
    .optional()
    .meta({
      env,
      description: `The number or sip: address that the call goes on to after POST /carriers/${carrier}/voice started the stream.`,
    });

export const continueSetting = (env: string, carrier: string, kind: string) =>
  z
    .url({ protocol: /^https?$/ })
    .optional()
    .meta({
      env,
      description: `${kind} address where the call goes on after POST /carriers/${carrier}/voice started the stream, instead of dialling.`,
    });

/** Refuses two ways for a call to go on, because either could be meant. */
export function refuseBoth(pair: Record<string, string | undefined>): void {
  if (Object.values(pair).some((value) => value === undefined)) return;
  const [one, other] = Object.keys(pair);
  throw new TrunklineError('CONFIG_INVALID', `set ${one} or ${other}, not both`);
}

/** Metadata which says that the caller heard the announcement and so consented. */
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

/**
 * Makes an XML element and leaves undefined attributes out. `children` are elements, or text that `xmlText` made safe.
 */
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
      // XML has no form for these characters.
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '')
  );
}
