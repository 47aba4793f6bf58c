import { parentPort, workerData } from 'node:worker_threads';
import { openApiDocument } from '../protocol/openapi/document.ts';
import type { Route } from '../protocol/openapi/route.ts';

export type DocsRequest = { version: string; serverUrl: string; carrierRoutes: string };
export type DocsAnswer = { document: Uint8Array };

const { version, serverUrl, carrierRoutes: routesModule } = workerData as DocsRequest;
const { carrierRoutes } = (await import(routesModule)) as { carrierRoutes: readonly Route[] };
const document = openApiDocument({ version, serverUrl, carrierRoutes });
const answer: DocsAnswer = { document: Buffer.from(JSON.stringify(document)) };
parentPort?.postMessage(answer);
