import { Option, type Command } from 'commander';
import { readFile } from 'node:fs/promises';
import { carrierNames, carrierNamed, carriers, type CarrierName } from '../carriers/all.ts';
import { reasonOf, TrunklineError } from '../lib/errors.ts';
import { idsOf, readFixtureLines, type RecordedFrame } from '../player/fixture.ts';
import { replay } from '../player/replay.ts';
import { targetBridge } from './running-process.ts';
import { printLine } from './terminal.ts';

type ReplayCommandOptions = {
  carrier?: CarrierName;
  to?: string;
  url?: string;
  speed: string;
  keepIds?: true;
  publicUrl?: string;
};

/** `trunkline replay`: sends a recorded conversation again. */
export function registerReplay(program: Command): void {
  program
    .command('replay <fixture>')
    .description('send a recorded conversation to a bridge, at its own pace')
    .addOption(
      new Option('--carrier <name>', 'whose conversation it is, when it does not show').choices([
        ...carrierNames,
      ]),
    )
    .option('--to <ws url>', 'the bridge')
    .option('--url <http url>', 'operator API of the bridge, for the token')
    .option('--speed <times>', 'faster than recorded', '1')
    .option('--keep-ids', 'under the recorded ids instead of as a new call')
    .option(
      '--public-url <url>',
      'the address that signatures are made for; by default TRUNKLINE_PUBLIC_URL, for the process of these settings',
    )
    .action(send);
}

async function send(file: string, options: ReplayCommandOptions): Promise<void> {
  const speed = Number(options.speed);
  if (!(speed > 0)) throw new TrunklineError('BAD_INPUT', '--speed: give a number above 0');
  const { api, config, publicUrl } = targetBridge(options);
  const frames = await framesOf(file);
  const players = Object.values(carriers).map(({ player }) => player);
  const name = options.carrier ?? idsOf(frames, players)?.carrier ?? '';
  const carrier = carrierNamed(name);
  const result = await replay({
    to: options.to ?? api.url,
    frames,
    speed,
    players,
    ...(carrier === undefined
      ? {}
      : { carrier: name, secrets: carrier.playerSecrets(config.carriers) }),
    api,
    ...(options.keepIds ? { keepIds: true } : {}),
    publicUrl,
  });
  printLine(
    `${name} call ${result.callId}: ${result.sent} frames sent, ${result.answers.length} answers, closed ${result.closed}`,
  );
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
