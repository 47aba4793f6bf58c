/**
 * The control: the smallest thing that gets a carrier's audio to a speech socket. ws in, JSON.parse, base64,
 * ws out, every ack parsed. No journal, no ledger, no resume, no checks.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocket, WebSocketServer, type RawData } from 'ws';

const sink = process.argv[2] ?? '';
const server = createServer();
const carriers = new WebSocketServer({ server, perMessageDeflate: false });
let next = 0;
carriers.on('connection', (carrier) => {
  const speech = new WebSocket(`${sink}/v2/live?token=pipe-${next++}`, {
    perMessageDeflate: false,
  });
  const waiting: Buffer[] = [];
  let acknowledged = 0;
  carrier.on('error', () => carrier.terminate());
  speech.on('error', () => speech.terminate());
  carrier.on('message', (data: RawData) => {
    const message = JSON.parse((data as Buffer).toString()) as {
      event: string;
      media?: { payload: string };
    };
    if (message.event !== 'media' || !message.media) return;
    const audio = Buffer.from(message.media.payload, 'base64');
    if (speech.readyState === WebSocket.OPEN) speech.send(audio);
    else waiting.push(audio);
  });
  speech.on('open', () => {
    for (const audio of waiting.splice(0)) speech.send(audio);
  });
  speech.on('message', (data: RawData) => {
    const ack = JSON.parse((data as Buffer).toString()) as {
      data?: { byte_range?: [number, number] };
    };
    acknowledged = ack.data?.byte_range?.[1] ?? acknowledged;
  });
  carrier.on('close', () => speech.close());
});
server.listen(0, '127.0.0.1', () => {
  console.log(`ready http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
