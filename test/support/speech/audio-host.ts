import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { wavOf } from './uploads.ts';

export type AudioHost = AsyncDisposable & {
  host: string;
  url: (path: string) => string;
  /** The headers of the received requests, latest last. */
  requests: IncomingMessage['headers'][];
};

const bomb = gzipSync(Buffer.alloc(50_000_000));

/** A host of audio files, most of which are defective. */
export async function audioHost(): Promise<AudioHost> {
  const requests: IncomingMessage['headers'][] = [];
  const server = createServer((request, response) => {
    requests.push(request.headers);
    const path = new URL(request.url ?? '', 'http://host').pathname;
    answer(path.slice(1), response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    host,
    requests,
    url: (path) => `http://${host}/${path}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function answer(path: string, response: ServerResponse): void {
  const [name = '', detail = ''] = path.split(':');
  response.on('error', () => undefined);
  switch (name) {
    case 'status':
      response.writeHead(Number(detail), { 'content-type': 'audio/wav' }).end('no audio');
      return;
    case 'to':
      response.writeHead(302, { location: decodeURIComponent(detail) }).end('elsewhere');
      return;
    case 'loop':
      response.writeHead(302, { location: '/loop' }).end();
      return;
    case 'silent':
      return;
    case 'stops':
      response.writeHead(200, { 'content-length': '100000' }).write(wavOf(1_000));
      return;
    case 'drips':
      drip(response);
      return;
    case 'endless':
      pour(response);
      return;
    case 'announces':
      response.writeHead(200, { 'content-length': detail }).write(wavOf(1_000));
      return;
    case 'breaks':
      response.writeHead(200, { 'content-length': '100000' });
      response.write(wavOf(1_000), () => response.destroy());
      return;
    case 'empty':
      response.writeHead(200, { 'content-type': 'audio/wav' }).end();
      return;
    case 'page':
      response
        .writeHead(200, { 'content-type': 'audio/wav' })
        .end('\ufeff \r\n<!DOCTYPE html><title>Sign in</title>');
      return;
    case 'bomb':
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb);
      return;
    case 'text':
      response.writeHead(200).end('some words');
      return;
    default:
      response.writeHead(200, { 'set-cookie': 'known=1', 'content-type': 'text/plain' });
      response.end(wavOf(16_000));
  }
}

function pour(response: ServerResponse): void {
  const piece = Buffer.alloc(65_536, 1);
  const more = (): void => {
    while (!response.destroyed && response.write(piece));
  };
  response.on('drain', more);
  more();
}

/** Sends a byte from time to time, so that it is never silent for as long as a stall. */
function drip(response: ServerResponse): void {
  const timer = setInterval(() => response.write('x'), 100);
  response.once('close', () => clearInterval(timer));
}
