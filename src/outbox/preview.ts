import { signWebhook } from '../lib/webhook-signature.ts';
import type { CallEvent } from '../protocol/events.ts';
import type { Endpoint } from './config.ts';
import { compileMapping, type Answers } from './mapping.ts';

/** The requests that an event becomes, as text for a person; the operator's own headers are only named. */
export async function previewOf(
  endpoint: Endpoint,
  event: CallEvent,
  answers: Answers,
): Promise<string[]> {
  if (endpoint.shape === 'envelope') {
    const body = Buffer.from(JSON.stringify(event));
    return [
      requestText(
        endpoint,
        'POST',
        endpoint.url,
        { 'content-type': 'application/json' },
        body,
        event.id,
      ),
    ];
  }
  const texts: string[] = [];
  for (const step of compileMapping(endpoint)) {
    const request = await step.request(event, answers).catch((error: unknown) => error);
    if (request === undefined) texts.push(`# step ${step.name}: nothing for ${event.type}\n`);
    else if (isRequest(request))
      texts.push(
        `# step ${step.name}\n${requestText(endpoint, request.method, request.url, request.headers, request.body ?? Buffer.alloc(0), event.id)}`,
      );
    else texts.push(`# step ${step.name}: cannot be made: ${messageOf(request)}\n`);
  }
  return texts;
}

type Made = {
  method: string;
  url: string;
  headers: Record<string, string>;
  body: Buffer | undefined;
};

function isRequest(value: unknown): value is Made {
  return typeof value === 'object' && value !== null && 'url' in value && 'method' in value;
}

function messageOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'message' in error
    ? String(error.message)
    : String(error);
}

function requestText(
  endpoint: Endpoint,
  method: string,
  url: string,
  headers: Record<string, string>,
  body: Buffer,
  id: string,
): string {
  const signed = signWebhook(endpoint.secrets, id, Math.floor(Date.now() / 1000), body);
  const own = Object.fromEntries(Object.keys(endpoint.headers).map((name) => [name, '********']));
  const lines = Object.entries({ ...headers, ...own, ...signed }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  return `${method} ${url}\n${lines.join('\n')}\n\n${pretty(body)}\n`;
}

function pretty(body: Buffer): string {
  const text = body.toString('utf8');
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text; // a mapping may make something else than JSON
  }
}
