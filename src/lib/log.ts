import { createRequire } from 'node:module';
import { Writable } from 'node:stream';
import { pino, type DestinationStream, type Logger } from 'pino';
import type * as Pretty from 'pino-pretty';

export type { Logger } from 'pino';

/**
 * Fields whose values are never written. The rule is that no line of code logs secrets, numbers or words of people;
 * this list is the second defence, for the line that forgets the rule. It looks three levels deep.
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

/** An id that somebody else chose is as long as he likes; a line of the log is not. */
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
  // The library is loaded only where a person watches a terminal: a service never needs it.
  const pretty = createRequire(import.meta.url)('pino-pretty') as typeof Pretty.default;
  // The library prints what is named `err` over many lines, whatever it is told.
  const log = ({ err, ...fields }: Record<string, unknown>) =>
    err === undefined ? fields : { ...fields, error: safeError(err) };
  return pino(
    { ...settings, formatters: { ...settings.formatters, log } },
    pretty({
      colorize: destination === undefined,
      translateTime: 'SYS:HH:MM:ss',
      ignore: 'pid,hostname',
      // One event is one line, its errors and their stacks too: otherwise the lines of two calls cannot be told apart.
      singleLine: true,
      errorLikeObjectKeys: ['err'],
      ...(destination === undefined ? {} : { destination: into(destination) }),
    }),
  );
}

/** A library may put a URL or a body into fields of its errors: only the fields named here are written. */
function safeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: scrub(String(error)) };
  return {
    type: error.name,
    message: scrub(error.message),
    ...('code' in error ? { code: error.code } : {}),
    stack: scrub(error.stack ?? ''),
  };
}

/** The library writes to streams. */
function into(destination: DestinationStream): Writable {
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      destination.write(chunk.toString());
      done();
    },
  });
}

/** Takes tokens out of URLs, and long runs of digits (numbers of phones and cards) out of a text for a log line. */
export function scrub(text: string): string {
  return text
    .replace(/([?&](?:token|key|secret|signature)=)[^&\s"']+/gi, '$1[redacted]')
    .replace(/(\/\/)[^/\s:@]+:[^/\s@]+@/g, '$1[redacted]@')
    .replace(/\bwhsec_[A-Za-z0-9+/=]+/g, '[redacted]')
    .replace(/\+?\d[\d\s().-]{7,}\d/g, '[number]');
}
