import { expect, test } from 'vitest';
import { z } from 'zod';
import { callEventTypes } from '../../../src/protocol/events.ts';
import { carrierRoutes } from '../../../src/carriers/webhook-routes.ts';
import { allRoutes, openApiDocument } from '../../../src/protocol/openapi/document.ts';
import { webhooks } from '../../../src/protocol/openapi/webhook-descriptions.ts';

const document = openApiDocument({
  version: '1.2.3',
  carrierRoutes,
  serverUrl: 'http://127.0.0.1:8080',
});
const routes = allRoutes(carrierRoutes);
const text = JSON.stringify(document);
const { schemas } = z
  .object({ schemas: z.record(z.string(), z.record(z.string(), z.unknown())) })
  .parse(document['components']);

test('every reference leads to a schema', () => {
  const names = [...text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name);
  expect(names.length).toBeGreaterThan(100);
  for (const name of names) expect(schemas, name).toHaveProperty(name ?? '');
});

test('nothing of the generator is left in it', () => {
  expect(text).not.toMatch(/\$defs|\$schema|9007199254740991|__shared/);
});

test('a request’s fields with a default may be left out, an answer’s are there', () => {
  expect(schemas['StreamingRequest']?.['required']).toBeUndefined();
  expect(schemas['TranslationConfig']?.['required']).toEqual(['target_languages']);
  expect(schemas['PreRecordedRequest']?.['required']).toEqual(['audio_url']);
  expect(schemas['TranslationMessage']?.['required']).toEqual(
    expect.arrayContaining(['error', 'data']),
  );
});

test('requests refuse unknown keys, answers may grow', () => {
  expect(schemas['StreamingRequest']?.['additionalProperties']).toBe(false);
  expect(schemas['Call']).not.toHaveProperty('additionalProperties');
});

test('operations have names of their own, a summary and an answer', () => {
  const ids = [...text.matchAll(/"operationId":"([^"]+)"/g)].map(([, id]) => id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids).toHaveLength(routes.length + webhooks.length);
  for (const route of routes) expect(Object.keys(route.answers), route.path).not.toEqual([]);
});

test('every event is a webhook whose example its schema takes', () => {
  const names = webhooks.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining([...callEventTypes]));
  for (const { schema, example } of webhooks)
    if (example !== undefined) expect(schema.safeParse(example).error).toBeUndefined();
});

const operations = ['paths', 'webhooks'].flatMap((place) =>
  Object.entries(document[place] as Record<string, Record<string, Operation>>).flatMap(
    ([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        name: `${method} ${path}`,
        place,
        ...operation,
      })),
  ),
);
type Operation = { operationId?: string; security?: unknown; responses: Record<string, unknown> };

test('every operation says who may call it, and every route how it refuses', () => {
  expect(operations).toHaveLength(routes.length + webhooks.length);
  for (const { name, place, operationId, security, responses } of operations) {
    expect(operationId, name).toMatch(/^[a-zA-Z0-9]+$/);
    expect(security, name).toBeInstanceOf(Array);
    if (place === 'paths') expect(Object.keys(responses).join(), name).toMatch(/4\d\d/);
  }
});

test('every schema is used, and every address of an example is one', () => {
  const used = new Set(
    [...text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(([, one]) => one),
  );
  // Messages of clients on a session's socket have no place in OpenAPI but their names in the description.
  expect(Object.keys(schemas).filter((name) => !used.has(name))).toEqual(['ClientMessage']);
  const addresses = [...text.matchAll(/"((?:https?|wss?):[^"]*)"/g)].map(([, one]) => one);
  expect(addresses.length).toBeGreaterThan(5);
  expect(addresses.filter((one) => !/^[\x21-\x7e]+$/.test(one ?? ''))).toEqual([]);
});

test('bodies and answers in the document are taken by their own schemas', () => {
  for (const { path, body, answers } of routes)
    for (const one of [body, ...Object.values(answers)]) {
      const [schema] = Object.values(one?.content ?? {});
      if (one?.example === undefined || schema === undefined || schema === 'binary') continue;
      expect(schema.safeParse(one.example).error, path).toBeUndefined();
    }
});
