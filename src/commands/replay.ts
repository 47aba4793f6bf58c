import { Option, type Command } from 'commander';
import { readFile } from 'node:fs/promises';
import { reasonOf, TrunklineError } from '../lib/errors.ts';
import { playedCarriers, type PlayedCarrier } from '../player/dialogue.ts';
import { idsOf, readFixtureLines, type RecordedFrame } from '../player/fixture.ts';
import { replay } from '../player/replay.ts';
import { secretsOf, targetBridge } from './running-process.ts';

type ReplayCommandOptions = {
  carrier?: PlayedCarrier;
  to?: string;
  url?: string;
  speed: string;
  keepIds?: true;
  publicUrl?: string;
};

/** `trunkline replay`: a recorded conversation, sent again. */
export function registerReplay(program: Command): void {
  program
    .command('replay <fixture>')
    .description('send a recorded conversation to a bridge, at its own pace')
    .addOption(
      new Option('--carrier <name>', 'whose conversation it is, when it does not show').choices([
        ...playedCarriers,
      ]),
    )
    .option('--to <ws url>', 'the bridge')
    .option('--url <http url>', 'operator API of the bridge, for the token')
    .option('--speed <times>', 'faster than recorded', '1')
    .option('--keep-ids', 'under the recorded ids instead of as a new call')
    .option(
      '--public-url <url>',
      'the address that signatures are made for, when it is not that of --to',
    )
    .action(send);
}

async function send(file: string, options: ReplayCommandOptions): Promise<void> {
  const speed = Number(options.speed);
  if (!(speed > 0)) throw new TrunklineError('BAD_INPUT', '--speed: give a number above 0');
  const { api, config } = targetBridge(options);
  const frames = await framesOf(file);
  const carrier = options.carrier ?? idsOf(frames)?.carrier;
  const secrets = carrier === undefined ? {} : onlyOf(carrier, secretsOf(config, carrier));
  const result = await replay({
    to: options.to ?? api.url,
    frames,
    speed,
    secrets,
    ...(carrier === undefined ? {} : { carrier }),
    api,
    ...(options.keepIds ? { keepIds: true } : {}),
    ...(options.publicUrl === undefined ? {} : { publicUrl: options.publicUrl }),
  });
  console.log(
    `${carrier ?? ''} call ${result.callId}: ${result.sent} frames sent, ${result.answers.length} answers, closed ${result.closed}`,
  );
}

/** The secrets of other carriers say nothing about this one. */
function onlyOf(
  carrier: PlayedCarrier,
  all: ReturnType<typeof secretsOf>,
): ReturnType<typeof secretsOf> {
  switch (carrier) {
    case 'twilio':
      return { twilioAuthToken: all.twilioAuthToken };
    case 'plivo':
      return { plivoAuthToken: all.plivoAuthToken };
    case 'audiohook':
      return {
        audiohookApiKey: all.audiohookApiKey,
        audiohookClientSecret: all.audiohookClientSecret,
      };
    case 'asterisk':
      return { username: all.username, password: all.password };
    case 'telnyx':
    case 'signalwire':
      return { bearer: all.bearer };
  }
}

async function framesOf(file: string): Promise<RecordedFrame[]> {
  let content: string;
  try {
    content = await readFile(file, 'utf8');
  } catch (cause) {
    throw new TrunklineError('BAD_INPUT', `${file} cannot be read: ${reasonOf(cause)}`, { cause });
  }
  return readFixtureLines(content);
}
