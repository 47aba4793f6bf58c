/**
 * Live sessions under faults: each seed is one session whose wire is cut between and inside frames,
 * frozen, muted, doubled and slowed. Held against a calm run: the words of the result, the words said to
 * the client, the bytes of the file, the client's own count. `node test/trials/live.ts [seeds] [first]`.
 */
import { runFaults, type FaultOutcome } from '../support/faults/live-faults.ts';
import { fixtureRecogniser, startTestService } from '../support/speech/speech-service.ts';

export async function run(): Promise<string[]> {
  const seeds = Number(process.argv[2] ?? 500);
  const first = Number(process.argv[3] ?? 1);
  await using recogniser = await fixtureRecogniser();
  await using service = await startTestService({ recogniser });
  const outcomes: FaultOutcome[] = [];
  let next = first;
  const lane = async (): Promise<void> => {
    for (let seed = next++; seed < first + seeds; seed = next++) {
      const outcome = await runFaults(service, seed).catch((error: unknown): FaultOutcome => ({
        seed,
        faults: [],
        reconnects: 0,
        bytes: 0,
        wrong: [String(error)],
      }));
      outcomes.push(outcome);
      if (outcome.wrong.length > 0)
        console.log(`seed ${seed} (${outcome.faults.join(' ')}): ${outcome.wrong.join('; ')}`);
    }
  };
  await Promise.all([lane(), lane(), lane(), lane()]);
  const sum = (of: (outcome: FaultOutcome) => number): number =>
    outcomes.reduce((total, outcome) => total + of(outcome), 0);
  const failed = outcomes.filter((outcome) => outcome.wrong.length > 0);
  if (failed.length > 0) process.exitCode = 1;
  return [
    `${outcomes.length} seeds, ${sum((outcome) => outcome.faults.length)} faults, ${sum((outcome) => outcome.reconnects)} reconnects`,
    `${sum((outcome) => outcome.bytes)} bytes sent, conserved in ${outcomes.length - failed.length} of ${outcomes.length} sessions`,
    `words equal the calm run in ${outcomes.length - failed.length} of ${outcomes.length} sessions`,
  ];
}

if (process.argv[1] === import.meta.filename) {
  for (const line of await run()) console.log(line);
}
