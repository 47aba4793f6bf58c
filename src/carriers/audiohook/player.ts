import { createHmac, randomUUID } from 'node:crypto';
import {
  newNonce,
  type CarrierPlayer,
  type Dialogue,
  type Frame,
  type PlayedCall,
} from '../../player/dialogue.ts';
import { isObject } from '../../lib/json.ts';
import { withoutUndefined } from '../../lib/without-undefined.ts';
import { interleave } from '../binary/interleaving.ts';

const organizationId = '5b4c3d2e-1f00-4a9b-8c7d-6e5f40312233';
const channelOf = { customer: 'external', agent: 'internal' } as const;

export const audiohookPlayer: CarrierPlayer = {
  name: 'audiohook',
  frameMs: 200,
  encodings: ['mulaw', 'slin'],
  newIds: () => ({ callId: randomUUID(), streamId: randomUUID() }),
  canProve: ({ apiKey, clientSecret }) => apiKey !== undefined && clientSecret !== undefined,
  headers(url, call, { apiKey, clientSecret }) {
    const { pathname, search, host } = new URL(url);
    const headers: Record<string, string> = {
      'audiohook-organization-id': organizationId,
      'audiohook-session-id': call.streamId,
      'audiohook-correlation-id': randomUUID(),
      ...withoutUndefined({ 'x-api-key': apiKey }),
    };
    if (apiKey === undefined || clientSecret === undefined) return headers;
    const signed = {
      target: `${pathname}${search}`,
      authority: host.toLowerCase(),
      headers,
      apiKey,
      clientSecret,
      nonce: newNonce(),
      createdS: Math.floor(Date.now() / 1000),
    };
    return { ...headers, ...audiohookSignature(signed) };
  },
  newDialogue: (call) => new AudiohookDialogue(call),
  recordedIds(_text, { type, id, parameters }) {
    if (type !== 'open' || !isObject(parameters)) return undefined;
    const { conversationId } = parameters;
    return typeof conversationId === 'string' && typeof id === 'string'
      ? { callId: conversationId, streamId: id }
      : undefined;
  },
  // The upgrade must name the same organization as the recorded `open`.
  recordedHeaders(texts) {
    for (const text of texts) {
      const found = /"organizationId":"([^"]+)"/.exec(text)?.[1];
      if (found !== undefined) return { 'audiohook-organization-id': found };
    }
    return {};
  },
  // The client confirms the number that it heard in this run, not the recorded one.
  retold: (text, lastSeq) => text.replace(/"serverseq":\d+/, `"serverseq":${lastSeq}`),
};

type ChosenMedia = { type: string; format: string; channels: string[]; rate: number };

/** The client's half of protocol version 2, with its own sequence numbers. */
class AudiohookDialogue implements Dialogue {
  readonly readyAtOnce = false;
  readonly waitsForOver = true;
  readonly #call: PlayedCall;
  #seq = 0;
  #serverSeq = 0;
  #media: ChosenMedia | undefined;
  #pings = 0;
  #nextPingMs = 1_000;
  #disconnected = false;

  constructor(call: PlayedCall) {
    this.#call = call;
  }

  opening(): Frame[] {
    const { callId, from, to, legs, parameters } = this.#call;
    const channels = legs.map((leg) => channelOf[leg]);
    const format = this.#call.encoding === 'slin' ? 'L16' : 'PCMU';
    const offers = channels.length === 2 ? [channels, ['external'], ['internal']] : [channels];
    return [
      this.#message('open', 0, {
        organizationId,
        conversationId: callId,
        participant: { id: randomUUID(), ani: from, aniName: '', dnis: to },
        media: offers.map((names) => ({ type: 'audio', format, channels: names, rate: 8000 })),
        language: 'en-US',
        customConfig: parameters,
      }),
    ];
  }

  media(frames: { leg: 'customer' | 'agent'; bytes: Buffer }[], atMs: number): Frame[] {
    const media = this.#media;
    if (!media || this.#disconnected) return [];
    const parts = media.channels.map(
      (name) => frames.find(({ leg }) => channelOf[leg] === name)?.bytes ?? Buffer.alloc(0),
    );
    const width = media.format === 'L16' ? 2 : 1;
    return [interleave(parts, width, media.format === 'L16' ? 0 : 0xff), ...this.#ping(atMs)];
  }

  received(
    text: string,
    atMs: number,
  ): { send: Frame[]; ready?: boolean; paused?: boolean; over?: boolean } {
    const message = JSON.parse(text) as {
      type: string;
      seq: number;
      parameters: Record<string, unknown>;
    };
    this.#serverSeq = message.seq;
    switch (message.type) {
      case 'opened':
        this.#media = (message.parameters['media'] as ChosenMedia[])[0];
        return { send: [], ready: true, paused: message.parameters['startPaused'] === true };
      case 'pong':
        // The second ping follows the first pong at once, so that the server can measure the round trip.
        return { send: this.#pings === 1 ? this.#pingNow(atMs, 'PT0.01S') : [] };
      case 'pause':
        return { send: [this.#message('paused', atMs, {})], paused: true };
      case 'resume':
        return {
          send: [this.#message('resumed', atMs, { start: at(atMs), discarded: 'PT0S' })],
          paused: false,
        };
      case 'disconnect':
        this.#disconnected = true;
        return { send: [this.#message('close', atMs, { reason: 'disconnect' })], paused: true };
      case 'closed':
        return { send: [], over: true };
      default:
        return { send: [] };
    }
  }

  closing(atMs: number): Frame[] {
    return this.#disconnected ? [] : [this.#message('close', atMs, { reason: 'end' })];
  }

  #ping(atMs: number): Frame[] {
    if (atMs < this.#nextPingMs) return [];
    return this.#pingNow(atMs, this.#pings === 0 ? undefined : 'PT0.01S');
  }

  #pingNow(atMs: number, rtt: string | undefined): Frame[] {
    this.#pings++;
    this.#nextPingMs = atMs + 5_000;
    return [this.#message('ping', atMs, rtt === undefined ? {} : { rtt })];
  }

  #message(type: string, atMs: number, parameters: Record<string, unknown>): string {
    const { streamId: id } = this.#call;
    return JSON.stringify({
      version: '2',
      type,
      id,
      seq: ++this.#seq,
      serverseq: this.#serverSeq,
      position: at(atMs),
      parameters,
    });
  }
}

function at(ms: number): string {
  return `PT${ms / 1000}S`;
}

/** Makes the HTTP message signature of an AudioHook upgrade over its six components. */
export function audiohookSignature(options: {
  target: string;
  authority: string;
  headers: Record<string, string>;
  apiKey: string;
  clientSecret: string;
  nonce: string;
  createdS: number;
}): { 'signature-input': string; signature: string } {
  const { target, authority, headers, apiKey, clientSecret, nonce, createdS } = options;
  const values: [string, string][] = [
    ['@request-target', target],
    ['@authority', authority],
    ...[
      'audiohook-organization-id',
      'audiohook-session-id',
      'audiohook-correlation-id',
      'x-api-key',
    ].map((name): [string, string] => [name, headers[name] ?? '']),
  ];
  const list = `(${values.map(([name]) => `"${name}"`).join(' ')})`;
  const parameters = `${list};keyid="${apiKey}";nonce="${nonce}";alg="hmac-sha256";created=${createdS};expires=${createdS + 30}`;
  const base = [
    ...values.map(([name, value]) => `"${name}": ${value}`),
    `"@signature-params": ${parameters}`,
  ].join('\n');
  const digest = createHmac('sha256', Buffer.from(clientSecret, 'base64'))
    .update(base)
    .digest('base64');
  return { 'signature-input': `sig1=${parameters}`, signature: `sig1=:${digest}:` };
}
