import { createHash } from 'node:crypto';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { verifyWebhook } from '../../../src/lib/webhook-signature.ts';
import type { ReceivedEvent } from './delivery-checker.ts';

export type CrmRequest = {
  body: Buffer;
  headers: IncomingHttpHeaders;
  event: CrmEvent;
  path: string;
  method: string;
};
export type CrmEvent = {
  id: string;
  type: string;
  sequence: number;
  call: { id: string };
  [key: string]: unknown;
};

/** Answers by returning a status, or answers the request itself and returns nothing. */
type Behave = (
  request: CrmRequest,
  response: ServerResponse,
  raw: IncomingMessage,
) => number | undefined | Promise<number | undefined>;

export type Crm = AsyncDisposable & {
  url: string;
  /** Requests that were answered with success, in order. */
  arrivals: ReceivedEvent[];
  requests: CrmRequest[];
  refusedSignatures: number;
  behave: Behave | undefined;
  sockets: () => number;
};

export function digestOf(body: Uint8Array | string): string {
  return createHash('sha256').update(body).digest('base64url');
}

/** A CRM's webhook. It verifies each signature and records requests in their order of arrival. */
export async function startCrm(secrets: string[], behave?: Behave): Promise<Crm> {
  let sockets = 0;
  const server = createServer((raw, response) => {
    raw.on('error', () => undefined);
    response.on('error', () => undefined);
    void read(raw).then(async (body) => {
      if (!body) return;
      const verdict = verifyWebhook(secrets, raw.headers, body);
      if (!verdict.ok) {
        crm.refusedSignatures++;
        response.writeHead(401).end();
        return;
      }
      const request = {
        body, headers: raw.headers, event: parsed(body), path: raw.url ?? '', method: raw.method ?? '',
      }; // prettier-ignore
      crm.requests.push(request);
      const status = await crm.behave?.(request, response, raw);
      if (typeof status === 'number' && status >= 300) {
        response.writeHead(status).end(`status ${status}`);
        return;
      }
      if (crm.behave && typeof status !== 'number') return;
      arrived(crm, request);
      response.writeHead(status ?? 200).end('ok');
    });
  });
  server.on('connection', (socket) => {
    sockets++;
    socket.on('error', () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const crm: Crm = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    arrivals: [],
    requests: [],
    refusedSignatures: 0,
    behave,
    sockets: () => sockets,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return crm;
}

/** Counts a request as arrived, for a behaviour that answers it itself. */
export function arrived(crm: Crm, request: CrmRequest): void {
  const { event, body } = request;
  crm.arrivals.push({
    callId: event.call?.id ?? '',
    sequence: event.sequence,
    id: String(request.headers['webhook-id']),
    digest: digestOf(body),
    atMs: Date.now(),
  });
}

async function read(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of request) chunks.push(chunk as Buffer);
  } catch {
    return undefined; // the sender has gone
  }
  return Buffer.concat(chunks);
}

function parsed(body: Buffer): CrmEvent {
  const none = { id: '', type: '', sequence: 0, call: { id: '' } };
  try {
    return (JSON.parse(body.toString()) as CrmEvent | null) ?? none;
  } catch {
    return none;
  }
}
