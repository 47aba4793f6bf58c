import { InvalidArgumentError, Option, type Command } from 'commander';
import type { Config } from '../config.ts';
import {
  playedCarriers,
  type Encoding,
  type PlayedCarrier,
  type PlayerSecrets,
} from '../player/dialogue.ts';
import type { Faults } from '../player/faults.ts';

export type CallOptions = {
  carrier: PlayedCarrier;
  to?: string;
  url?: string;
  speed: number;
  calls: number;
  drop?: number;
  reorder?: number | true;
  cut?: number;
  reopen?: number;
  stop: boolean;
  wrongCodec?: true;
  seed: number;
  encoding?: Encoding;
  rate?: number;
  from?: string;
  number?: string;
  outbound?: true;
  param: Record<string, string>;
  dtmf: { digit: string; atMs: number }[];
  json?: true;
  publicUrl?: string;
  watch: boolean;
};

export function addCallOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--carrier <name>', 'whose protocol to speak')
        .choices([...playedCarriers])
        .default('twilio'),
    )
    .option('--to <ws url>', 'the bridge; with a path of its own for a bridge that is not ours')
    .option('--url <http url>', 'operator API of the bridge, for the token and the transcript')
    .option('--speed <times>', 'faster than real time', positive, 1)
    .option('--calls <count>', 'so many calls at once', count, 1)
    .option('--drop <share>', 'share of media frames that never arrive, 2% or 0.02', share)
    .option('--reorder [share]', 'share of media frames that change places, 5% if not said', share)
    .option('--cut <time>', 'break the socket without a close, after 5s or 1500ms', duration)
    .option('--reopen <time>', 'after the cut a new stream of the same call goes on', duration)
    .option('--no-stop', 'hang up without a stop message')
    .option('--wrong-codec', 'send A-law where mu-law is declared, or the reverse')
    .option('--seed <number>', 'the same faults in the same places', count, 1)
    .addOption(
      new Option('--encoding <name>', 'what the stream carries').choices(['mulaw', 'alaw', 'slin']),
    )
    .option('--rate <hz>', 'sample rate of the stream', count)
    .option('--from <number>', 'the number of the customer')
    .option('--number <number>', 'the number called')
    .option('--outbound', 'the agent called the customer')
    .option('--param <name=value>', 'a custom parameter of the call, as often as needed', pair, {})
    .option('--dtmf <digit@time>', 'a key press, as often as needed: 5@3s', keyPress, [])
    .option('--json', 'Asterisk: control messages as JSON')
    .option(
      '--public-url <url>',
      'the address that signatures are made for, when it is not that of --to',
    )
    .option('--no-watch', 'do not show the transcript and the ledger');
}

export function faultsOf(options: CallOptions): Faults {
  return {
    seed: options.seed,
    ...(options.drop === undefined ? {} : { drop: options.drop }),
    ...(options.reorder === undefined
      ? {}
      : { reorder: options.reorder === true ? 0.05 : options.reorder }),
    ...(options.cut === undefined ? {} : { cutAtMs: options.cut }),
    ...(options.reopen === undefined ? {} : { reopenAfterMs: options.reopen }),
    ...(options.stop ? {} : { noStop: true }),
    ...(options.wrongCodec ? { wrongCodec: true } : {}),
  };
}

/** The carrier's side of the secrets that the bridge is configured with: from the environment or its file. */
export function secretsOf({ carriers }: Config, carrier: PlayedCarrier): PlayerSecrets {
  return {
    twilioAuthToken: carriers.twilioAuthToken[0],
    plivoAuthToken: carriers.plivoAuthToken[0],
    audiohookApiKey: carriers.audiohookApiKey,
    audiohookClientSecret: carriers.audiohookClientSecret,
    bearer: carrier === 'telnyx' ? carriers.telnyxToken[0] : carriers.signalwireToken[0],
    username: carriers.asteriskUsername,
    password: carriers.asteriskPassword,
  };
}

function positive(text: string): number {
  const value = Number(text);
  if (!(value > 0) || value > 1000)
    throw new InvalidArgumentError('give a number above 0, 1000 at most');
  return value;
}

function count(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > 1_000_000)
    throw new InvalidArgumentError('give a whole number above 0');
  return value;
}

function share(text: string): number {
  const value = text.endsWith('%') ? Number(text.slice(0, -1)) / 100 : Number(text);
  if (!(value >= 0 && value <= 1))
    throw new InvalidArgumentError('give a share such as 2% or 0.02');
  return value;
}

function duration(text: string): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m)?$/.exec(text);
  if (!match) throw new InvalidArgumentError('give a time such as 5s, 1500ms or 1m');
  return Number(match[1]) * { ms: 1, s: 1000, m: 60_000 }[(match[2] ?? 's') as 'ms' | 's' | 'm'];
}

function pair(text: string, before: Record<string, string>): Record<string, string> {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('give name=value');
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}

function keyPress(
  text: string,
  before: { digit: string; atMs: number }[],
): { digit: string; atMs: number }[] {
  const match = /^([0-9*#A-D])@(.+)$/.exec(text);
  if (!match) throw new InvalidArgumentError('give a key and a time, such as 5@3s');
  return [...before, { digit: match[1] ?? '', atMs: duration(match[2] ?? '') }];
}
