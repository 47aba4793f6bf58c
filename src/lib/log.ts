import { createRequire } from 'node:module';
import { Writable } from 'node:stream';
import { pino, type DestinationStream, type Logger } from 'pino';
import type * as Pretty from 'pino-pretty';

export type { Logger } from 'pino';

/**
 * Fields whose values are never written. The rule is that no code logs secrets, phone numbers or people's words. This
 * list is the second defence, for a line that breaks the rule. It covers three levels of nesting.
 */
const secretFields = [
  'key',
  'keys',
  'apiKey',
  'apiKeys',
  'token',
  'secret',
  'secrets',
  'password',
  'authorization',
  'cookie',
  'signature',
  'url',
  'sessionUrl',
  'from',
  'to',
  'phone',
  'ani',
  'dnis',
  'text',
  'transcript',
  'payload',
  'body',
  'headers',
  'databaseUrl',
];

type LogOptions = { level?: string; pretty?: boolean; destination?: DestinationStream };

/** A foreign id may have any length; a log line may not, so it is cut. */
export function loggedId(id: string): string {
  return id.slice(0, 100);
}

/** JSON lines for machines, readable lines for a person at a terminal. */
export function createLog(options: LogOptions = {}): Logger {
  const paths = secretFields.flatMap((field) => [field, `*.${field}`, `*.*.${field}`]);
  const settings = {
    level: options.level ?? 'info',
    redact: { paths, censor: '[redacted]' },
    base: null,
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: safeError },
  };
  const { destination } = options;
  const isPretty = options.pretty ?? (destination === undefined && process.stdout.isTTY);
  if (!isPretty) return destination ? pino(settings, destination) : pino(settings);
  // The library is loaded only if a person watches a terminal. A service never needs it.
  const pretty = createRequire(import.meta.url)('pino-pretty') as typeof Pretty.default;
  // The library always prints a field named `err` over many lines, so it is renamed.
  const log = ({ err, ...fields }: Record<string, unknown>) =>
    err === undefined ? fields : { ...fields, error: safeError(err) };
  return pino(
    { ...settings, formatters: { ...settings.formatters, log } },
    pretty({
      colorize: destination === undefined,
      translateTime: 'SYS:HH:MM:ss',
      ignore: 'pid,hostname',
      // Each event is one line, including errors and stacks. Otherwise the lines of two calls could not be told apart.
      singleLine: true,
      errorLikeObjectKeys: ['err'],
      ...(destination === undefined ? {} : { destination: into(destination) }),
    }),
  );
}

/** A library may put a URL or a body into fields of its errors, so only the fields named here are written. */
function safeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: scrub(String(error)) };
  return {
    type: error.name,
    message: scrub(error.message),
    ...('code' in error ? { code: error.code } : {}),
    stack: scrub(error.stack ?? ''),
  };
}

/** A stream for the library, which writes to streams only. */
function into(destination: DestinationStream): Writable {
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      destination.write(chunk.toString());
      done();
    },
  });
}

/** Removes tokens from URLs, and long runs of digits (phone and card numbers) from a text, for a log line. */
export function scrub(text: string): string {
  return text
    .replace(/([?&](?:token|key|secret|signature)=)[^&\s"']+/gi, '$1[redacted]')
    .replace(/(\/\/)[^/\s:@]+:[^/\s@]+@/g, '$1[redacted]@')
    .replace(/\bwhsec_[A-Za-z0-9+/=]+/g, '[redacted]')
    .replace(/\+?\d[\d\s().-]{7,}\d/g, '[number]');
}
