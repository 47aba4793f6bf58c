import { hostileAudio } from './hostile/audio-files.ts';
import { ffmpegMissing } from '../support/media/media-files.ts';

/** HOSTILE_COUNT files and addresses that nobody honest would send: each ends in a named error, beside honest jobs. */
if (ffmpegMissing) throw new Error(ffmpegMissing);
const maxMovedBytes = 64 * 1024 * 1024;
const outcome = await hostileAudio(Number(process.env['HOSTILE_COUNT'] ?? 500));
for (const line of outcome.wrong) console.log(line);
const { tried, ends, honest, longest, movedBytes, wrong } = outcome;
console.log(
  `${tried} hostile files and addresses: ${JSON.stringify(ends)}; the longest took ${longest.seconds.toFixed(1)} s (${longest.name}); ` +
    `${honest} honest jobs beside them done; memory of the main process moved by ${(movedBytes / 1_048_576).toFixed(1)} MiB; wrong ${wrong.length}`,
);
process.exitCode = wrong.length > 0 || movedBytes > maxMovedBytes ? 1 : 0;
