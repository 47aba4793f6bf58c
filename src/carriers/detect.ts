import type { CarrierName } from './all.ts';
import type { UpgradeRequest } from './carrier.ts';
import { objectAt, parseObject, textAt } from './json/frames.ts';

/** `more`: the next text message will tell. */
export type Recognition = CarrierName | 'more' | 'unknown';

/** Rows 1 to 5 of the table in section 0.1: the upgrade alone may say who calls. */
export function recogniseUpgrade(request: UpgradeRequest): CarrierName | undefined {
  const { headers } = request;
  if (headers['audiohook-session-id'] !== undefined) return 'audiohook';
  if (headers['x-twilio-signature'] !== undefined) return 'twilio';
  if (headers['x-plivo-signature-v3'] !== undefined) return 'plivo';
  const protocols = (headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim());
  return protocols.includes('media') ? 'asterisk' : undefined;
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Rows 6 to 16, on the text messages so far; never more than two are needed. */
export function recogniseTexts(texts: readonly string[]): Recognition {
  const [first = '', second] = texts;
  if (first.startsWith('MEDIA_START')) return 'asterisk';
  const message = parseObject(first);
  if (!message) return 'unknown';
  if (message['event'] === 'MEDIA_START') return 'asterisk';
  if (message['version'] === '2' && message['type'] === 'open') return 'audiohook';
  if (message['event'] === 'start') return isPlivoStart(message) ? 'plivo' : 'unknown';
  if (message['event'] !== 'connected') return 'unknown';
  return second === undefined ? 'more' : afterConnected(message, second);
}

function isPlivoStart(message: Record<string, unknown>): boolean {
  const start = objectAt(message, 'start');
  return (
    start !== undefined &&
    textAt(start, 'streamId') !== undefined &&
    textAt(start, 'callId') !== undefined
  );
}

/** The form of the ids decides, not the version: early Twilio streams announced 0.x too. */
function afterConnected(connected: Record<string, unknown>, second: string): Recognition {
  const message = parseObject(second);
  const start = message && objectAt(message, 'start');
  if (!message || !start) return 'unknown';
  if (connected['protocol'] === 'Call') {
    const streamSid = textAt(start, 'streamSid') ?? '';
    return uuid.test(streamSid) ? 'signalwire' : 'twilio';
  }
  return textAt(start, 'call_control_id') !== undefined ? 'telnyx' : 'unknown';
}
