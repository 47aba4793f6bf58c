import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { openMedia } from '../../../src/hearing/media/media.ts';

/*
 * Plays the first process of a container. It repeatedly aborts the reading of a file, and prints how many ended
 * processes nobody has reaped. `first-process-child.ts <file> <folder> <times>`
 */
const [file = '', folder = '', times = '1'] = process.argv.slice(2);
const media = openMedia({ maxSeconds: 10_000 });

function others(): { pid: string; state: string; command: string }[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && name !== String(process.pid))
    .flatMap((pid) => {
      try {
        const [, fields = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
        const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
        return [{ pid, state: fields[0] ?? '', command }];
      } catch {
        return []; // the process ended between the two reads
      }
    });
}

async function until(look: () => boolean): Promise<void> {
  while (!look()) await setTimeout(20);
}

for (let time = 0; time < Number(times); time++) {
  const stop = new AbortController();
  const decoding = media.decode(file, folder, stop.signal).catch(() => undefined);
  await until(() => others().some(({ command }) => command.startsWith('ffmpeg\0')));
  stop.abort(new Error('nobody wants it'));
  await decoding;
}
await until(() => others().every(({ state }) => state === 'Z'));
console.log(JSON.stringify({ pid: process.pid, left: others().length }));
