/**
 * The speech service of the bench: takes sessions, acknowledges every message, and checks every byte. Its
 * WebSocket is written by hand so that two cores are enough for three processes.
 */
import { createHash, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { confidenceWraps, fillers, frameBytes, nowMicros } from './frame.ts';

export type SinkReport = {
  frames: number;
  wrong: number;
  legs: number;
  sessions: number;
  p50Ms: number;
  p99Ms: number;
  p999Ms: number;
  maxMs: number;
  cpuMicros: number;
  /** Frames by leg, since the process began. */
  byLeg: [number, number][];
};

const progressMs = 2;
/** Rare acknowledgements: one for each two seconds of audio, which keeps a client from giving the socket up. */
const rareBytes = 16_000;
let acks: 'each' | 'rare' = 'each';
/** With `speak`, each leg says one of these lines after so many bytes of audio: mostly what no rule waits for. */
const finalBytes = 24_000;
const lines = [
  'yes that is fine thank you', 'it stopped working on Monday and nobody called me back', 'could you tell me the postcode again',
  'I would like to speak to your manager', 'the parcel was left with a neighbour', 'let me have a look at the account for you',
  'I want to cancel my contract today', 'that should be with you by the end of the week',
]; // prettier-ignore
let isSpeaking = false;
let finals = 0;

const stepMicros = 10;
const ages = new Uint32Array(200_000);
let frames = 0;
/** Since the process began: `frames` begins anew with each turn. */
let framesEver = 0;
let wrong = 0;
let sessions = 0;
let maxAge = 0;
const next = new Map<number, number>();
/** Sessions outlive their sockets: on a busy machine the bridge may have to come back to one. */
const totals = new Map<string, number>();

const server = createServer((request, response) => {
  if (request.method === 'POST') {
    const id = randomUUID();
    request.resume();
    request.on('end', () => {
      response.writeHead(201, { 'content-type': 'application/json' });
      response.end(
        JSON.stringify({
          id,
          created_at: new Date().toISOString(),
          url: `ws://${request.headers.host ?? ''}/v2/live?token=${id}`,
        }),
      );
    });
    return;
  }
  if (request.url === '/progress') {
    response.writeHead(200);
    const tell = (): void => void response.write(`${framesEver}\n`);
    tell();
    const timer = setInterval(tell, progressMs);
    response.on('close', () => clearInterval(timer));
    return;
  }
  response.writeHead(404).end();
});

server.on('upgrade', (request, socket: Socket) => {
  const key = `${request.headers['sec-websocket-key'] ?? ''}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
  const accept = createHash('sha1').update(key).digest('base64');
  socket.setNoDelay(true);
  socket.on('error', () => socket.destroy());
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
  );
  const token = new URL(request.url ?? '', 'http://x').searchParams.get('token') ?? '';
  serve(socket, token.length === 36 ? token : randomUUID());
});

function serve(socket: Socket, id: string): void {
  sessions++;
  let rest: Buffer | undefined;
  let total = totals.get(id) ?? 0;
  let resumed = total > 0;
  let acknowledged = total;
  let carry: Buffer | undefined;
  // People do not end their sentences all at once.
  const phase = (sessions * 7_919) % finalBytes;
  const head = `{"session_id":"${id}","created_at":"${new Date().toISOString()}","type":"audio_chunk","acknowledged":true,"error":null,"data":{"byte_range":[`;
  socket.on('data', (piece: Buffer) => {
    const bytes = rest ? Buffer.concat([rest, piece]) : piece;
    let at = 0;
    let replies = '';
    while (at + 6 <= bytes.length) {
      let length = (bytes[at + 1] ?? 0) & 127;
      let header = 6;
      if (length === 126) {
        length = bytes.readUInt16BE(at + 2);
        header = 8;
      } else if (length === 127) {
        if (at + 14 > bytes.length) break;
        length = bytes.readUIntBE(at + 4, 6);
        header = 14;
      }
      if (at + header + length > bytes.length) break;
      const body = bytes.subarray(at + header, at + header + length);
      unmask(bytes, at + header - 4, body);
      const opcode = (bytes[at] ?? 0) & 15;
      at += header + length;
      if (opcode === 2) {
        const overlap = resumed ? overlapOf(body) : 0;
        resumed = false;
        carry = audio(body.subarray(overlap), carry);
        const from = total - overlap;
        total = from + length;
        totals.set(id, total);
        if (
          isSpeaking &&
          Math.floor((total + phase) / finalBytes) > Math.floor((from + phase) / finalBytes)
        )
          replies += finalOf(id, total / 8_000);
        if (acks === 'rare' && total - acknowledged < rareBytes) continue;
        acknowledged = total;
        const text = `${head}${from},${total}],"time_range":[${from / 8_000},${total / 8_000}]}}`;
        replies += String.fromCharCode(0x81, 126, text.length >>> 8, text.length & 255) + text;
      } else if (opcode === 1) {
        if (body.includes('stop_recording')) replies += String.fromCharCode(0x88, 2, 3, 0xe8);
      } else if (opcode === 8) {
        socket.end();
      } else if (opcode === 9) {
        replies += String.fromCharCode(0x8a, 0);
      }
    }
    rest = at < bytes.length ? Buffer.from(bytes.subarray(at)) : undefined;
    if (replies !== '') socket.write(replies, 'latin1');
  });
  socket.on('close', () => sessions--);
}

function finalOf(id: string, end: number): string {
  const text = lines[finals++ % lines.length] ?? '';
  const parts = text.split(' ');
  const confidence = (nowMicros() % confidenceWraps) / confidenceWraps;
  const words = parts.map((word, at) => ({ word: ` ${word}`, start: end - 2 + (2 * at) / parts.length, end: end - 2 + (2 * (at + 1)) / parts.length, confidence: 0.9 })); // prettier-ignore
  const utterance = { start: end - 2, end, text, confidence, channel: 0, language: 'en', words };
  const message = JSON.stringify({ session_id: id, created_at: new Date().toISOString(), type: 'transcript', error: null, data: { id: `u${finals}`, is_final: true, utterance } }); // prettier-ignore
  return String.fromCharCode(0x81, 126, message.length >>> 8, message.length & 255) + message;
}

function unmask(bytes: Buffer, maskAt: number, body: Buffer): void {
  for (let at = 0; at < body.length; at++)
    body[at] = (body[at] ?? 0) ^ (bytes[maskAt + (at & 3)] ?? 0);
}

/** Frames that a resumed socket sends again, by the number of its first frame (a real service finds the overlap by its bytes). */
function overlapOf(body: Buffer): number {
  if (body.length < frameBytes) return 0;
  const expected = next.get(body.readUInt32LE(12)) ?? 0;
  return Math.min(body.length, Math.max(0, expected - body.readUInt32LE(8)) * frameBytes);
}

/** Checks whole frames; what is left of one waits for the next message. */
function audio(body: Buffer, carry: Buffer | undefined): Buffer | undefined {
  const bytes = carry ? Buffer.concat([carry, body]) : body;
  const now = nowMicros();
  let at = 0;
  for (; at + frameBytes <= bytes.length; at += frameBytes) {
    const number = bytes.readUInt32LE(at + 8);
    const leg = bytes.readUInt32LE(at + 12);
    const filler = fillers[number & 127];
    frames++;
    framesEver++;
    const expected = next.get(leg) ?? 0;
    if (number !== expected || !filler || filler.compare(bytes, at + 16, at + frameBytes) !== 0)
      wrong++;
    next.set(leg, number + 1);
    const age = now - bytes.readDoubleLE(at);
    if (age > maxAge) maxAge = age;
    const bucket = Math.min(ages.length - 1, Math.max(0, Math.floor(age / stepMicros)));
    ages[bucket] = (ages[bucket] ?? 0) + 1;
  }
  return at < bytes.length ? Buffer.from(bytes.subarray(at)) : undefined;
}

function ageAt(share: number): number {
  const wanted = frames * share;
  let seen = 0;
  for (let bucket = 0; bucket < ages.length; bucket++) {
    seen += ages[bucket] ?? 0;
    if (seen >= wanted) return (bucket * stepMicros) / 1_000;
  }
  return 0;
}

export type SinkCommand = 'reset' | 'report' | 'forget' | 'ack each' | 'ack rarely' | 'speak';

process.on('message', (message: SinkCommand) => {
  if (message === 'ack each') acks = 'each';
  if (message === 'speak') isSpeaking = true;
  if (message === 'ack rarely') acks = 'rare';
  if (message === 'reset' || message === 'forget') {
    ages.fill(0);
    frames = 0;
    maxAge = 0;
    if (message === 'forget') {
      wrong = 0;
      next.clear();
    }
  }
  const { user, system } = process.cpuUsage();
  process.send?.({
    frames,
    wrong,
    legs: next.size,
    sessions,
    p50Ms: ageAt(0.5),
    p99Ms: ageAt(0.99),
    p999Ms: ageAt(0.999),
    maxMs: maxAge / 1_000,
    cpuMicros: user + system,
    byLeg: message === 'report' ? [...next] : [],
  } satisfies SinkReport);
});

server.listen(0, '127.0.0.1', () => {
  process.send?.({ port: (server.address() as AddressInfo).port });
});
