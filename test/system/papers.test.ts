import { describe, expect, test, vi } from 'vitest';
import { allPapers, fencesOf, type Fence, type Paper } from '../support/papers/papers.ts';
import { openTerminal } from '../support/papers/terminal.ts';
import { programOnPath } from '../support/process/programs.ts';

// Several whole processes start side by side: on a busy machine that takes a while.
vi.setConfig({ testTimeout: 240_000 });

/** Why a block is marked `sh not-run`: its page and its first line. What is not named here is run. */
const notRun: Record<string, string> = {
  'config/docs/better-results.md: export TRUNKLINE_LLM_URL=http://127.0.0.1:11434/v1    # the base address, up to and with /v1':
    'needs a language model; test/system/language/language-model.test.ts has one',
  'config/docs/better-results.md: npx trunkline models pull whisper-tiny-en     # MIT; 70 MB are fetched and become 42 MB within seconds':
    'fetches from the network; test/system/hearing/second-reader.test.ts reads with it',
  'config/docs/better-results.md: npx trunkline models pull whisper-base        # MIT; 145 MB are fetched and become 80 MB within half a minute':
    'fetches from the network; test/system/hearing/languages.test.ts reads with it',
  'config/docs/better-results.md: npx trunkline models pull voice-encoder       # Apache-2.0; 28 MB':
    'fetches from the network; .ci/run does it',
  '.github/CONTRIBUTING.md: npm ci            # any Node from 20 on; brings Node 24, on which every npm script runs':
    'the checks and the tests themselves',
  '.github/CONTRIBUTING.md: npm test -- test/unit/bridge/records/ledger.test.ts': 'tests',
  '.github/CONTRIBUTING.md: sudo apt-get install postgresql pgbouncer strace ffmpeg sox chromium iproute2 flite festival festvox-us-slt-hts \\':
    'needs root and a network; .ci/run installs the same',
  '.github/CONTRIBUTING.md: PORT=0 TRUNKLINE_DATA=/tmp/try npm start                     # note the address':
    'its second line wants the address that the first prints',
  'config/docs/operating.md: # EKS with Pod Identity: a role for the pod, and no key anywhere':
    'needs a cluster of that cloud',
  'config/docs/operating.md: docker build -t trunkline .': 'needs a Docker daemon and a network',
  'config/docs/operating.md: cd config/deploy': 'needs a Docker daemon and a network',
  'config/deploy/README.md: cd config/deploy': 'needs a Docker daemon and a network',
  'config/deploy/README.md: kubectl apply -f config/deploy/kubernetes/namespace.yaml':
    'needs a cluster; test/system/deploy.test.ts reads the manifests with the schemas',
  'config/docs/operating.md: sudo useradd --system --home-dir /var/lib/trunkline trunkline':
    'needs root and systemd; test/unit/deploy.test.ts compares the unit with npm start',
  'config/docs/people.md: export TRUNKLINE_PUBLIC_URL=https://calls.example.com':
    'needs a provider that signs people in; people/provider.test.ts runs one',
  'config/docs/postgres.md: npx trunkline migrate --check      # what is missing; ends with 1 where something is':
    'needs a Postgres database; the tests of the store have one',
  'config/docs/operating.md: export TRUNKLINE_OBJECTS=s3://calls/trunkline                      # bucket, and the folder in it':
    'needs a bucket; test/system/objects has one',
  'config/docs/operating.md: mc alias set local http://minio.internal:9000 root "$MINIO_ROOT_PASSWORD"':
    'needs a MinIO server',
  'config/docs/operating.md: export TRUNKLINE_NODE_URL=http://10.0.0.11:9090                    # where the others reach this one; it listens there':
    'needs several machines; test/system/bridge/any-door.test.ts has several nodes',
  'config/docs/connect.md: cloudflared tunnel --url http://127.0.0.1:8080    # prints the public address':
    'the services of other firms',
  "config/docs/search.md: npx trunkline export --search 'the parcel arrived too late' --by-meaning --calls 50":
    'needs a model',
  'config/docs/search.md: npx trunkline export call_01KAR9W3Q0M4Z7C2T5B8N1D6EX --format vtt':
    'wants a call of that id; test/system/bridge/search.test.ts asks the API for one',
  'config/docs/languages.md: npx trunkline models pull whisper-base                     # hears 99 languages, 145 MB':
    'fetches from the network; test/system/hearing/languages.test.ts and test/system/meaning/feelings.test.ts use both',
  'config/docs/search.md: npx trunkline models pull sentence-encoder-en':
    'fetches from the network; test/system/bridge/search-by-meaning.test.ts searches',
  'config/docs/recordings.md: npx trunkline transcribe call.wav                                      # call.txt beside it':
    'run by test/system/commands/transcribe.test.ts, with files to transcribe',
};

const papers = allPapers().map((paper) => ({ paper, fences: fencesOf(paper) }));
const isShell = ({ kind }: Fence): boolean => /^(?:sh|bash|shell|console)\b/.test(kind);
const nameOf = (paper: Paper, fence: Fence): string =>
  `${paper.name}: ${fence.text.split('\n')[0] ?? ''}`;

/** The block that a `text` block stands behind says what should be seen of it. */
function expectationsOf(fences: readonly Fence[]): Map<Fence, string[]> {
  const expectations = new Map<Fence, string[]>();
  for (const [index, fence] of fences.entries()) {
    const before = fences[index - 1];
    if (fence.kind === 'text' && before?.kind === 'sh')
      expectations.set(
        before,
        fence.text.split('\n').filter((line) => line.trim() !== ''),
      );
  }
  return expectations;
}

/** A line as it stands; in it, `...` stands for anything. */
function shows(output: string, expected: string): boolean {
  return output.split('\n').some((line) => {
    if (!expected.includes('...')) return line.trim() === expected.trim();
    let at = 0;
    return expected
      .trim()
      .split('...')
      .every((part) => {
        const found = line.indexOf(part.trim(), at);
        at = found + part.trim().length;
        return found >= 0;
      });
  });
}

test('every command of the papers is run, or is named here with the reason why not', () => {
  const marked = papers.flatMap(({ paper, fences }) =>
    fences
      .filter((fence) => isShell(fence) && fence.kind !== 'sh')
      .map((fence) => nameOf(paper, fence)),
  );
  expect(marked.toSorted()).toEqual(Object.keys(notRun).toSorted());
});

describe.concurrent('the commands of a page do what it says', () => {
  for (const { paper, fences } of papers) {
    const blocks = fences.filter(({ kind }) => kind === 'sh');
    if (blocks.length === 0) continue;
    const texts = blocks.map(({ text }) => text);
    // A page that starts nothing speaks of a service that runs.
    const first = texts.some((text) => text.includes('npm start')) ? 'true' : 'npm start';
    const asksBy = texts.some((text) => /\bcurl\b/.test(text)) ? 'curl' : undefined;
    const isMissing = asksBy !== undefined && programOnPath(asksBy) === undefined;
    const name = `${paper.name}${isMissing ? ` (${asksBy} is not installed)` : ''}`;
    test.skipIf(isMissing)(name, async () => {
      await using terminal = await openTerminal();
      const { code, outputs, errors } = await terminal.play([first, ...texts]);
      const at = blocks[Math.max(0, outputs.length - 2)];
      expect(code, `line ${at?.line}: ${at?.text}\n${outputs.at(-1)}\n${errors}`).toBe(0);
      for (const [fence, lines] of expectationsOf(fences)) {
        const output = outputs[blocks.indexOf(fence) + 1] ?? '';
        expect(
          lines.filter((line) => !shows(output, line)),
          output,
        ).toEqual([]);
      }
    });
  }
});
