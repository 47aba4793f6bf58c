import { spawnSync } from 'node:child_process';

/** The fields of `npm audit --json` that are used: a report, or the reason why there is none. */
type Answer = {
  vulnerabilities?: Record<string, { severity: string; via: unknown[] }>;
  message?: string;
  error?: { summary?: string; detail?: string };
};

export type Verdict =
  | { is: 'clean' }
  | { is: 'found'; lines: string[] }
  /** Unknown: the registry was not reached, or it does not answer this request. */
  | { is: 'unasked'; reason: string };

/** The request itself leaves out packages for development and tests. Low and moderate findings stop no release. */
const stopping = ['high', 'critical'];

export function verdictOf(output: string): Verdict {
  let answer: Answer;
  try {
    answer = JSON.parse(output) as Answer;
  } catch {
    return { is: 'unasked', reason: `npm audit answered: ${output.trim().slice(0, 200)}` };
  }
  if (answer.vulnerabilities === undefined) {
    const reason = answer.message ?? answer.error?.summary ?? answer.error?.detail;
    return { is: 'unasked', reason: reason || 'npm audit gave no report' };
  }
  const lines = Object.entries(answer.vulnerabilities)
    .filter(([, { severity }]) => stopping.includes(severity))
    .map(([name, { severity, via }]) => `${name}: ${severity}${titlesOf(via)}`);
  return lines.length > 0 ? { is: 'found', lines } : { is: 'clean' };
}

function titlesOf(via: readonly unknown[]): string {
  const titles = via.flatMap((one) =>
    typeof one === 'object' && one !== null && 'title' in one ? [String(one.title)] : [],
  );
  return titles.length > 0 ? ` (${titles.join('; ')})` : '';
}

if (import.meta.main) {
  const { stdout, error } = spawnSync('npm', ['audit', '--omit=dev', '--json'], {
    encoding: 'utf8',
    timeout: 60_000,
  });
  const verdict = verdictOf(error ? error.message : stdout);
  switch (verdict.is) {
    case 'clean':
      console.log('The registry knows no high or critical advisory on a package of the program.');
      break;
    case 'unasked':
      console.log(`THE PACKAGES WERE NOT AUDITED: ${verdict.reason}`);
      break;
    case 'found':
      for (const line of verdict.lines) console.error(line);
      process.exitCode = 1;
  }
}
